#include "store/audit_stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/internal.h"

#define DAY_MS (24LL * 60 * 60 * 1000)

/* What is counted: its name in an answer, and the column. */
static const struct {
    const char *what;
    const char *column;
} kinds[] = {
    {"event", "event"},   {"outcome", "outcome"},     {"reason", "reason"},
    {"method", "method"}, {"principal", "principal"}, {"token", "token_id"},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

typedef struct gathering {
    const wd_stats_ask *ask;
    wd_audit_stats *stats;
    sqlite3 *tally; /* in memory: counts(what, value, n) */
    sqlite3_stmt *add;
    uint64_t recent; /* rows of the last seven days */
} gathering;

void wd_audit_stats_done(wd_audit_stats *stats)
{
    for (size_t i = 0; i < stats->n_counts; i++) {
        free(stats->counts[i].what);
        free(stats->counts[i].value);
    }
    free(stats->counts);
    free(stats->segments);
    *stats = (wd_audit_stats){0};
}

static wd_status no_memory(wd_error *err)
{
    return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the trail's figures");
}

/* --- one source ------------------------------------------------------------------- */

static uint64_t file_bytes(const char *dir, const char *name)
{
    WD_AUTO(wd_text) *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s/%s", dir, name) < 0 || stat(path, &st) != 0)
        return 0;
    return (uint64_t)st.st_size;
}

static uint64_t source_bytes(const wd_trail *trail, const wd_source *source)
{
    struct stat st;
    if (source->segment == NULL)
        return file_bytes(trail->place.dir, "store.db") +
               file_bytes(trail->place.dir, "store.db-wal");
    WD_AUTO(wd_text) *path = wd_segment_path(trail->place.dir, source->segment);
    return path != NULL && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* First and last row, their times, and how many of them are new. */
static wd_status read_extent(gathering *g, const wd_source *source,
                             wd_stats_segment *segment, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(
        source->db,
        source->segment != NULL
            ? "SELECT min(min_ms), max(max_ms), total(max_ms >= ?1) * 1024 FROM blocks"
            : "SELECT min(wall_ms), max(wall_ms), total(wall_ms >= ?1), max(seq)"
              " FROM audit WHERE seq >= ?2",
        &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, g->ask->now_ms - WD_STATS_RATE_MS);
    if (source->segment == NULL)
        (void)sqlite3_bind_int64(stmt, 2, (int64_t)source->first);
    WD_TRY(wd_sql_next(stmt, &row, err));
    segment->first = source->first;
    segment->last = source->segment != NULL ? source->last
                                            : (uint64_t)sqlite3_column_int64(stmt, 3);
    segment->first_ms = sqlite3_column_int64(stmt, 0);
    segment->last_ms = sqlite3_column_int64(stmt, 1);
    uint64_t recent = (uint64_t)sqlite3_column_double(stmt, 2);
    uint64_t rows =
        segment->last < segment->first ? 0 : segment->last - segment->first + 1;
    g->recent += recent < rows ? recent : rows; /* a block counts whole */
    g->stats->rows += rows;
    return WD_OK;
}

static wd_status tally_kind(gathering *g, const wd_source *source, size_t kind,
                            wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    char sql[160];
    const char *column = kinds[kind].column;
    (void)snprintf(sql, sizeof(sql),
                   source->segment != NULL
                       ? "SELECT value, n FROM facts WHERE what = '%s' AND value <> ''"
                       : "SELECT %s AS value, count(*) FROM audit WHERE seq >= ?1"
                         " AND value IS NOT NULL GROUP BY value",
                   column);
    WD_TRY(wd_sql_prepare(source->db, sql, &stmt, err));
    if (source->segment == NULL)
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)source->first);
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        (void)sqlite3_bind_int64(g->add, 1, (int64_t)kind);
        (void)sqlite3_bind_value(g->add, 2, sqlite3_column_value(stmt, 0));
        (void)sqlite3_bind_int64(g->add, 3, sqlite3_column_int64(stmt, 1));
        WD_TRY(wd_sql_run(g->add, err));
    }
}

