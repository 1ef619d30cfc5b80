/* failure.h - how everything inside libwarded reports failure: a status and a phase.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_CLIENT_FAILURE_H
#define WD_CLIENT_FAILURE_H

#include "proto/c/status.h"
#include "warded/warded.h"

/* Fill *why and return its status; never WD_OK. What may have run follows from phase and
 * reason. */
wd_status wd_failure_make(wd_failure *why, wd_phase phase, wd_reason reason,
                          const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The same for a failure that has no reason of the wire, such as a file's. */
wd_status wd_failure_plain(wd_failure *why, wd_phase phase, wd_status status,
                           const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* From an error of the shared code; `prefix` (a path, a method) comes before its text. */
wd_status wd_failure_from(wd_failure *why, wd_phase phase, const char *prefix,
                          const wd_error *err);

/* Whether the gate may have begun the call, by what *why says already. */
bool wd_failure_may_have_run(const wd_failure *why);

/* UNREACHABLE: nothing was sent. `text` is the whole cause. */
wd_status wd_failure_unreachable(wd_failure *why, wd_phase phase, const char *text);

#endif
