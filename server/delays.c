#include "server/delays.h"

#include <pthread.h>
#include <stdlib.h>

struct wd_delays {
    void (*wake)(void *arg);
    void *arg;
    pthread_mutex_t lock;
    wd_task *first; /* the soonest */
};

wd_delays *wd_delays_new(void (*wake)(void *arg), void *arg)
{
    wd_delays *delays = calloc(1, sizeof(*delays));

    if (delays == NULL)
        return NULL;
    delays->wake = wake;
    delays->arg = arg;
    (void)pthread_mutex_init(&delays->lock, NULL);
    return delays;
}

void wd_delays_free(wd_delays *delays)
{
    if (delays == NULL)
        return;
    WD_ASSERT(delays->first == NULL);
    (void)pthread_mutex_destroy(&delays->lock);
    free(delays);
}

void wd_delays_add(wd_delays *delays, wd_task *task, int64_t due_ms)
{
    task->due_ms = due_ms;
    (void)pthread_mutex_lock(&delays->lock);
    wd_task **at = &delays->first;
    while (*at != NULL && (*at)->due_ms <= due_ms)
        at = &(*at)->next;
    task->next = *at;
    *at = task;
    (void)pthread_mutex_unlock(&delays->lock);
    delays->wake(delays->arg);
}

static wd_task *take_due(wd_delays *delays, int64_t now_ms)
{
    (void)pthread_mutex_lock(&delays->lock);
    wd_task *first = delays->first;
    if (first != NULL && first->due_ms <= now_ms)
        delays->first = first->next;
    else
        first = NULL;
    (void)pthread_mutex_unlock(&delays->lock);
    return first;
}

void wd_delays_run(wd_delays *delays, wd_pool *pool, int64_t now_ms)
{
    wd_task *task;

    while ((task = take_due(delays, now_ms)) != NULL)
        wd_pool_post(pool, task);
}

int64_t wd_delays_next_ms(wd_delays *delays)
{
    (void)pthread_mutex_lock(&delays->lock);
    int64_t next = delays->first != NULL ? delays->first->due_ms : INT64_MAX;
    (void)pthread_mutex_unlock(&delays->lock);
    return next;
}
