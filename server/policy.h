/* policy.h - what a planner uses; the stage itself is in stages.h.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_POLICY_H
#define WD_SERVER_POLICY_H

#include "server/call.h"

/* For a planner: what goes on record, and what the handler will want. All in the call's
 * budget. */
void wd_call_plan(wd_call *call, void *plan, wd_pair *pairs, size_t n_pairs);

#endif
