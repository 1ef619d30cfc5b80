#include "server/executor/queue.h"

#include <stdlib.h>

void wd_job_free(wd_job *job)
{
    if (job == NULL)
        return;
    wd_budget_free(job->budget);
    free(job);
}

void wd_queue_init(wd_queue *queue)
{
    *queue = (wd_queue){.end = &queue->first, .wake_ms = INT64_MAX};
}

void wd_queue_done(wd_queue *queue)
{
    for (wd_job *job; (job = wd_queue_pop(queue)) != NULL;)
        wd_job_free(job);
}

/* start_by of a job as a deadline; 0 in the message: none. */
static int64_t start_by(const wd_job *job)
{
    uint64_t ms = job->run->start_by_ms;
    return ms == 0 || ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
}

void wd_queue_push(wd_queue *queue, wd_job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
    queue->count++;
    queue->bytes += job->bytes;
    if (start_by(job) < queue->wake_ms)
        queue->wake_ms = start_by(job);
}

/* Takes out what *link points to. */
static wd_job *unlink_job(wd_queue *queue, wd_job **link)
{
    wd_job *job = *link;
    if (job == NULL)
        return NULL;
    *link = job->next;
    if (job->next == NULL)
        queue->end = link;
    job->next = NULL;
    queue->count--;
    queue->bytes -= job->bytes;
    if (queue->count == 0)
        queue->wake_ms = INT64_MAX;
    return job;
}

wd_job *wd_queue_pop(wd_queue *queue)
{
    return unlink_job(queue, &queue->first);
}

wd_job *wd_queue_take(wd_queue *queue, uint64_t job_id)
{
    for (wd_job **link = &queue->first; *link != NULL; link = &(*link)->next)
        if ((*link)->run->job_id == job_id)
            return unlink_job(queue, link);
    return NULL;
}

wd_job *wd_queue_expire(wd_queue *queue, int64_t now_ms)
{
    if (now_ms < queue->wake_ms)
        return NULL;
    int64_t wake_ms = INT64_MAX;
    for (wd_job **link = &queue->first; *link != NULL; link = &(*link)->next) {
        if (start_by(*link) <= now_ms)
            return unlink_job(queue, link); /* wake_ms stays: there may be more */
        if (start_by(*link) < wake_ms)
            wake_ms = start_by(*link);
    }
    queue->wake_ms = wake_ms;
    return NULL;
}
