/* ctl.h - RUN/ctl.sock: how the supervisor tells `warded health` what is up.
 *
 * Connect, read to the end: lines "KEY=VALUE". Mode 0600, the supervisor's own.
 *
 *     supervisor.pid=1  gate.state=ready  gate.pid=2  gate.starts=1  gate.since_ms=...
 *     gate.reason=...   execd.state=...   linked=1
 *
 * Threads: any.  Owns: the socket's file, from wd_ctl_listen until wd_ctl_close. */
#ifndef WD_SERVER_CTL_H
#define WD_SERVER_CTL_H

#include "proto/c/status.h"

#include <stdbool.h>
#include <stddef.h>

#define WD_CTL_TEXT_BYTES 8192

/* Listen at RUN_DIR/ctl.sock; what was there is removed.
 * Errors: FAILED_PRECONDITION the folder is missing or not ours to write */
WD_MUST_USE wd_status wd_ctl_listen(const char *run_dir, int *ret_fd, wd_error *err);
void wd_ctl_close(const char *run_dir, int fd);

/* Answer whoever is waiting, one connection; never waits itself. */
void wd_ctl_answer(int fd, const char *text);

/* Ask: the text, NUL-terminated, into `out` of WD_CTL_TEXT_BYTES.
 * Errors: UNAVAILABLE       nobody serves there: warded does not run
 *         PERMISSION_DENIED the socket is not ours */
WD_MUST_USE wd_status wd_ctl_ask(const char *run_dir, char *out, wd_error *err);

/* The value of `key` in such a text, into `out`; false when it is not there. */
bool wd_ctl_find(const char *text, const char *key, char *out, size_t size);

#endif
