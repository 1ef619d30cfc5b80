/* dedupe.h - a call id is used once: the stage is in stages.h, this is what surrounds it.
 *
 * Threads: the call's owner.  Source: docs/protocol.md, section 4. */
#ifndef WD_SERVER_DEDUPE_H
#define WD_SERVER_DEDUPE_H

#include "server/call.h"
#include "store/reader.h"

/* The call is over, and call->error and call->payload (*taken*) say how: who waits for
 * the same id is answered. The id has been used if the intent was recorded, and its
 * answer is kept; it is free again if it was not. Does nothing when the call holds no id. */
void wd_dedupe_release(wd_call *call);

/* At start: fill the tables from the trail.
 * Errors: those of wd_audit_recent_calls */
WD_MUST_USE wd_status wd_dedupe_restore(struct wd_gate *gate, wd_reader *reader,
                                        wd_error *err);

#endif
