#include "store/audit_chunks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_THREADS 32U

void wd_chunks_done(wd_chunks *chunks)
{
    free(chunks->list);
    free(chunks->sources);
    *chunks = (wd_chunks){0};
}

/* --- the list --------------------------------------------------------------------- */

static wd_status grow(wd_chunks *chunks, wd_error *err)
{
    if (chunks->n < chunks->room)
        return WD_OK;
    size_t room = chunks->room == 0 ? 16 : chunks->room * 2;
    wd_chunk *list = reallocarray(chunks->list, room, sizeof(*list));
    if (list != NULL)
        chunks->list = list;
    size_t *sources = reallocarray(chunks->sources, room, sizeof(*sources));
    if (sources != NULL)
        chunks->sources = sources;
    if (list == NULL || sources == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for %zu chunks", room);
    chunks->room = room;
    return WD_OK;
}

wd_status wd_chunks_add(wd_chunks *chunks, size_t source, const wd_chunk *stretch,
                        wd_error *err)
{
    for (uint64_t first = stretch->first; first <= stretch->last;) {
        uint64_t last = first + WD_CHUNK_ROWS - 1;
        WD_TRY(grow(chunks, err));
        wd_chunk *one = &chunks->list[chunks->n];
        *one = *stretch;
        one->first = first;
        one->last = last < stretch->last ? last : stretch->last;
        one->opens = stretch->opens && first == stretch->first;
        one->closes = stretch->closes && one->last == stretch->last;
        chunks->sources[chunks->n++] = source;
        first = one->last + 1;
    }
    return WD_OK;
}

/* --- on several cores ------------------------------------------------------------- */

typedef struct shared {
    const wd_chunks *chunks;
    const wd_trail *trail;
    atomic_size_t next;
    atomic_bool failed;
} shared;

typedef struct worker {
    shared *all;
    pthread_t thread;
    wd_status status;
    wd_error error;
    sqlite3 *db; /* of `source` */
    size_t source;
} worker;

static wd_status open_store(const wd_trail_place *place, sqlite3 **ret_db,
                            wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    if (asprintf(&path, "%s/store.db", place->dir) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    return wd_sql_open(path, SQLITE_OPEN_READONLY, place->vfs, ret_db, err);
}

static wd_status open_source(worker *w, size_t source)
{
    const wd_trail *trail = w->all->trail;
    if (w->db != NULL && w->source == source)
        return WD_OK;
    (void)sqlite3_close_v2(w->db);
    w->db = NULL;
    w->source = source;
    return source == trail->segments.n
               ? open_store(&trail->place, &w->db, &w->error)
               : wd_segment_open(trail->place.dir, &trail->segments.list[source],
                                 trail->place.vfs, &w->db, &w->error);
}

static wd_status verify_one(worker *w, size_t i)
{
    const wd_chunks *chunks = w->all->chunks;
    WD_TRY(open_source(w, chunks->sources[i]));
    return wd_chunk_verify(w->db, w->all->trail->place.chain_id, &chunks->list[i],
                           &w->error);
}

static void *work(void *arg)
{
    worker *w = arg;
    while (w->status == WD_OK && !atomic_load(&w->all->failed)) {
        size_t i = atomic_fetch_add(&w->all->next, 1);
        if (i >= w->all->chunks->n)
            break;
        w->status = verify_one(w, i);
    }
    if (w->status != WD_OK)
        atomic_store(&w->all->failed, true);
    (void)sqlite3_close_v2(w->db);
    return NULL;
}

static wd_status run_threads(shared *all, unsigned threads, wd_error *err)
{
    worker workers[MOST_THREADS] = {0};
    unsigned started = 0;
    wd_status status = WD_OK;
    while (started + 1 < threads) {
        workers[started].all = all;
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) !=
            0)
            break; /* those that there are do it */
        started++;
    }
    workers[started].all = all;
    (void)work(&workers[started]);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i <= started && status == WD_OK; i++) {
        status = workers[i].status;
        if (status != WD_OK && err != NULL)
            *err = workers[i].error;
    }
    return status;
}

/* --- and on this one -------------------------------------------------------------- */

static wd_status run_here(const wd_chunks *chunks, wd_trail *trail, size_t i,
                          wd_error *err)
{
    wd_source source;
    WD_TRY(wd_trail_source(trail, chunks->sources[i], &source, err));
    return wd_chunk_verify(source.db, trail->place.chain_id, &chunks->list[i], err);
}

/* The first fault counts; so many chunks are needed to know it. */
static wd_status again(const wd_chunks *chunks, wd_trail *trail, wd_error *err)
{
    for (size_t i = 0; i < chunks->n; i++) {
        if (chunks->list[i].fault == WD_AUDIT_SOUND)
            continue;
        WD_TRY(run_here(chunks, trail, i, err));
        if (chunks->list[i].fault != WD_AUDIT_SOUND)
            return WD_OK;
    }
    return WD_OK;
}

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

static wd_status run_all_here(const wd_chunks *chunks, wd_trail *trail, wd_error *err)
{
    for (size_t i = 0; i < chunks->n; i++) {
        WD_TRY(run_here(chunks, trail, i, err));
        if (chunks->list[i].fault != WD_AUDIT_SOUND)
            return WD_OK;
    }
    return WD_OK;
}

wd_status wd_chunks_run(wd_chunks *chunks, wd_trail *trail, unsigned threads,
                        wd_error *err)
{
    shared all = {.chunks = chunks, .trail = trail};
    threads = threads != 0 ? threads : cores();
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    if (threads > chunks->n)
        threads = (unsigned)chunks->n;
    if (threads <= 1)
        return run_all_here(chunks, trail, err);
    WD_TRY(run_threads(&all, threads, err));
    return again(chunks, trail, err);
}
