/* stages.h - the stages of a call, in their order; pipeline.c holds the table.
 *
 * Each stage reads what the earlier ones set in wd_call and sets its own fields, no
 * others. It returns NEXT, FAILED with *err filled, or PARKED when the call has gone to
 * another owner, who will call wd_pipeline_resume().
 *
 * Threads: the call's owner.  Source: docs/architecture.md, "The stages of a call". */
#ifndef WD_SERVER_STAGES_H
#define WD_SERVER_STAGES_H

#include "proto/c/status.h"
#include "server/call.h"

WD_MUST_USE wd_step wd_wire_decode(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_dispatch_find(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_auth_check(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_policy_check(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_dedupe_claim(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_spend_take(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_audit_begin(wd_call *call, wd_error *err); /* always runs */
WD_MUST_USE wd_step wd_service_run(wd_call *call, wd_error *err);
WD_MUST_USE wd_step wd_outcome_write(wd_call *call, wd_error *err); /* always runs */
WD_MUST_USE wd_step wd_reply_send(wd_call *call, wd_error *err);    /* always runs */

/* After the last stage, unless it parked: nothing will be sent for this call. */
void wd_call_abandon(wd_call *call);

#endif
