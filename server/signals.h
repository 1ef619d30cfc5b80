/* signals.h - the signals that a supervisor lives by, and those that a command puts off.
 *
 * Threads: one.  Owns: nothing; the descriptors are the caller's. */
#ifndef WD_SERVER_SIGNALS_H
#define WD_SERVER_SIGNALS_H

#include <signal.h>

#include "proto/c/status.h"

/* Block TERM, INT, HUP and CHLD and read them from a non-blocking signalfd instead;
 * ignore PIPE. */
WD_MUST_USE wd_status wd_signals_open(int *ret_fd, wd_error *err);

/* Put INT, TERM, HUP and QUIT off, for threads started from here on too, until
 * wd_signals_release: then one that has come acts. For a command that leaves all or nothing
 * behind and is done in a moment. */
void wd_signals_hold(sigset_t *ret_before);
void wd_signals_release(const sigset_t *before);

#endif
