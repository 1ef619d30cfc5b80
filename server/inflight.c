#include "server/inflight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Told at a time, so that the lock is not held while others are called. */
#define BATCH 64U

struct wd_inflight {
    pthread_mutex_t lock;
    wd_live head; /* a ring; head itself is no call */
    size_t count;
    uint64_t last_number;
    wd_live_told *told;
    void *told_arg;
};

wd_inflight *wd_inflight_new(wd_live_told *told, void *arg)
{
    wd_inflight *table = calloc(1, sizeof(*table));

    if (table == NULL)
        return NULL;
    (void)pthread_mutex_init(&table->lock, NULL);
    table->head.next = table->head.prev = &table->head;
    table->told = told;
    table->told_arg = arg;
    return table;
}

void wd_inflight_free(wd_inflight *table)
{
    if (table == NULL)
        return;
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

void wd_inflight_add(wd_inflight *table, wd_live *live)
{
    (void)pthread_mutex_lock(&table->lock);
    live->number = ++table->last_number;
    live->prev = table->head.prev;
    live->next = &table->head;
    live->prev->next = live;
    live->next->prev = live;
    table->count++;
    (void)pthread_mutex_unlock(&table->lock);
}

void wd_inflight_remove(wd_inflight *table, wd_live *live)
{
    (void)pthread_mutex_lock(&table->lock);
    if (live->next != NULL) { /* a neighbour that leaves writes it too */
        live->prev->next = live->next;
        live->next->prev = live->prev;
        live->next = live->prev = NULL;
        table->count--;
    }
    (void)pthread_mutex_unlock(&table->lock);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool matches(const wd_live *live, const wd_live_filter *filter)
{
    if (filter->token_ids != NULL &&
        bsearch(live->token_id, filter->token_ids, filter->n_token_ids,
                sizeof(*filter->token_ids), by_id) == NULL)
        return false;
    if (filter->pipe != 0 && filter->pipe != live->pipe)
        return false;
    if (filter->principal != NULL && strcmp(filter->principal, live->principal) != 0)
        return false;
    if (filter->token_id != NULL && strcmp(filter->token_id, live->token_id) != 0)
        return false;
    return filter->call_id == NULL ||
           memcmp(filter->call_id, live->call_id, WD_CALL_ID_BYTES) == 0;
}

void wd_inflight_move(wd_inflight *table, const wd_live_filter *filter, uint32_t pipe)
{
    (void)pthread_mutex_lock(&table->lock);
    for (wd_live *at = table->head.next; at != &table->head; at = at->next) {
        if (matches(at, filter))
            at->pipe = pipe;
    }
    (void)pthread_mutex_unlock(&table->lock);
}

/* Mark up to BATCH calls; their numbers go to `numbers`. */
static size_t mark(wd_inflight *table, const wd_live_filter *filter, wd_signal signal,
                   uint64_t *numbers)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&table->lock);
    for (wd_live *at = table->head.next; at != &table->head && n < BATCH;
         at = at->next) {
        if (at->signal != WD_SIGNAL_NONE || !matches(at, filter))
            continue;
        at->signal = signal;
        numbers[n++] = at->number;
    }
    (void)pthread_mutex_unlock(&table->lock);
    return n;
}

size_t wd_inflight_signal(wd_inflight *table, const wd_live_filter *filter,
                          wd_signal signal)
{
    uint64_t numbers[BATCH];
    size_t total = 0;
    size_t n;

    do {
        n = mark(table, filter, signal, numbers);
        for (size_t i = 0; i < n; i++)
            table->told(table->told_arg, numbers[i]);
        total += n;
    } while (n == BATCH);
    return total;
}

wd_signal wd_inflight_signalled(wd_inflight *table, const wd_live *live)
{
    (void)pthread_mutex_lock(&table->lock);
    wd_signal signal = live->signal;
    (void)pthread_mutex_unlock(&table->lock);
    return signal;
}

size_t wd_inflight_tokens(wd_inflight *table, char (**ret_ids)[WD_TOKEN_ID_CHARS + 1])
{
    size_t n = 0;

    (void)pthread_mutex_lock(&table->lock);
    *ret_ids = calloc(table->count + 1, sizeof(**ret_ids));
    for (wd_live *at = table->head.next; *ret_ids != NULL && at != &table->head;
         at = at->next)
        memcpy((*ret_ids)[n++], at->token_id, sizeof(at->token_id));
    (void)pthread_mutex_unlock(&table->lock);
    return n;
}

size_t wd_inflight_pipes(wd_inflight *table, uint32_t **ret_pipes)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&table->lock);
    *ret_pipes = calloc(table->count + 1, sizeof(**ret_pipes));
    for (wd_live *at = table->head.next; *ret_pipes != NULL && at != &table->head;
         at = at->next)
        (*ret_pipes)[n++] = at->pipe;
    (void)pthread_mutex_unlock(&table->lock);
    return n;
}

size_t wd_inflight_count(wd_inflight *table)
{
    (void)pthread_mutex_lock(&table->lock);
    size_t count = table->count;
    (void)pthread_mutex_unlock(&table->lock);
    return count;
}
