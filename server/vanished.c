#include "server/vanished.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct gone {
    struct gone *next;
    uint32_t pipe;
    int64_t due_ms;
} gone;

struct wd_vanished {
    pthread_mutex_t lock;
    gone *first, *last;
};

wd_vanished *wd_vanished_new(void)
{
    wd_vanished *vanished = calloc(1, sizeof(*vanished));

    if (vanished != NULL)
        (void)pthread_mutex_init(&vanished->lock, NULL);
    return vanished;
}

void wd_vanished_free(wd_vanished *vanished)
{
    if (vanished == NULL)
        return;
    while (vanished->first != NULL) {
        gone *first = vanished->first;
        vanished->first = first->next;
        free(first);
    }
    (void)pthread_mutex_destroy(&vanished->lock);
    free(vanished);
}

void wd_vanished_note(wd_vanished *vanished, uint32_t pipe, int64_t due_ms)
{
    gone *fresh = calloc(1, sizeof(*fresh));

    if (fresh == NULL)
        return; /* its calls end at their deadlines */
    fresh->pipe = pipe;
    fresh->due_ms = due_ms;
    (void)pthread_mutex_lock(&vanished->lock);
    if (vanished->first == NULL)
        vanished->first = fresh;
    else
        vanished->last->next = fresh;
    vanished->last = fresh;
    (void)pthread_mutex_unlock(&vanished->lock);
}

bool wd_vanished_due(wd_vanished *vanished, int64_t now_ms, uint32_t *ret_pipe)
{
    (void)pthread_mutex_lock(&vanished->lock);
    gone *first = vanished->first;
    if (first != NULL && first->due_ms <= now_ms)
        vanished->first = first->next;
    else
        first = NULL;
    (void)pthread_mutex_unlock(&vanished->lock);
    if (first == NULL)
        return false;
    *ret_pipe = first->pipe;
    free(first);
    return true;
}

int64_t wd_vanished_next_ms(wd_vanished *vanished)
{
    (void)pthread_mutex_lock(&vanished->lock);
    int64_t next = vanished->first != NULL ? vanished->first->due_ms : INT64_MAX;
    (void)pthread_mutex_unlock(&vanished->lock);
    return next;
}
