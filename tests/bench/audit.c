/* bench_audit VERB DIR ... - the store of the trail at DIR; prints one JSON object.
 *
 *   product DEPTH S   S seconds of rows through the gate's writer, so many at once, each
 *                     waited for until it is durable
 *   bare DEPTH S      the same with SQLite alone: its table and indexes, as many rows in a
 *                     commit, no chain, no savepoints
 *   paced N S         N rows a second for S seconds, whatever becomes of them
 *   pruned N S        the same, while what was there is sealed, exported to DIR.exports
 *                     and pruned */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/clock.h"
#include "store/archive.h"
#include "store/writer.h"
#include "tests/bench/measure.h"
#include "tests/bench/rows.h"

#define DEPTH_MAX     4096U
#define LATENCIES     (1U << 22)
#define WARM_NS       300000000LL
#define SEGMENT_BYTES (32ULL << 20)

typedef struct bench bench;

/* One row at a time. */
typedef struct lane {
    wd_store_job job; /* first */
    bench *bench;
    int64_t began_ns;
    uint64_t row;
} lane;

struct bench {
    wd_store *store;
    wd_writer *writer;
    wd_clock later; /* the store's */
    lane lanes[DEPTH_MAX];
    unsigned depth;
    double seconds;
    double used_us; /* of processors, while it measured */
    int64_t start_ns, end_ns;
    uint64_t rows;     /* next: the writer's */
    uint32_t measured; /* of *latencies_ns: the writer's */
    int64_t *latencies_ns;
    atomic_uint live;
    atomic_bool failed;
};

static void note(bench *b, int64_t began_ns)
{
    const int64_t ended_ns = wd_bench_now_ns();
    if (began_ns >= b->start_ns && ended_ns <= b->end_ns && b->measured < LATENCIES)
        b->latencies_ns[b->measured++] = ended_ns - began_ns;
}

static int tell(bench *b)
{
    const wd_bench_turn turn = {.latencies_ns = b->latencies_ns,
                                .n = b->failed ? 0 : b->measured,
                                .seconds = b->seconds,
                                .used_us = b->used_us,
                                .calls = b->measured};
    return wd_bench_print(&turn);
}

/* --- product ------------------------------------------------------------------------- */

static wd_status append(wd_store *store, wd_store_job *job, wd_error *err)
{
    const lane *l = (const lane *)job;
    wd_bench_texts texts;
    const wd_audit_row row = wd_bench_row(l->row, &texts);
    return wd_audit_append(store, &row, err);
}

static void submit(lane *l)
{
    l->row = l->bench->rows++;
    l->began_ns = wd_bench_now_ns();
    wd_writer_submit(l->bench->writer, &l->job);
}

/* The writer's thread, as all of this but the first rows. */
static void done(wd_store_job *job)
{
    lane *l = (lane *)job;
    bench *b = l->bench;
    if (job->status != WD_OK)
        b->failed = true;
    note(b, l->began_ns);
    if (!b->failed && wd_bench_now_ns() < b->end_ns)
        submit(l);
    else
        atomic_fetch_sub(&b->live, 1);
}

/* The first of all: from here on everything is the writer's thread's. */
static wd_status nothing(wd_store *store, wd_store_job *job, wd_error *err)
{
    (void)store, (void)job, (void)err;
    return WD_OK;
}

static void begun(wd_store_job *job)
{
    bench *b = ((lane *)job)->bench;
    for (unsigned i = 0; i < b->depth; i++) {
        b->lanes[i] = (lane){.job = {.apply = append, .done = done}, .bench = b};
        submit(&b->lanes[i]);
    }
}

static void start_clock(bench *b)
{
    b->start_ns = wd_bench_now_ns() + WARM_NS;
    b->end_ns = b->start_ns + (int64_t)(b->seconds * 1e9);
}

static void product(bench *b)
{
    lane first = {.job = {.apply = nothing, .done = begun}, .bench = b};
    start_clock(b);
    b->live = b->depth;
    wd_writer_submit(b->writer, &first.job);
    wd_bench_sleep_until(b->start_ns);
    b->used_us = -wd_bench_cpu_us();
    wd_bench_sleep_until(b->end_ns);
    b->used_us += wd_bench_cpu_us();
    while (b->live > 0)
        wd_bench_sleep_until(wd_bench_now_ns() + 1000000);
}