static wd_status add_segment(wd_audit_stats *stats, const wd_stats_segment *one,
                             wd_error *err)
{
    wd_stats_segment *list =
        reallocarray(stats->segments, stats->n_segments + 1, sizeof(*list));
    if (list == NULL)
        return no_memory(err);
    stats->segments = list;
    list[stats->n_segments++] = *one;
    stats->bytes += one->bytes;
    return WD_OK;
}

static wd_status gather_source(gathering *g, wd_trail *trail, size_t i, wd_error *err)
{
    wd_source source;
    WD_TRY(wd_trail_source(trail, i, &source, err));
    if (source.segment != NULL && source.segment->kept_only)
        return WD_OK;
    wd_stats_segment segment = {.sealed = source.segment != NULL,
                                .bytes = source_bytes(trail, &source)};
    WD_TRY(read_extent(g, &source, &segment, err));
    WD_TRY(add_segment(g->stats, &segment, err));
    for (size_t kind = 0; kind < KINDS && segment.last_ms >= g->ask->since_ms; kind++)
        WD_TRY(tally_kind(g, &source, kind, err));
    return WD_OK;
}

/* --- all of them ------------------------------------------------------------------ */

static wd_status add_count(wd_audit_stats *stats, sqlite3_stmt *stmt, wd_error *err)
{
    wd_stats_count *list =
        reallocarray(stats->counts, stats->n_counts + 1, sizeof(*list));
    if (list == NULL)
        return no_memory(err);
    stats->counts = list;
    wd_stats_count *one = &list[stats->n_counts++];
    one->what = strdup(kinds[sqlite3_column_int64(stmt, 0)].what);
    one->value = strdup(wd_sql_text(stmt, 1));
    one->rows = (uint64_t)sqlite3_column_int64(stmt, 2);
    WD_TRY(wd_sql_whole(stmt, err));
    return one->what != NULL && one->value != NULL ? WD_OK : no_memory(err);
}

static wd_status take_counts(gathering *g, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(g->tally,
                          "SELECT what, value, n FROM (SELECT *, row_number() OVER"
                          " (PARTITION BY what ORDER BY n DESC, value) AS place"
                          "  FROM counts) WHERE place <= ?1 ORDER BY what, place",
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, WD_STATS_COUNTS);
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(add_count(g->stats, stmt, err));
    }
}

static int64_t oldest_ms(const wd_audit_stats *stats, int64_t now_ms)
{
    int64_t oldest = now_ms;
    for (size_t i = 0; i < stats->n_segments; i++) {
        int64_t first = stats->segments[i].first_ms;
        if (first != 0 && first < oldest)
            oldest = first;
    }
    return oldest;
}

/* What is exported to the same disk goes on taking its place. */
static bool same_disk(const char *dir, const char *exports)
{
    WD_AUTO(wd_text) *above = strdup(exports);
    struct stat own;
    struct stat other;
    if (above == NULL || stat(dir, &own) != 0)
        return true;
    while (stat(above, &other) != 0) { /* it is made when it is needed */
        char *slash = strrchr(above, '/');
        if (slash == NULL || slash == above)
            return true;
        *slash = '\0';
    }
    return own.st_dev == other.st_dev;
}

/* How much more the trail will take, at most, before as much goes as comes. */
static uint64_t growth(const gathering *g, const char *dir, uint64_t bytes_per_day)
{
    double most = 0x1p63;
    const double by_age =
        (double)bytes_per_day * (double)g->ask->age_ms / (double)DAY_MS;
    const uint64_t now = g->stats->bytes;
    if (g->ask->exports != NULL && same_disk(dir, g->ask->exports))
        return UINT64_MAX;
    if (g->ask->age_ms != 0)
        most = by_age;
    if (g->ask->most_bytes != 0 && (double)g->ask->most_bytes < most)
        most = (double)g->ask->most_bytes;
    if (g->ask->age_ms == 0 && g->ask->most_bytes == 0)
        return UINT64_MAX;
    return most > (double)now ? (uint64_t)(most - (double)now) : 0;
}

