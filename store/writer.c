#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/internal.h"
#include "store/wal.h"

struct wd_writer {
    wd_store *store; /* the thread's */
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t news;
    wd_store_job *first; /* under the lock, as all below */
    wd_store_job **end;
    wd_store_job *retries; /* go before the next group */
    wd_store_job **retries_end;
    bool stopping;
};

/* --- the queue -------------------------------------------------------------------- */

void wd_writer_submit(wd_writer *writer, wd_store_job *job)
{
    job->next = NULL;
    (void)pthread_mutex_lock(&writer->lock);
    *writer->end = job;
    writer->end = &job->next;
    (void)pthread_cond_signal(&writer->news);
    (void)pthread_mutex_unlock(&writer->lock);
}

bool wd_writer_retry(wd_writer *writer, wd_store_job *job)
{
    job->next = NULL;
    (void)pthread_mutex_lock(&writer->lock);
    bool goes_on = !writer->stopping;
    if (goes_on) {
        *writer->retries_end = job;
        writer->retries_end = &job->next;
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return goes_on;
}

static bool has_passed(const struct timespec *at)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > at->tv_sec;
}

static struct timespec time_in(time_t ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    return at;
}

/* Under the lock: what is to be tried again, then what has queued. */
static wd_store_job *take_all(wd_writer *writer)
{
    *writer->retries_end = writer->first;
    wd_store_job *jobs = writer->retries;
    writer->first = NULL;
    writer->end = &writer->first;
    writer->retries = NULL;
    writer->retries_end = &writer->retries;
    return jobs;
}

/* The next group. NULL: time to keep house, or, with *ret_stop, the end. */
static wd_store_job *take(wd_writer *writer, const struct timespec *until,
                          bool *ret_stop)
{
    struct timespec retry = time_in(WD_STORE_RETRY_MS);
    (void)pthread_mutex_lock(&writer->lock);
    int waited = 0;
    while (writer->first == NULL && !writer->stopping && waited == 0)
        waited = pthread_cond_clockwait(&writer->news, &writer->lock, CLOCK_MONOTONIC,
                                        writer->retries != NULL ? &retry : until);
    wd_store_job *jobs = take_all(writer);
    *ret_stop = writer->stopping && jobs == NULL;
    (void)pthread_mutex_unlock(&writer->lock);
    return jobs;
}

/* --- a group ---------------------------------------------------------------------- */

static void finish(wd_store_job *jobs)
{
    while (jobs != NULL) {
        wd_store_job *job = jobs;
        jobs = job->next; /* done may free the job */
        job->next = NULL;
        job->done(job);
    }
}

static void refuse_low(const wd_store *store, wd_store_job *job)
{
    job->status =
        wd_refuse(&job->error, WD_REASON_AUDIT_UNWRITABLE,
                  "less than %llu bytes are free for the record in %s "
                  "(audit.reserve_bytes): free some space",
                  (unsigned long long)store->place.reserve_bytes, store->place.dir);
    job->error.retry_after_ms = 1000;
}

/* Space is short: jobs from `rank` on are refused, the rest goes on. */
static wd_store_job *refuse_from(const wd_store *store, wd_job_rank rank,
                                 wd_store_job *jobs)
{
    wd_store_job *refused = NULL;
    wd_store_job **refused_end = &refused;
    wd_store_job **at = &jobs;
    while (*at != NULL) {
        wd_store_job *job = *at;
        if (job->rank < rank) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = NULL;
        *refused_end = job;
        refused_end = &job->next;
        refuse_low(store, job);
    }
    finish(refused);
    return jobs;
}

static void write_group(wd_store *store, wd_store_job *jobs)
{
    bool low = wd_place_low(&store->place);
    if (low) {
        atomic_store(&store->degraded, true);
        jobs = refuse_from(
            store, wd_place_broken(&store->place) ? WD_JOB_MAY : WD_JOB_IF_ROOM, jobs);
    }
    if (jobs != NULL && wd_group_write(store, jobs))
        atomic_store(&store->degraded, low); /* not before it is seen */
    finish(jobs);
    if (!low)
        wd_place_refill(&store->place);
}

/* --- the thread ------------------------------------------------------------------- */

static void *work(void *arg)
{
    wd_writer *writer = arg;
    struct timespec until = time_in(WD_STORE_HOUSEKEEPING_MS);
    for (;;) {
        bool stop = false;
        wd_store_job *jobs = take(writer, &until, &stop);
        if (stop)
            return NULL;
        if (jobs != NULL)
            write_group(writer->store, jobs);
        if (jobs == NULL || has_passed(&until)) {
            wd_tokens_flush_used(writer->store);
            wd_wal_tidy(writer->store);
            until = time_in(WD_STORE_HOUSEKEEPING_MS);
        }
    }
}

/* The thread takes no signals: they are main's. */
static int start_thread(wd_writer *writer)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&writer->thread, NULL, work, writer);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        (void)pthread_setname_np(writer->thread, "wd-store");
    return failed;
}

wd_status wd_writer_start(wd_store *store, wd_writer **ret_writer, wd_error *err)
{
    wd_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the store's writer");
    writer->store = store;
    writer->end = &writer->first;
    writer->retries_end = &writer->retries;
    (void)pthread_mutex_init(&writer->lock, NULL);
    (void)pthread_cond_init(&writer->news, NULL);
    int failed = start_thread(writer);
    if (failed != 0) {
        free(writer);
        return wd_refuse(err, WD_REASON_CAPACITY,
                         "no thread for the store's writer: %s",
                         strerrordesc_np(failed));
    }
    *ret_writer = writer;
    return WD_OK;
}

void wd_writer_stop(wd_writer *writer)
{
    if (writer == NULL)
        return;
    (void)pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    (void)pthread_cond_signal(&writer->news);
    (void)pthread_mutex_unlock(&writer->lock);
    (void)pthread_join(writer->thread, NULL);
    (void)pthread_cond_destroy(&writer->news);
    (void)pthread_mutex_destroy(&writer->lock);
    free(writer);
}

/* --- waiting ---------------------------------------------------------------------- */

/* A job for another's, which is applied in its place. */
typedef struct waiting {
    wd_store_job job; /* first */
    wd_store_job *inner;
    sem_t done;
} waiting;

static wd_status apply_inner(wd_store *store, wd_store_job *job, wd_error *err)
{
    waiting *w = (waiting *)job;
    return w->inner->apply(store, w->inner, err);
}

static void wake(wd_store_job *job)
{
    (void)sem_post(&((waiting *)job)->done);
}

wd_status wd_store_change(wd_store *store, wd_writer *writer, wd_store_job *job,
                          wd_error *err)
{
    if (writer == NULL)
        return wd_store_run(store, job, err);
    waiting w = {.job = {.apply = apply_inner, .done = wake, .rank = job->rank},
                 .inner = job};
    (void)sem_init(&w.done, 0, 0);
    wd_writer_submit(writer, &w.job);
    while (sem_wait(&w.done) != 0)
        continue; /* a signal */
    (void)sem_destroy(&w.done);
    if (w.job.status != WD_OK && err != NULL)
        *err = w.job.error;
    return w.job.status;
}
