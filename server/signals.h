/* signals.h - what a supervisor takes before it starts: the lock of its place, signals.
 *
 * Threads: one.  Owns: nothing; the descriptors are the caller's. */
#ifndef WD_SERVER_SIGNALS_H
#define WD_SERVER_SIGNALS_H

#include "proto/c/status.h"

#include <sys/types.h>

/* Hold RUN_DIR/lock, with our process id in it, for as long as the descriptor is open.
 * Errors: CONFLICT            another supervisor holds it; says which process
 *         FAILED_PRECONDITION it can't be made */
WD_MUST_USE wd_status wd_run_lock(const char *run_dir, int *ret_fd, wd_error *err);

/* The process that holds RUN_DIR/lock; 0: none, or it is not ours to see. */
pid_t wd_run_holder(const char *run_dir);

/* Block TERM, INT, HUP and CHLD and read them from a non-blocking signalfd instead;
 * ignore PIPE. */
WD_MUST_USE wd_status wd_signals_open(int *ret_fd, wd_error *err);

#endif
