/* policy.h - what a planner uses; the stage itself is in stages.h.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_POLICY_H
#define WD_SERVER_POLICY_H

#include "server/call.h"

/* For a planner: what goes on record, and what the handler will want. All in the call's
 * budget. */
void wd_call_plan(wd_call *call, void *plan, wd_pair *pairs, size_t n_pairs);

/* For a planner of a method of one record an item: the texts that are none, whose items
 * it must fail alone. What no planner takes fails the call. NULL: there are none. */
WD_MUST_USE const wd_text_fault *wd_call_take_faults(wd_call *call);

/* The usual plan: one pair, of the whole call. */
WD_MUST_USE wd_step wd_call_plan_one(wd_call *call, wd_error *err);

#endif
