#include "store/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/audit_hash.h"
#include "store/facts.h"

#define CHUNK_ROWS 4096U /* copied in one read transaction: the WAL is not held back */

/* Columns as in schema.c, without its index: the copy has its own. */
#define ROWS                                                                           \
    "  seq INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, mono_ns INTEGER NOT NULL,"   \
    "  event TEXT NOT NULL, outcome TEXT, code INTEGER NOT NULL, reason TEXT,"         \
    "  principal TEXT, token_id TEXT, peer_cert TEXT, peer_addr TEXT, method TEXT,"    \
    "  scope TEXT, trajectory_id TEXT, session_id TEXT, episode_id TEXT,"              \
    "  call_id TEXT, trace_id TEXT, duration_us INTEGER NOT NULL,"                     \
    "  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, digest TEXT,"            \
    "  detail TEXT, tool TEXT, item INTEGER NOT NULL,"                                 \
    "  prev_hash BLOB NOT NULL, hash BLOB NOT NULL,"                                   \
    "  owner TEXT, family TEXT, pool TEXT"

/* unended: begin rows without an end by then, whole. */
const char wd_seal_tables[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "PRAGMA locking_mode = EXCLUSIVE; BEGIN;"
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE audit (" ROWS ") STRICT; CREATE TABLE unended (" ROWS ") STRICT;"
    "CREATE TABLE kept (seq INTEGER PRIMARY KEY) STRICT;"
    "CREATE TABLE checkpoints (seq INTEGER PRIMARY KEY, text TEXT NOT NULL) "
    "STRICT;" WD_FACTS_TABLES;

const char wd_seal_index[] =
    "CREATE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL;";

/* What began here and did not end here, and what had not ended before, unless a start of
 * the gate has settled it since. */
static const char find_unended[] =
    "INSERT OR IGNORE INTO unended (" WD_AUDIT_COLUMNS ")"
    " SELECT " WD_AUDIT_COLUMNS " FROM audit WHERE event = 'call.begin';"
    "DELETE FROM unended WHERE seq < coalesce("
    "  (SELECT max(seq) FROM audit WHERE event = 'gate.start'), 0)"
    " OR EXISTS (SELECT 1 FROM audit AS e WHERE e.call_id = unended.call_id"
    "            AND e.event = 'call.end' AND e.item = unended.item"
    "            AND e.principal IS unended.principal AND e.seq > unended.seq)";

typedef struct building {
    const wd_seal *seal;
    sqlite3 *db; /* the new file */
    wd_facts *facts;
    wd_trail *trail;
} building;

static bool told_to_stop(const wd_seal *seal)
{
    return seal->stop != NULL && atomic_load(seal->stop);
}

/* --- copying ---------------------------------------------------------------------- */

static wd_status copy_row(const building *b, sqlite3_stmt *from, sqlite3_stmt *to,
                          wd_error *err)
{
    int n = sqlite3_column_count(from);
    for (int i = 0; i < n; i++)
        (void)sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    if (!wd_facts_count(b->facts, from))
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a segment's facts");
    return wd_sql_run(to, err);
}

/* Rows from `at` on, at most one chunk. */
static wd_status copy_chunk(const building *b, uint64_t at, sqlite3_stmt *from,
                            sqlite3_stmt *to, wd_error *err)
{
    uint64_t last = at + CHUNK_ROWS - 1;
    (void)sqlite3_reset(from);
    (void)sqlite3_bind_int64(from, 1, (int64_t)at);
    (void)sqlite3_bind_int64(from, 2,
                             (int64_t)(last < b->seal->last ? last : b->seal->last));
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(from, &more, err));
        if (!more)
            break;
        WD_TRY(copy_row(b, from, to, err));
    }
    (void)sqlite3_reset(from); /* lets the WAL be written back */
    return WD_OK;
}

static wd_status copy_rows(const building *b, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *from = NULL;
    WD_AUTO(sqlite3_stmt) *to = NULL;
    WD_TRY(wd_sql_prepare(b->seal->db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM audit"
                          " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
                          &from, err));
    WD_TRY(wd_sql_prepare(b->db,
                          "INSERT INTO audit (" WD_AUDIT_COLUMNS
                          ") VALUES (" WD_AUDIT_PARAMETERS ")",
                          &to, err));
    for (uint64_t at = b->seal->first; at <= b->seal->last; at += CHUNK_ROWS) {
        if (told_to_stop(b->seal))
            return wd_fail(err, WD_CANCELLED, "sealing was told to stop");
        WD_TRY(copy_chunk(b, at, from, to, err));
    }
    return WD_OK;
}