static void predict(const gathering *g, const char *dir)
{
    wd_audit_stats *stats = g->stats;
    int64_t span = g->ask->now_ms - oldest_ms(stats, g->ask->now_ms);
    if (span > WD_STATS_RATE_MS)
        span = WD_STATS_RATE_MS;
    if (span < WD_STATS_LEAST_MS)
        span = WD_STATS_LEAST_MS;
    double rows = (double)g->recent * (double)DAY_MS / (double)span;
    double each = stats->rows > 0 ? (double)stats->bytes / (double)stats->rows : 0;
    stats->rows_per_day = (uint64_t)rows;
    stats->bytes_per_day = (uint64_t)(rows * each);
    stats->no_end = stats->bytes_per_day == 0 ||
                    growth(g, dir, stats->bytes_per_day) <= stats->free_bytes;
    if (!stats->no_end)
        stats->days_left = stats->free_bytes / stats->bytes_per_day;
}

static wd_status read_free(const wd_trail *trail, gathering *g, wd_error *err)
{
    uint64_t bytes = 0;
    int failed = wd_place_free(&g->ask->disk, trail->place.dir, &bytes);
    if (failed != 0)
        return wd_fail(err, WD_UNAVAILABLE, "statvfs %s: %s", trail->place.dir,
                       strerrordesc_np(failed));
    uint64_t kept = g->ask->reserve_bytes;
    g->stats->free_bytes = bytes > kept ? bytes - kept : 0;
    return WD_OK;
}

static wd_status read_ends(gathering *g, const wd_trail *trail, wd_error *err)
{
    int64_t signed_seq = 0;
    WD_TRY(wd_head_read(trail->db, &g->stats->head, err));
    WD_TRY(
        wd_sql_number(trail->db, "SELECT max(seq) FROM checkpoints", &signed_seq, err));
    g->stats->checkpoint_seq = (uint64_t)signed_seq;
    return WD_OK;
}

static wd_status count_pruned(gathering *g, const wd_trail *trail, wd_error *err)
{
    int64_t tombstones = 0;
    g->stats->pruned_seq = trail->pruned;
    WD_TRY(wd_sql_number(trail->db,
                         "SELECT count(*) FROM meta WHERE name >= 'pruned:'"
                         " AND name < 'pruned;'",
                         &tombstones, err));
    g->stats->n_tombstones = (uint64_t)tombstones;
    return WD_OK;
}

static wd_status gather(gathering *g, wd_trail *trail, wd_error *err)
{
    WD_TRY(wd_sql_exec(g->tally,
                       "CREATE TABLE counts (what INTEGER, value TEXT, n INTEGER,"
                       " PRIMARY KEY (what, value)) WITHOUT ROWID",
                       err));
    WD_TRY(wd_sql_prepare(g->tally,
                          "INSERT INTO counts VALUES (?1, ?2, ?3)"
                          " ON CONFLICT DO UPDATE SET n = n + excluded.n",
                          &g->add, err));
    for (size_t i = 0; i < wd_trail_count(trail); i++)
        WD_TRY(gather_source(g, trail, i, err));
    WD_TRY(take_counts(g, err));
    WD_TRY(read_ends(g, trail, err));
    WD_TRY(read_free(trail, g, err));
    WD_TRY(count_pruned(g, trail, err));
    predict(g, trail->place.dir);
    return WD_OK;
}

wd_status wd_audit_stats_read(wd_reader *reader, const wd_stats_ask *ask,
                              wd_audit_stats *ret_stats, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_AUTO_STATS stats = {0};
    WD_AUTO(sqlite3) *tally = NULL;
    gathering g = {.ask = ask, .stats = &stats};
    WD_TRY(wd_sql_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL,
                       &tally, err));
    WD_TRY(wd_reader_trail(reader, &trail, err));
    g.tally = tally;
    wd_status status = gather(&g, &trail, err);
    (void)sqlite3_finalize(g.add);
    WD_TRY(status);
    *ret_stats = stats;
    stats = (wd_audit_stats){0};
    return WD_OK;
}
