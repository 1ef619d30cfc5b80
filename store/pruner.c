#include "store/pruner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/internal.h"
#include "store/prune_export.h"
#include "store/prune_keep.h"

struct wd_pruner {
    wd_pruner_options options; /* age_ms and bytes: of the start */
    _Atomic int64_t age_ms;
    _Atomic uint64_t bytes;
    wd_reader *reader;
    pthread_mutex_t turn; /* one at a time */
    pthread_mutex_t lock; /* of what follows; never held while anything else is */
    char problem[WD_ERROR_MSG_BYTES];
};

/* One run: what may go. */
typedef struct run {
    wd_pruner *pruner;
    const wd_prune_ask *ask;
    const wd_prune_sink *sink;
    uint64_t over_bytes; /* so much is to go whatever its age; 0: age decides */
    int64_t now_ms;
} run;

wd_status wd_pruner_open(const wd_pruner_options *options, wd_pruner **ret_pruner,
                         wd_error *err)
{
    wd_pruner *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the pruner");
    made->options = *options;
    atomic_store(&made->age_ms, options->age_ms);
    atomic_store(&made->bytes, options->bytes);
    (void)pthread_mutex_init(&made->turn, NULL);
    (void)pthread_mutex_init(&made->lock, NULL);
    wd_status status = wd_reader_open(options->store->place.dir, options->store->vfs,
                                      &made->reader, err);
    if (status == WD_OK)
        *ret_pruner = made;
    else
        wd_pruner_close(made);
    return status;
}

void wd_pruner_close(wd_pruner *pruner)
{
    if (pruner == NULL)
        return;
    wd_reader_close(pruner->reader);
    (void)pthread_mutex_destroy(&pruner->lock);
    (void)pthread_mutex_destroy(&pruner->turn);
    free(pruner);
}

/* --- one segment ------------------------------------------------------------------ */

/* The row and what meta says, in one commit; `job` is first. */
typedef struct burial {
    wd_store_job job;
    const wd_audit_row *who;
    wd_tombstone *tombstone;
} burial;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    burial *b = (burial *)job;
    return wd_tombstone_write(store, b->who, b->tombstone, err);
}

