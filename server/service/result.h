/* result.h - from items that have ended to the message that tells of them.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_SERVICE_RESULT_H
#define WD_SERVER_SERVICE_RESULT_H

#include "server/service/item.h"

/* Fill a reply's results, in the items' order, and the pairs of the record. Outputs share
 * what the reply may hold: the longest are cut further, and say so. All is in `budget`.
 * Errors: RESOURCE_EXHAUSTED CAPACITY: the budget is spent */
WD_MUST_USE wd_status wd_results_make(const wd_call *call, const wd_items *items,
                                      wd_budget *budget,
                                      Warded__V1__GetObservationReply *reply,
                                      wd_error *err);

/* A budget that is enough for them; NULL: no memory. */
wd_budget *wd_results_budget(const wd_items *items);

#endif