/* What was there is old enough to go. */
static int64_t later_ms(const wd_clock *clock)
{
    (void)clock;
    return wd_clock_wall_ms(wd_clock_system()) + 2 * WD_PRUNE_YOUNGEST_MS;
}

static wd_status open_store(bench *b, const char *dir, wd_error *err)
{
    b->later = *wd_clock_system();
    b->later.wall_ms = later_ms;
    const wd_store_options options = {
        .dir = dir, .create = true, .reserve_bytes = 1U << 20, .clock = &b->later};
    return wd_store_open(&options, &b->store, err);
}

static wd_status run_product(bench *b, const char *dir, wd_error *err)
{
    WD_TRY(open_store(b, dir, err));
    WD_TRY(wd_writer_start(b->store, &b->writer, err));
    product(b);
    wd_writer_stop(b->writer);
    return WD_OK;
}

/* --- bare ---------------------------------------------------------------------------- */

static bool bind_row(sqlite3_stmt *stmt, const wd_audit_row *row, uint64_t seq)
{
    static const uint8_t hash[WD_AUDIT_HASH_BYTES] = {1, 2, 3};
    const char *const texts[] = {
        row->event,     row->outcome,       row->principal, row->token_id,
        row->peer_cert, row->peer_addr,     row->method,    row->scope,
        row->call_id,   row->trajectory_id, row->trace_id,  row->digest,
        row->tool,      row->owner,         row->family,    row->pool};
    const int64_t numbers[] = {(int64_t)seq,           wd_bench_now_ns() / 1000000,
                               wd_bench_now_ns(),      (int64_t)row->duration_us,
                               (int64_t)row->bytes_in, (int64_t)row->bytes_out};
    const int n_numbers = sizeof(numbers) / sizeof(*numbers);
    const int n_texts = sizeof(texts) / sizeof(*texts);
    const int hashes = n_numbers + n_texts + 1;
    bool ok = true;
    for (int i = 0; i < n_numbers && ok; i++)
        ok = sqlite3_bind_int64(stmt, i + 1, numbers[i]) == SQLITE_OK;
    for (int i = 0; i < n_texts && ok; i++)
        ok = sqlite3_bind_text(stmt, n_numbers + i + 1, texts[i], -1, SQLITE_STATIC) ==
             SQLITE_OK;
    for (int i = 0; i < 2 && ok; i++)
        ok = sqlite3_bind_blob(stmt, hashes + i, hash, sizeof(hash), SQLITE_STATIC) ==
             SQLITE_OK;
    return ok;
}

static const char insert[] =
    "INSERT INTO audit (seq, wall_ms, mono_ns, duration_us, bytes_in, bytes_out, event,"
    " outcome, principal, token_id, peer_cert, peer_addr, method, scope, call_id,"
    " trajectory_id, trace_id, digest, tool, owner, family, pool, prev_hash, hash, "
    "code,"
    " item) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,0)";

static bool commit_group(bench *b, sqlite3 *db, sqlite3_stmt *stmt)
{
    wd_bench_texts texts;
    const int64_t began_ns = wd_bench_now_ns();
    bool ok = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    for (unsigned i = 0; i < b->depth && ok; i++) {
        const wd_audit_row row = wd_bench_row(b->rows++, &texts);
        ok = bind_row(stmt, &row, b->rows) && sqlite3_step(stmt) == SQLITE_DONE &&
             sqlite3_reset(stmt) == SQLITE_OK;
    }
    ok = ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    for (unsigned i = 0; i < b->depth && ok; i++)
        note(b, began_ns);
    return ok;
}

static bool bare_groups(bench *b, sqlite3 *db, sqlite3_stmt *stmt)
{
    bool ok = true;
    start_clock(b);
    while (wd_bench_now_ns() < b->start_ns && ok)
        ok = commit_group(b, db, stmt);
    b->used_us = -wd_bench_cpu_us();
    while (wd_bench_now_ns() < b->end_ns && ok)
        ok = commit_group(b, db, stmt);
    b->used_us += wd_bench_cpu_us();
    return ok;
}

/* In a database that the store has made, opened as it opens it. */
static wd_status run_bare(bench *b, const char *dir, wd_error *err)
{
    char path[512];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    WD_TRY(open_store(b, dir, err));
    wd_store_close(b->store);
    b->store = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", dir);
    bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
              sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
                           NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, insert, -1, &stmt, NULL) == SQLITE_OK &&
              bare_groups(b, db, stmt);
    wd_status status = ok ? WD_OK : wd_fail(err, WD_INTERNAL, "%s", sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return status;
}