static wd_status copy_query(sqlite3_stmt *from, sqlite3_stmt *to, wd_error *err)
{
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(from, &more, err));
        if (!more)
            return WD_OK;
        for (int i = 0; i < sqlite3_column_count(from); i++)
            (void)sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        WD_TRY(wd_sql_run(to, err));
    }
}

/* One checkpoint in a thousand rows, and the last. */
static wd_status copy_checkpoints(const building *b, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *from = NULL;
    WD_AUTO(sqlite3_stmt) *to = NULL;
    WD_TRY(wd_sql_prepare(b->seal->db,
                          "SELECT min(seq), text FROM checkpoints"
                          " WHERE seq BETWEEN ?1 AND ?2 GROUP BY seq / 1000"
                          " UNION SELECT max(seq), text FROM checkpoints"
                          " WHERE seq BETWEEN ?1 AND ?2 HAVING max(seq) IS NOT NULL",
                          &from, err));
    WD_TRY(wd_sql_prepare(b->db, "INSERT INTO checkpoints VALUES (?, ?)", &to, err));
    (void)sqlite3_bind_int64(from, 1, (int64_t)b->seal->first);
    (void)sqlite3_bind_int64(from, 2, (int64_t)b->seal->last);
    return copy_query(from, to, err);
}

/* The newest segment's. */
static wd_status copy_unended(const building *b, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *from = NULL;
    WD_AUTO(sqlite3_stmt) *to = NULL;
    wd_source source;
    if (b->trail->segments.n == 0)
        return WD_OK;
    WD_TRY(wd_trail_source(b->trail, b->trail->segments.n - 1, &source, err));
    WD_TRY(wd_sql_prepare(source.db, "SELECT " WD_AUDIT_COLUMNS " FROM unended", &from,
                          err));
    WD_TRY(wd_sql_prepare(b->db,
                          "INSERT INTO unended (" WD_AUDIT_COLUMNS
                          ") VALUES (" WD_AUDIT_PARAMETERS ")",
                          &to, err));
    return copy_query(from, to, err);
}

/* --- verifying -------------------------------------------------------------------- */

static wd_status not_sound(const wd_seal *seal, uint64_t seq, wd_error *err)
{
    return wd_refuse(
        err, WD_REASON_CHAIN_BROKEN,
        "audit row %llu does not verify: rows %llu to %llu are not sealed; "
        "run tokctl audit verify",
        (unsigned long long)seq, (unsigned long long)seal->first,
        (unsigned long long)seal->last);
}

/* The row as the new file has it, then as the successor of *hash, which it becomes. */
static bool follows(const wd_seal *seal, sqlite3_stmt *stmt, uint64_t seq,
                    uint8_t hash[WD_AUDIT_HASH_BYTES])
{
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t own[WD_AUDIT_HASH_BYTES];
    if (sqlite3_column_int64(stmt, 0) != (int64_t)seq ||
        !wd_cells_sound(stmt, seal->place.chain_id, prev, own) ||
        memcmp(prev, hash, sizeof(prev)) != 0)
        return false;
    memcpy(hash, own, sizeof(own));
    return true;
}

static wd_status note_kept(sqlite3_stmt *keep, sqlite3_stmt *row, wd_error *err)
{
    bool kept = wd_trail_is_kept(wd_sql_text(row, 3));
    WD_TRY(wd_sql_whole(row, err));
    if (!kept)
        return WD_OK;
    (void)sqlite3_bind_int64(keep, 1, sqlite3_column_int64(row, 0));
    return wd_sql_run(keep, err);
}

static wd_status verify_rows(const building *b, uint8_t hash[WD_AUDIT_HASH_BYTES],
                             wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_AUTO(sqlite3_stmt) *keep = NULL;
    WD_TRY(wd_sql_prepare(b->db, "SELECT " WD_AUDIT_COLUMNS " FROM audit ORDER BY seq",
                          &stmt, err));
    WD_TRY(wd_sql_prepare(b->db, "INSERT INTO kept VALUES (?)", &keep, err));
    for (uint64_t seq = b->seal->first;; seq++) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more && seq == b->seal->last + 1)
            return WD_OK;
        if (!more || !follows(b->seal, stmt, seq, hash))
            return not_sound(b->seal, seq, err);
        if (!wd_facts_post(b->facts, stmt))
            return wd_refuse(err, WD_REASON_CAPACITY, "no memory for postings");
        WD_TRY(note_kept(keep, stmt, err));
    }
}

