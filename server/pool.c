#include "server/pool.h"

#include <pthread.h>
#include <stdbool.h>

#define MAX_THREADS 16U

struct wd_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    wd_task *first, *last;
    bool stopping;
    size_t n_threads;
    pthread_t threads[MAX_THREADS];
};

/* The next task, waiting for it; NULL when the pool stops and nothing is queued. */
static wd_task *take(wd_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->first == NULL && !pool->stopping)
        (void)pthread_cond_wait(&pool->wake, &pool->lock);

    wd_task *task = pool->first;
    if (task != NULL) {
        pool->first = task->next;
        if (pool->first == NULL)
            pool->last = NULL;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return task;
}

static void *work(void *arg)
{
    wd_pool *pool = arg;

    for (wd_task *task = take(pool); task != NULL; task = take(pool))
        task->run(task);
    return NULL;
}

static bool add_thread(wd_pool *pool, const char *name)
{
    pthread_t *thread = &pool->threads[pool->n_threads];

    if (pthread_create(thread, NULL, work, pool) != 0)
        return false;
    (void)pthread_setname_np(*thread, name);
    pool->n_threads++;
    return true;
}

wd_status wd_pool_start(const char *name, size_t n_threads, wd_pool **ret_pool,
                        wd_error *err)
{
    WD_ASSERT(n_threads >= 1 && n_threads <= MAX_THREADS);

    wd_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the %s threads", name);
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->wake, NULL);

    for (size_t i = 0; i < n_threads; i++) {
        if (!add_thread(pool, name)) {
            wd_pool_stop(pool);
            return wd_fail(err, WD_INTERNAL, "can't start a %s thread", name);
        }
    }
    *ret_pool = pool;
    return WD_OK;
}

void wd_pool_post(wd_pool *pool, wd_task *task)
{
    task->next = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->last != NULL)
        pool->last->next = task;
    else
        pool->first = task;
    pool->last = task;
    (void)pthread_cond_signal(&pool->wake);
    (void)pthread_mutex_unlock(&pool->lock);
}

void wd_pool_stop(wd_pool *pool)
{
    if (pool == NULL)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    (void)pthread_cond_broadcast(&pool->wake);
    (void)pthread_mutex_unlock(&pool->lock);

    for (size_t i = 0; i < pool->n_threads; i++)
        (void)pthread_join(pool->threads[i], NULL);
    (void)pthread_cond_destroy(&pool->wake);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}
