/* signals.h - the signals that a supervisor lives by.
 *
 * Threads: one.  Owns: nothing; the descriptors are the caller's. */
#ifndef WD_SERVER_SIGNALS_H
#define WD_SERVER_SIGNALS_H

#include "proto/c/status.h"

/* Block TERM, INT, HUP and CHLD and read them from a non-blocking signalfd instead;
 * ignore PIPE. */
WD_MUST_USE wd_status wd_signals_open(int *ret_fd, wd_error *err);

#endif