/* --- paced --------------------------------------------------------------------------- */

static void noted(wd_store_job *job)
{
    lane *l = (lane *)job;
    if (job->status != WD_OK)
        l->bench->failed = true;
    note(l->bench, l->began_ns);
    atomic_fetch_sub(&l->bench->live, 1);
}

/* A lane for each row that waits; none is left over: the disk does not keep up. */
static void pace(bench *b, double rate)
{
    start_clock(b);
    b->used_us = -wd_bench_cpu_us();
    for (uint64_t i = 0; wd_bench_now_ns() < b->end_ns && !b->failed; i++) {
        lane *l = &b->lanes[i % DEPTH_MAX];
        if (atomic_fetch_add(&b->live, 1) == DEPTH_MAX)
            b->failed = true;
        *l = (lane){.job = {.apply = append, .done = noted}, .bench = b, .row = i};
        l->began_ns = wd_bench_now_ns();
        wd_writer_submit(b->writer, &l->job);
        wd_bench_sleep_until(b->start_ns - WARM_NS + (int64_t)((double)i * 1e9 / rate));
    }
    while (b->live > 0 && !b->failed)
        wd_bench_sleep_until(wd_bench_now_ns() + 1000000);
    b->used_us += wd_bench_cpu_us();
}

static void say_pass(void *arg, const wd_error *err)
{
    bench *b = arg;
    if (err != NULL) {
        (void)fprintf(stderr, "bench_audit: %s\n", err->msg);
        b->failed = true;
    }
}

static wd_status start_archive(bench *b, wd_pruner *pruner, wd_archive **ret,
                               wd_error *err)
{
    const wd_archive_options options = {.store = b->store,
                                        .writer = b->writer,
                                        .segment_bytes = SEGMENT_BYTES,
                                        .pass_ms = 1,
                                        .passed = say_pass,
                                        .arg = b,
                                        .pruner = pruner,
                                        .prune_passed = say_pass,
                                        .prune_arg = b};
    return wd_archive_start(&options, ret, err);
}

static wd_status run_pruned(bench *b, const char *dir, wd_error *err)
{
    wd_archive *archive = NULL;
    WD_AUTO(wd_pruner) *pruner = NULL;
    char exports[512];
    (void)snprintf(exports, sizeof(exports), "%s.exports", dir);
    const wd_pruner_options options = {.store = b->store,
                                       .writer = b->writer,
                                       .exports = exports,
                                       .bytes = 1,
                                       .principal = "spiffe://warded.local/bench"};
    WD_TRY(wd_pruner_open(&options, &pruner, err));
    WD_TRY(start_archive(b, pruner, &archive, err));
    pace(b, b->depth);
    wd_archive_stop(archive);
    return WD_OK;
}

static wd_status run_paced(bench *b, const char *dir, bool prunes, wd_error *err)
{
    wd_status status = WD_OK;
    WD_TRY(open_store(b, dir, err));
    WD_TRY(wd_writer_start(b->store, &b->writer, err));
    if (prunes)
        status = run_pruned(b, dir, err);
    else
        pace(b, b->depth);
    wd_writer_stop(b->writer);
    return status;
}

/* --- all of them --------------------------------------------------------------------- */

static wd_status run(bench *b, char **argv, wd_error *err)
{
    const char *verb = argv[1], *dir = argv[2];
    b->seconds = strtod(argv[4], NULL);
    b->depth = (unsigned)strtoul(argv[3], NULL, 10);
    if (b->depth == 0 || b->depth > DEPTH_MAX)
        return wd_fail(err, WD_INVALID_ARGUMENT, "1 to %u at once", DEPTH_MAX);
    if (strcmp(verb, "product") == 0)
        return run_product(b, dir, err);
    if (strcmp(verb, "bare") == 0)
        return run_bare(b, dir, err);
    return run_paced(b, dir, strcmp(verb, "pruned") == 0, err);
}

int main(int argc, char **argv)
{
    static bench b;
    wd_error err = {0};
    b.latencies_ns = calloc(LATENCIES, sizeof(*b.latencies_ns));
    if (argc != 5 || b.latencies_ns == NULL)
        return 2;
    wd_status status = run(&b, argv, &err);
    if (status != WD_OK)
        (void)fprintf(stderr, "bench_audit: %s\n", err.msg);
    wd_store_close(b.store);
    int code = status == WD_OK ? tell(&b) : 1;
    free(b.latencies_ns);
    return code;
}
