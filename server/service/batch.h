/* batch.h - the running actions of one GetObservation, and of all of them.
 *
 * A batch lives on the link's thread from start until its last action is dead; then its
 * call goes back to the service threads. No thread waits for it.
 *
 * Threads: new, start, check: any. What they post runs on the link's thread.
 * Owns:    nothing but the list; a batch lives in its call's budget. */
#ifndef WD_SERVER_SERVICE_BATCH_H
#define WD_SERVER_SERVICE_BATCH_H

#include "proto/c/cleanup.h"
#include "server/service/item.h"

struct wd_gate; /* server/parts.h */

typedef struct wd_batches wd_batches;

typedef struct wd_batch {
    wd_call *call;
    wd_items *items;
    void (*ended)(
        struct wd_batch *batch); /* on a service thread; the call is its own */

    /* The link's thread's. */
    struct wd_batch *next, *prev;
    size_t left;         /* items that have not ended */
    wd_signal signalled; /* the call was ended from outside */
    bool cut;            /* and an item with it */
    wd_task task;
} wd_batch;

wd_batches *wd_batches_new(struct wd_gate *gate); /* NULL: no memory */
void wd_batches_free(wd_batches *batches);
WD_DEFINE_AUTO(wd_batches, wd_batches_free)

/* Run the items that run; at least one must. `ended` comes once. */
void wd_batch_start(wd_batches *batches, wd_batch *batch);

/* Some call was signalled: look which, and have its actions killed. */
void wd_batches_check(wd_batches *batches);

#endif
