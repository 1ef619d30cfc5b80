#include "store/prune_keep.h"

#include <string.h>
#include <unistd.h>

#include "store/audit_cells.h"
#include "store/seal.h"
#include "store/token_trail.h"

#define KEPT_ROWS                                                                      \
    "SELECT " WD_AUDIT_COLUMNS " FROM kept CROSS JOIN audit USING (seq)"               \
    " ORDER BY kept.seq"

/* --- counted ---------------------------------------------------------------------- */

/* A row is what it was written as, and the next of those that the tombstone tells of. */
static wd_status count_row(sqlite3_stmt *stmt, const char *chain_id, wd_sha256 *sha,
                           wd_tombstone *t, wd_error *err)
{
    WD_TRY(wd_token_trail_hash(stmt, chain_id, err));
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES];
    if (!wd_cells_hashes(stmt, prev, hash))
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "a kept row has no hash");
    wd_sha256_add(sha, hash, sizeof(hash));
    t->kept++;
    return WD_OK;
}

static wd_status count_rows(sqlite3_stmt *stmt, const char *chain_id, wd_sha256 *sha,
                            wd_tombstone *t, wd_error *err)
{
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(count_row(stmt, chain_id, sha, t, err));
    }
}

wd_status wd_prune_kept(const wd_source *source, const char *chain_id, wd_tombstone *t,
                        wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    uint8_t digest[WD_SHA256_BYTES];
    wd_sha256 sha;
    wd_sha256_init(&sha);
    t->kept = 0;
    WD_TRY(wd_sql_prepare(source->db, KEPT_ROWS, &stmt, err));
    WD_TRY(count_rows(stmt, chain_id, &sha, t, err));
    wd_sha256_end(&sha, digest);
    wd_hex((wd_span){digest, sizeof(digest)}, t->kept_hash);
    return WD_OK;
}

/* --- copied ----------------------------------------------------------------------- */

static wd_status copy_row(sqlite3_stmt *from, sqlite3_stmt *row, sqlite3_stmt *keep,
                          wd_error *err)
{
    for (int i = 0; i < sqlite3_column_count(from); i++)
        (void)sqlite3_bind_value(row, i + 1, sqlite3_column_value(from, i));
    (void)sqlite3_bind_int64(keep, 1, sqlite3_column_int64(from, 0));
    WD_TRY(wd_sql_whole(from, err));
    WD_TRY(wd_sql_run(row, err));
    return wd_sql_run(keep, err);
}

static wd_status copy_rows(const wd_source *source, sqlite3 *to, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *from = NULL;
    WD_AUTO(sqlite3_stmt) *row = NULL;
    WD_AUTO(sqlite3_stmt) *keep = NULL;
    WD_TRY(wd_sql_prepare(source->db, KEPT_ROWS, &from, err));
    WD_TRY(wd_sql_prepare(
        to, "INSERT INTO audit (" WD_AUDIT_COLUMNS ") VALUES (" WD_AUDIT_PARAMETERS ")",
        &row, err));
    WD_TRY(wd_sql_prepare(to, "INSERT INTO kept VALUES (?)", &keep, err));
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(from, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(copy_row(from, row, keep, err));
    }
}

static wd_status write_meta(sqlite3 *db, const char *chain_id, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "INSERT INTO meta VALUES ('chain_id', ?1)", &stmt, err));
    wd_sql_bind_text(stmt, 1, chain_id);
    return wd_sql_run(stmt, err);
}

/* Filled, then counted as it was written, against what the segment has. */
static wd_status fill(const wd_trail_place *place, const wd_source *source, sqlite3 *db,
                      wd_tombstone *t, wd_error *err)
{
    const wd_source copy = {.db = db, .first = source->first, .last = source->last};
    wd_tombstone made = {.seq = 0};
    WD_TRY(wd_sql_exec(db, wd_seal_tables, err));
    WD_TRY(copy_rows(source, db, err));
    WD_TRY(write_meta(db, place->chain_id, err));
    WD_TRY(wd_sql_exec(db, "COMMIT; PRAGMA locking_mode = NORMAL", err));
    WD_TRY(wd_prune_kept(source, place->chain_id, t, err));
    WD_TRY(wd_prune_kept(&copy, place->chain_id, &made, err));
    if (made.kept != t->kept || strcmp(made.kept_hash, t->kept_hash) != 0)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "what is kept of rows %llu to %llu could not be copied",
                         (unsigned long long)source->first,
                         (unsigned long long)source->last);
    return WD_OK;
}

static wd_status build(const wd_trail_place *place, const wd_source *source,
                       const char *path, wd_tombstone *t, wd_error *err)
{
    WD_AUTO(sqlite3) *db = NULL;
    WD_TRY(wd_segment_file_make(place->dir, path, err));
    WD_TRY(wd_sql_open(path, SQLITE_OPEN_READWRITE, place->vfs, &db, err));
    return fill(place, source, db, t, err);
}

wd_status wd_prune_keep(const wd_trail_place *place, const wd_source *source,
                        wd_tombstone *t, wd_error *err)
{
    const wd_segment rest = {source->first, source->last, true};
    WD_AUTO(wd_text) *path = wd_segment_file(place->dir, "new.kept");
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    wd_status status = build(place, source, path, t, err);
    if (status == WD_OK)
        status = wd_segment_name(place->dir, path, &rest, err);
    if (status != WD_OK)
        (void)unlink(path);
    return status;
}
