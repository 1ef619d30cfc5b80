/* signals.h - what a supervisor takes before it starts: the lock of its place, signals.
 *
 * Threads: one.  Owns: nothing; the descriptors are the caller's. */
#ifndef WD_SERVER_SIGNALS_H
#define WD_SERVER_SIGNALS_H

#include "proto/c/status.h"

/* Hold RUN_DIR/lock for as long as the descriptor is open.
 * Errors: FAILED_PRECONDITION another supervisor holds it, or it can't be made */
WD_MUST_USE wd_status wd_run_lock(const char *run_dir, int *ret_fd, wd_error *err);

/* Block TERM, INT, HUP and CHLD and read them from a non-blocking signalfd instead;
 * ignore PIPE. */
WD_MUST_USE wd_status wd_signals_open(int *ret_fd, wd_error *err);

#endif
