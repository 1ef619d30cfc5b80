#include "store/trail.h"

#include <stdlib.h>
#include <string.h>

#include "proto/c/clock.h"
#include "proto/c/sha256.h"
#include "store/audit_cells.h"
#include "store/audit_pruned.h"
#include "store/internal.h"

#define PROGRESS_STEPS 1000 /* of SQLite's machine between two looks at the clock */

/* --- begin and end ---------------------------------------------------------------- */

/* The first read pins the moment; what is deleted from store.db is in a segment since
 * before that, so the folder is read afterwards. */
wd_status wd_trail_begin(sqlite3 *db, const wd_trail_place *place, wd_trail *ret_trail,
                         wd_error *err)
{
    wd_trail trail = {.db = db, .place = *place};
    WD_TRY(wd_sql_exec(db, "SAVEPOINT trail", err));
    trail.begun = true;
    wd_status status = wd_pruned_seq(db, &trail.pruned, err);
    if (status == WD_OK)
        status = wd_segments_find(place->dir, trail.pruned, &trail.segments, err);
    if (status == WD_OK)
        *ret_trail = trail;
    else
        wd_trail_end(&trail);
    return status;
}

static void let_segment_go(wd_trail *trail)
{
    (void)sqlite3_close_v2(trail->segment_db);
    trail->segment_db = NULL;
}

void wd_trail_end(wd_trail *trail)
{
    let_segment_go(trail);
    wd_segments_done(&trail->segments);
    if (trail->begun)
        (void)sqlite3_exec(trail->db, "RELEASE trail", NULL, NULL, NULL);
    trail->begun = false;
}

/* --- sources ---------------------------------------------------------------------- */

size_t wd_trail_count(const wd_trail *trail)
{
    return trail->segments.n + 1;
}

uint64_t wd_trail_sealed(const wd_trail *trail)
{
    uint64_t last = 0;
    for (size_t i = 0; i < trail->segments.n; i++) {
        if (trail->segments.list[i].last > last)
            last = trail->segments.list[i].last;
    }
    return last;
}

/* SQLite asks every so often: other than 0 ends the statement. */
static int is_late(void *arg)
{
    const wd_trail *trail = arg;
    int64_t deadline = *trail->place.deadline_ms;
    return deadline != 0 && wd_clock_mono_ms(wd_clock_system()) >= deadline;
}

/* A segment that was pruned since the moment of this trail has left what is kept. */
static wd_status open_segment(wd_trail *trail, wd_segment *segment, wd_error *err)
{
    wd_status status = wd_segment_open(trail->place.dir, segment, trail->place.vfs,
                                       &trail->segment_db, err);
    if (status == WD_NOT_FOUND && !segment->kept_only) {
        segment->kept_only = true;
        status = wd_segment_open(trail->place.dir, segment, trail->place.vfs,
                                 &trail->segment_db, err);
    }
    if (status == WD_OK && trail->place.deadline_ms != NULL)
        sqlite3_progress_handler(trail->segment_db, PROGRESS_STEPS, is_late, trail);
    return status == WD_NOT_FOUND ? WD_DATA_LOSS : status;
}

wd_status wd_trail_source(wd_trail *trail, size_t i, wd_source *ret_source,
                          wd_error *err)
{
    let_segment_go(trail);
    if (i == trail->segments.n) {
        *ret_source = (wd_source){
            .db = trail->db, .first = wd_trail_sealed(trail) + 1, .last = INT64_MAX};
        return WD_OK;
    }
    wd_segment *segment = &trail->segments.list[i];
    WD_TRY(open_segment(trail, segment, err));
    *ret_source =
        (wd_source){trail->segment_db, segment, segment->first, segment->last};
    return WD_OK;
}

/* --- what is asked of all of them ------------------------------------------------- */

static wd_status pruned_hash(wd_trail *trail, uint8_t ret_hash[WD_AUDIT_HASH_BYTES],
                             wd_error *err)
{
    char hex[WD_AUDIT_HASH_BYTES * 2 + 1];
    WD_TRY(wd_meta_read(trail->db, WD_META_PRUNED_HASH, hex, sizeof(hex), err));
    if (!wd_hex_parse(hex, ret_hash, WD_AUDIT_HASH_BYTES))
        return wd_fail(err, WD_DATA_LOSS, "the hash of the last pruned row is gone");
    return WD_OK;
}

static size_t source_of(const wd_trail *trail, uint64_t seq)
{
    for (size_t i = 0; i < trail->segments.n; i++) {
        if (seq >= trail->segments.list[i].first && seq <= trail->segments.list[i].last)
            return i;
    }
    return trail->segments.n;
}

wd_status wd_trail_hash(wd_trail *trail, uint64_t seq,
                        uint8_t ret_hash[WD_AUDIT_HASH_BYTES], wd_error *err)
{
    if (seq != 0 && seq == trail->pruned)
        return pruned_hash(trail, ret_hash, err);
    wd_source source;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_trail_source(trail, source_of(trail, seq), &source, err));
    WD_TRY(
        wd_sql_prepare(source.db, "SELECT hash FROM audit WHERE seq = ?1", &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)seq);
    WD_TRY(wd_sql_next(stmt, &row, err));
    if (!row || sqlite3_column_bytes(stmt, 0) != (int)WD_AUDIT_HASH_BYTES)
        return wd_fail(err, WD_NOT_FOUND, "there is no audit row %llu",
                       (unsigned long long)seq);
    memcpy(ret_hash, sqlite3_column_blob(stmt, 0), WD_AUDIT_HASH_BYTES);
    return WD_OK;
}

bool wd_trail_is_kept(const char *event)
{
    return strncmp(event, "token.", 6) == 0 || strcmp(event, "audit.prune") == 0;
}

static wd_status source_tokens(const wd_source *source, wd_trail_row *row, void *arg,
                               wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *sql = source->segment != NULL
                          ? "SELECT " WD_AUDIT_COLUMNS
                            " FROM kept CROSS JOIN audit USING (seq)"
                            " WHERE event GLOB 'token.*' ORDER BY kept.seq"
                          : "SELECT " WD_AUDIT_COLUMNS " FROM audit"
                            " WHERE seq >= ?1 AND event GLOB 'token.*' ORDER BY seq";
    WD_TRY(wd_sql_prepare(source->db, sql, &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)source->first);
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(row(arg, stmt, err));
    }
}

wd_status wd_trail_tokens(wd_trail *trail, wd_trail_row *row, void *arg, wd_error *err)
{
    for (size_t i = 0; i < wd_trail_count(trail); i++) {
        wd_source source;
        WD_TRY(wd_trail_source(trail, i, &source, err));
        WD_TRY(source_tokens(&source, row, arg, err));
    }
    return WD_OK;
}
