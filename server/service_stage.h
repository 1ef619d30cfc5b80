/* service_stage.h - what handlers use besides wd_call_set_reply (proto/c/rule.h).
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_SERVICE_STAGE_H
#define WD_SERVER_SERVICE_STAGE_H

#include "server/call.h"

/* Keep `work` with the call; `work_free` frees it with the call. One per call. */
void wd_call_keep(wd_call *call, void *work, void (*work_free)(void *work));

/* A call that was ended from outside, or whose deadline has passed: fills *err with the
 * refusal that this is; WD_NEXT when it may go on. */
wd_step wd_call_check(const wd_call *call, wd_error *err);

#endif
