/* item.h - one item of a GetObservation: what was asked, what was decided, what came.
 *
 * Threads: the call's owner; the link's thread while its actions run.
 * Owns:    done_message of its job, freed by wd_items_done(). All else lives in the
 *          call's budget. */
#ifndef WD_SERVER_SERVICE_ITEM_H
#define WD_SERVER_SERVICE_ITEM_H

#include "server/call.h"
#include "server/config.h"
#include "server/executor_link.h"
#include "server/service/verdict.h"

#include "warded/v1/observation.pb-c.h"

struct wd_batch; /* batch.h */

typedef struct wd_item {
    const Warded__V1__Item *asked;
    const wd_tool_config *tool; /* NULL: none was found, or none is needed */
    bool runs;                  /* it goes to the executor */
    bool valid;                 /* an action was parsed and a tool found */
    wd_verdict verdict;         /* of what does not run; later of all */
    const char *message;        /* "" or why; in the budget, or static */
    const char *wrong; /* the field that it was refused for; NULL: none; static */

    /* While it runs. */
    struct wd_batch *batch;
    struct wd_item *next; /* of the same trajectory, to run after this one */
    bool follows;         /* another one of its trajectory comes first */
    int64_t sent_ns;      /* monotonic */
    wd_exec_job job;
} wd_item;

typedef struct wd_items {
    size_t n_items;
    wd_item *items;
} wd_items;

/* The planner of GetObservation: check and route each item, one pair for each. An item
 * that is wrong is refused alone. Fails for the request as a whole only when the number of
 * items is out of bounds, or memory is. */
wd_step wd_items_plan(wd_call *call, wd_error *err);

/* Free what the executor's answers hold. */
void wd_items_done(wd_items *items);

#endif
