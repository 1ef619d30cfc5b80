/* queue.h - actions that wait for a slot, first in first out.
 *
 * Threads: one: the executor's loop.  Owns: the jobs in it. */
#ifndef WD_EXECUTOR_QUEUE_H
#define WD_EXECUTOR_QUEUE_H

#include "proto/c/alloc.h"
#include "proto/c/cleanup.h"
#include "warded/exec/v1/job.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decoded Run and when it came. */
typedef struct wd_job {
    struct wd_job *next;
    wd_budget *budget;                /* owned: `run` lives in it */
    const Warded__Exec__V1__Run *run; /* in budget */
    int64_t received_ns;              /* CLOCK_MONOTONIC */
    size_t bytes;                     /* what it costs while it waits */
} wd_job;

void wd_job_free(wd_job *job);
WD_DEFINE_AUTO(wd_job, wd_job_free)

typedef struct wd_queue {
    wd_job *first;
    wd_job **end; /* where the next one goes */
    size_t count;
    size_t bytes;
    int64_t wake_ms; /* no start_by in it is earlier; INT64_MAX: none */
} wd_queue;

void wd_queue_init(wd_queue *queue);
void wd_queue_done(wd_queue *queue); /* frees the jobs in it */

/* Takes the job. */
void wd_queue_push(wd_queue *queue, wd_job *job);

/* The oldest job, now the caller's; NULL: empty. */
wd_job *wd_queue_pop(wd_queue *queue);

/* Take out the job with this id (Cancel); NULL: not here. The caller's. */
wd_job *wd_queue_take(wd_queue *queue, uint64_t job_id);

/* Take out one job whose start_by_ms has passed; NULL: none has. Call until NULL; then
 * queue->wake_ms is when to ask again. The caller's. */
wd_job *wd_queue_expire(wd_queue *queue, int64_t now_ms);

#endif