static wd_status bury(const run *r, wd_tombstone *t, wd_error *err)
{
    wd_audit_row row = {.principal = r->pruner->options.principal};
    WD_AUTO(wd_text) *detail = wd_tombstone_detail(t, r->ask->why);
    if (detail == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a tombstone");
    if (r->ask->who != NULL)
        row = *r->ask->who;
    row.detail = detail;
    burial b = {.job = {.apply = apply}, .who = &row, .tombstone = t};
    return wd_store_change(r->pruner->options.store, r->pruner->options.writer, &b.job,
                           err);
}

/* Nothing that was meddled with is taken away. */
static wd_status verify(const run *r, wd_tombstone *t, wd_error *err)
{
    const wd_audit_range range = {.first = t->first, .last = t->last, .threads = 1};
    wd_audit_report report;
    wd_error cause;
    wd_status status = wd_audit_verify(r->pruner->reader, &range, &report, &cause);
    if (status != WD_OK)
        return wd_fail(err, status, "rows %llu to %llu are not pruned: %s",
                       (unsigned long long)t->first, (unsigned long long)t->last,
                       cause.msg);
    wd_hex((wd_span){report.head.hash, WD_AUDIT_HASH_BYTES}, t->last_hash);
    return WD_OK;
}

/* Both files, before anything is said or taken away. */
static wd_status copy(const run *r, const wd_segment *segment, wd_tombstone *t,
                      wd_error *err)
{
    const wd_pruner_options *options = &r->pruner->options;
    const wd_trail_place place = wd_store_trail_place(options->store);
    const wd_prune_export to = {options->exports, place.dir, place.chain_id,
                                options->stop};
    WD_AUTO(sqlite3) *db = NULL;
    WD_TRY(wd_segment_open(place.dir, segment, place.vfs, &db, err));
    const wd_source source = {db, segment, segment->first, segment->last};
    WD_TRY(wd_prune_export_write(&to, &source, t, err));
    return wd_prune_keep(&place, &source, t, err);
}

static uint64_t bytes_of(const run *r, const wd_segment *segment)
{
    struct stat st;
    WD_AUTO(wd_text) *path = wd_segment_path(r->pruner->reader->dir, segment);
    return path != NULL && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static wd_status prune_one(const run *r, const wd_segment *segment, wd_error *err)
{
    wd_tombstone t = {.first = segment->first, .last = segment->last};
    uint64_t bytes = bytes_of(r, segment);
    if (!r->ask->dry_run) {
        WD_TRY(verify(r, &t, err));
        WD_TRY(copy(r, segment, &t, err));
        WD_TRY(bury(r, &t, err));
        WD_TRY(wd_segments_tidy(r->pruner->reader->dir, t.last, err));
    }
    return r->sink != NULL ? r->sink->pruned(r->sink->arg, &t, bytes, err) : WD_OK;
}

/* --- which ------------------------------------------------------------------------ */

/* When the newest row of a segment was written. */
static wd_status newest_ms(const run *r, const wd_segment *segment, int64_t *ret_ms,
                           wd_error *err)
{
    const wd_reader *reader = r->pruner->reader;
    WD_AUTO(sqlite3) *db = NULL;
    WD_TRY(wd_segment_open(reader->dir, segment, reader->vfs, &db, err));
    return wd_sql_number(db, "SELECT wall_ms FROM audit ORDER BY seq DESC LIMIT 1",
                         ret_ms, err);
}

static wd_status is_due(const run *r, const wd_segment *segment, uint64_t gone,
                        bool *ret_due, wd_error *err)
{
    int64_t ms = 0;
    const wd_prune_ask *ask = r->ask;
    *ret_due = false;
    if (ask->to_seq != 0 && segment->last > ask->to_seq)
        return WD_OK;
    WD_TRY(newest_ms(r, segment, &ms, err));
    if (r->now_ms - ms < WD_PRUNE_YOUNGEST_MS)
        return WD_OK;
    *ret_due = (ask->before_ms == 0 && r->over_bytes == 0) ||
               (ask->before_ms != 0 && ms < ask->before_ms) || gone < r->over_bytes;
    return WD_OK;
}

static bool is_late(const run *r)
{
    return r->ask->deadline_ms != 0 &&
           wd_clock_mono_ms(wd_clock_system()) >= r->ask->deadline_ms;
}

/* Oldest first, up to the first that stays; the newest sealed one always does: it tells
 * which calls were open. */
static wd_status prune_all(const run *r, const wd_segments *all, wd_error *err)
{
    const atomic_bool *stop = r->pruner->options.stop;
    uint64_t gone = 0;
    for (size_t i = 0; i + 1 < all->n; i++) {
        bool due = false;
        if (all->list[i].kept_only)
            continue;
        WD_TRY(is_due(r, &all->list[i], gone, &due, err));
        if (!due)
            return WD_OK;
        if (stop != NULL && atomic_load(stop))
            return wd_refuse(err, WD_REASON_CANCELLED, "pruning was told to stop");
        if (is_late(r))
            return wd_refuse(err, WD_REASON_RUN_TIMEOUT,
                             "row %llu and what follows were not pruned in the time "
                             "given",
                             (unsigned long long)all->list[i].first);
        gone += bytes_of(r, &all->list[i]);
        WD_TRY(prune_one(r, &all->list[i], err));
    }
    return WD_OK;
}

/* The segments as they are now; what a crash left of a pruned one goes. */
static wd_status list(const run *r, wd_segments *ret, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_reader_trail(r->pruner->reader, &trail, err));
    WD_TRY(wd_segments_tidy(trail.place.dir, trail.pruned, err));
    *ret = trail.segments;
    trail.segments = (wd_segments){0};
    return WD_OK;
}

/* --- as asked --------------------------------------------------------------------- */

/* What is named must be there to go: nobody is to believe that it went. */
static wd_status check_seq(const run *r, const wd_segments *all, wd_error *err)
{
    const uint64_t to = r->ask->to_seq;
    const wd_segment *last = NULL;
    uint64_t most = 0;
    int64_t ms = 0;
    for (size_t i = 0; i + 1 < all->n; i++) {
        most = all->list[i].last;
        if (most <= to && !all->list[i].kept_only)
            last = &all->list[i];
    }
    if (to > most)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "to_seq is %llu: rows up to %llu can be pruned; what is not "
                         "sealed is not pruned, nor is the newest sealed segment",
                         (unsigned long long)to, (unsigned long long)most);
    if (last != NULL)
        WD_TRY(newest_ms(r, last, &ms, err));
    if (last != NULL && r->now_ms - ms < WD_PRUNE_YOUNGEST_MS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "to_seq is %llu: rows of the last hour are not pruned",
                         (unsigned long long)to);
    return WD_OK;
}

