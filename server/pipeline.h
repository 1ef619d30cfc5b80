/* pipeline.h - moves a call from stage to stage; the table in pipeline.c is the order.
 *
 * A stage that finds the call's answer (WD_ANSWERED) sends it on to the reply: nothing in
 * between is run. The first failure is kept in call->error; from then on only the stages
 * that always run are run (audit, outcome, reply). A stage that fails without saying why,
 * with a reason that is not of its status, or returns a number that is no wd_step has
 * failed with INTERNAL / BUG.
 *
 * Threads: the call's owner; one at a time. */
#ifndef WD_SERVER_PIPELINE_H
#define WD_SERVER_PIPELINE_H

#include "server/call.h"

/* Run a new call from its first stage until it parks or ends. *Takes* the call. */
void wd_pipeline_start(wd_call *call);

/* Go on after the stage in which the call was parked, which ended as `step` says; *err
 * is read when it is not NEXT. *Takes* the call. */
void wd_pipeline_resume(wd_call *call, wd_step step, const wd_error *err);

#endif
