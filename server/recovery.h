/* recovery.h - the first and the last rows of a gate's life.
 *
 * Threads: the gate's main thread, while no writer runs.
 * Source:  docs/security.md, "The record": gate.start, gate.recovered, gate.stop. */
#ifndef WD_SERVER_RECOVERY_H
#define WD_SERVER_RECOVERY_H

#include "server/parts.h"
#include "store/reader.h"

/* Where the last gate did not say that it stops: close what it left open (a call.end with
 * OUTCOME_UNKNOWN for each pair) and say gate.recovered. And say gate.start, all in one
 * commit.
 * Errors: UNAVAILABLE AUDIT_UNWRITABLE; those of wd_audit_open_calls */
WD_MUST_USE wd_status wd_recovery_run(wd_gate *gate, wd_reader *reader, wd_error *err);

/* Say gate.stop. */
WD_MUST_USE wd_status wd_recovery_stop(wd_gate *gate, wd_error *err);

#endif