/* From the row before to the row after. */
static wd_status verify(const building *b, wd_error *err)
{
    uint8_t hash[WD_AUDIT_HASH_BYTES] = {0};
    uint8_t open[WD_AUDIT_HASH_BYTES];
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    if (b->seal->first > 1)
        WD_TRY(wd_trail_hash(b->trail, b->seal->first - 1, hash, err));
    WD_TRY(verify_rows(b, hash, err));
    WD_TRY(wd_sql_prepare(b->seal->db, "SELECT hash FROM audit WHERE seq = ?1", &stmt,
                          err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)b->seal->last);
    WD_TRY(wd_sql_next(stmt, &row, err));
    if (!row || sqlite3_column_bytes(stmt, 0) != (int)sizeof(open))
        return not_sound(b->seal, b->seal->last, err);
    memcpy(open, sqlite3_column_blob(stmt, 0), sizeof(open));
    return memcmp(open, hash, sizeof(open)) == 0
               ? WD_OK
               : not_sound(b->seal, b->seal->last, err);
}

/* --- all of it -------------------------------------------------------------------- */

static wd_status write_meta(const building *b, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(b->db,
                          "INSERT INTO meta VALUES ('chain_id', ?1),"
                          " ('min_ms', (SELECT min(min_ms) FROM blocks)),"
                          " ('max_ms', (SELECT max(max_ms) FROM blocks)),"
                          " ('rows', (SELECT count(*) FROM audit))",
                          &stmt, err));
    wd_sql_bind_text(stmt, 1, b->seal->place.chain_id);
    return wd_sql_run(stmt, err);
}

static wd_status copy(const building *b, wd_error *err)
{
    WD_TRY(wd_sql_exec(b->db, wd_seal_tables, err));
    WD_TRY(copy_rows(b, err));
    WD_TRY(copy_checkpoints(b, err));
    WD_TRY(copy_unended(b, err));
    WD_TRY(wd_sql_exec(b->db, wd_seal_index, err));
    return wd_sql_exec(b->db, find_unended, err);
}

static wd_status fill(const building *b, wd_error *err)
{
    WD_TRY(copy(b, err));
    WD_TRY(wd_facts_write(b->facts, b->db, err));
    WD_TRY(verify(b, err));
    WD_TRY(wd_facts_write_postings(b->facts, b->db, err));
    WD_TRY(write_meta(b, err));
    return wd_sql_exec(b->db, "COMMIT; PRAGMA locking_mode = NORMAL; PRAGMA optimize",
                       err);
}

static wd_status build(const wd_seal *seal, const char *path, wd_error *err)
{
    WD_AUTO(sqlite3) *db = NULL;
    WD_AUTO(wd_facts) *facts = wd_facts_new(seal->first);
    WD_AUTO_TRAIL trail = {0};
    if (facts == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a segment");
    WD_TRY(wd_trail_begin(seal->db, &seal->place, &trail, err));
    (void)sqlite3_exec(seal->db, "RELEASE trail", NULL, NULL, NULL);
    trail.begun = false; /* rows never change: no need to hold the moment */
    WD_TRY(wd_segment_file_make(seal->place.dir, path, err));
    WD_TRY(wd_sql_open(path, SQLITE_OPEN_READWRITE, seal->place.vfs, &db, err));
    const building b = {seal, db, facts, &trail};
    return fill(&b, err);
}

wd_status wd_seal_build(const wd_seal *seal, wd_error *err)
{
    const wd_segment segment = {.first = seal->first, .last = seal->last};
    WD_AUTO(wd_text) *path = wd_segment_file(seal->place.dir, "new.db");
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_TRY(wd_segment_folder(seal->place.dir, err));
    wd_status status = build(seal, path, err);
    if (status == WD_OK)
        status = wd_segment_name(seal->place.dir, path, &segment, err);
    if (status != WD_OK)
        (void)unlink(path);
    return status;
}
