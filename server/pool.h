/* pool.h - a few threads that take tasks from one queue, first in, first out.
 *
 * This is how a call changes its owner: who posts it has given it away.
 *
 * Threads: post from any thread; start and stop from one.
 * Owns:    its threads and its lock; tasks are embedded in what they move. */
#ifndef WD_SERVER_POOL_H
#define WD_SERVER_POOL_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct wd_task {
    struct wd_task *next; /* the queue's while it is queued */
    void (*run)(struct wd_task *task);
    int64_t due_ms; /* where it waits for that (server/delays.h) */
} wd_task;

/* The structure of `type` whose member `member` the task is. */
#define WD_CONTAINER(pointer, type, member)                                            \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

typedef struct wd_pool wd_pool;

/* Start `n_threads` (1..16) threads called `name` (at most 15 bytes; for ps and gdb).
 * Errors: INTERNAL no memory or no thread */
WD_MUST_USE wd_status wd_pool_start(const char *name, size_t n_threads,
                                    wd_pool **ret_pool, wd_error *err);

/* Give a task away; never blocks on anything but the queue's lock. */
void wd_pool_post(wd_pool *pool, wd_task *task);

/* Run what is queued, end the threads, free the pool. NULL is fine. Nobody may post any
 * more but the tasks themselves. */
void wd_pool_stop(wd_pool *pool);

#endif