static wd_status check_ask(const run *r, wd_error *err)
{
    const wd_prune_ask *ask = r->ask;
    if (ask->before_ms == 0 && ask->to_seq == 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "before_ms or to_seq: how far, must be said");
    if (ask->before_ms > r->now_ms - WD_PRUNE_YOUNGEST_MS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "before_ms: rows of the last hour are not pruned");
    if (ask->why != NULL && strlen(ask->why) > WD_TOMBSTONE_WHY_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "reason has %zu bytes, at most %u", strlen(ask->why),
                         WD_TOMBSTONE_WHY_BYTES);
    return WD_OK;
}

static wd_status run_asked(const run *r, wd_error *err)
{
    WD_AUTO_SEGMENTS all = {0};
    WD_TRY(check_ask(r, err));
    WD_TRY(list(r, &all, err));
    WD_TRY(check_seq(r, &all, err));
    return prune_all(r, &all, err);
}

wd_status wd_pruner_run(wd_pruner *pruner, const wd_prune_ask *ask,
                        const wd_prune_sink *sink, wd_error *err)
{
    const run r = {.pruner = pruner,
                   .ask = ask,
                   .sink = sink,
                   .now_ms = wd_clock_wall_ms(pruner->options.store->clock)};
    (void)pthread_mutex_lock(&pruner->turn);
    wd_status status = run_asked(&r, err);
    (void)pthread_mutex_unlock(&pruner->turn);
    return status;
}

/* --- by itself -------------------------------------------------------------------- */

/* By how much the sealed segments are too large. */
static uint64_t too_many_bytes(const run *r, const wd_segments *all)
{
    uint64_t sum = 0;
    const uint64_t most = atomic_load(&r->pruner->bytes);
    for (size_t i = 0; i < all->n; i++)
        sum += all->list[i].kept_only ? 0 : bytes_of(r, &all->list[i]);
    return most != 0 && sum > most ? sum - most : 0;
}

static wd_status run_due(wd_pruner *pruner, wd_error *err)
{
    const int64_t now = wd_clock_wall_ms(pruner->options.store->clock);
    const int64_t age = atomic_load(&pruner->age_ms);
    wd_prune_ask old = {.before_ms = age != 0 ? now - age : 0, .why = "age"};
    wd_prune_ask large = {.why = "size"};
    run r = {.pruner = pruner, .ask = &old, .now_ms = now};
    WD_AUTO_SEGMENTS all = {0};
    WD_AUTO_SEGMENTS left = {0};
    WD_TRY(list(&r, &all, err));
    if (age != 0)
        WD_TRY(prune_all(&r, &all, err));
    WD_TRY(list(&r, &left, err));
    r.ask = &large;
    r.over_bytes = too_many_bytes(&r, &left);
    return r.over_bytes != 0 ? prune_all(&r, &left, err) : WD_OK;
}

static void note(wd_pruner *pruner, const char *problem)
{
    (void)pthread_mutex_lock(&pruner->lock);
    (void)snprintf(pruner->problem, sizeof(pruner->problem), "%s", problem);
    (void)pthread_mutex_unlock(&pruner->lock);
}

wd_status wd_pruner_pass(wd_pruner *pruner, wd_error *err)
{
    wd_error cause = {0};
    if (atomic_load(&pruner->age_ms) == 0 && atomic_load(&pruner->bytes) == 0) {
        note(pruner, ""); /* what was due is so no more */
        return WD_OK;
    }
    (void)pthread_mutex_lock(&pruner->turn);
    wd_status status = run_due(pruner, &cause);
    (void)pthread_mutex_unlock(&pruner->turn);
    if (status != WD_CANCELLED)
        note(pruner, status != WD_OK ? cause.msg : "");
    if (status != WD_OK && err != NULL)
        *err = cause;
    return status;
}

void wd_pruner_problem(wd_pruner *pruner, char *ret_text, size_t size)
{
    (void)pthread_mutex_lock(&pruner->lock);
    (void)snprintf(ret_text, size, "%s", pruner->problem);
    (void)pthread_mutex_unlock(&pruner->lock);
}

void wd_pruner_set_due(wd_pruner *pruner, const wd_prune_due *due)
{
    atomic_store(&pruner->age_ms, due->age_ms);
    atomic_store(&pruner->bytes, due->bytes);
}

wd_prune_due wd_pruner_due(wd_pruner *pruner)
{
    return (wd_prune_due){atomic_load(&pruner->age_ms), atomic_load(&pruner->bytes)};
}
