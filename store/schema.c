#include "store/schema.h"

#include <stdio.h>

/* Columns of `audit` stand in the order of AuditRow in audit.proto, which is the order
 * in which they are hashed; store/audit_cells.c has the same list. The chain's id is
 * kept once, in meta. Two indexes only: each further one costs the writer dearly. */
static const char step_1[] =
    "CREATE TABLE meta ("
    "  name TEXT PRIMARY KEY, value TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE tokens ("
    "  id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT NOT NULL,"
    "  owner TEXT NOT NULL, purpose TEXT NOT NULL, audience TEXT NOT NULL,"
    "  scopes TEXT NOT NULL, bind TEXT NOT NULL, digest BLOB NOT NULL,"
    "  created_ms INTEGER NOT NULL, not_before_ms INTEGER NOT NULL,"
    "  expires_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL,"
    "  revoked_reason TEXT NOT NULL, last_used_ms INTEGER NOT NULL"
    ") STRICT;"

    "CREATE TABLE audit ("
    "  seq INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, mono_ns INTEGER NOT NULL,"
    "  event TEXT NOT NULL, outcome TEXT, code INTEGER NOT NULL, reason TEXT,"
    "  principal TEXT, token_id TEXT, peer_cert TEXT, peer_addr TEXT, method TEXT,"
    "  scope TEXT, trajectory_id TEXT, session_id TEXT, episode_id TEXT,"
    "  call_id TEXT, trace_id TEXT, duration_us INTEGER NOT NULL,"
    "  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, digest TEXT,"
    "  detail TEXT, tool TEXT, item INTEGER NOT NULL,"
    "  prev_hash BLOB NOT NULL, hash BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL;";

/* Which token it was issued with; '' for those that nobody's token made. */
static const char step_2[] = "ALTER TABLE tokens ADD COLUMN parent TEXT NOT NULL"
                             " DEFAULT '';";

/* Whose the token was, and which gate's pool: what auditors ask by. */
static const char step_3[] = "ALTER TABLE audit ADD COLUMN owner TEXT;"
                             "ALTER TABLE audit ADD COLUMN family TEXT;"
                             "ALTER TABLE audit ADD COLUMN pool TEXT;";

/* Signed heads of the chain: docs/audit.md, "Checkpoints". */
static const char step_4[] =
    "CREATE TABLE checkpoints (seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;";

/* Generations of a family, and what a token may be bound to besides. `reserved` counts in
 * the row that is called as the family. */
static const char step_5[] =
    "ALTER TABLE tokens ADD COLUMN family TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE tokens ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE tokens ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN renewable_until_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN idle_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN max_uses INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN rate_calls INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN rate_per_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN concurrency INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN retires_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN retires_old INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN wraps TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE tokens ADD COLUMN inner_ttl_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN overlap_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN unwrapped TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE tokens ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN last_peer TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE tokens ADD COLUMN last_address TEXT NOT NULL DEFAULT '';"
    "UPDATE tokens SET family = id, ttl_ms = expires_ms - not_before_ms,"
    "  renewable_until_ms = not_before_ms + 2592000000;"
    "CREATE UNIQUE INDEX tokens_family ON tokens (family, generation)"
    "  WHERE generation > 0;";

const wd_schema_step wd_schema_steps[] = {
    {"tokens and audit", step_1},
    {"the token that a token was issued with", step_2},
    {"owner, family and pool of audit rows", step_3},
    {"signed checkpoints", step_4},
    {"families, renewals, limits and wraps of tokens", step_5},
};
const size_t wd_schema_n_steps = sizeof(wd_schema_steps) / sizeof(wd_schema_steps[0]);

static wd_status refuse_version(int64_t has, size_t knows, wd_error *err)
{
    if (has == 0)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "the database is empty: what it held is gone; restore a "
                         "backup, or remove it and let `warded init` make another");
    if (has >= 0 && (uint64_t)has < knows)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "the store has schema %lld and this build knows %zu: start the "
                       "gate on it once, which leads it on",
                       (long long)has, knows);
    return wd_fail(
        err, WD_FAILED_PRECONDITION,
        "the store has schema %lld and this build knows %zu: it was written by "
        "another Warded; use that one, or a newer",
        (long long)has, knows);
}

/* A database of ours says so; an empty one says nothing yet. */
static wd_status check_ours(sqlite3 *db, int64_t version, wd_error *err)
{
    int64_t application = 0;
    int64_t tables = 0;
    WD_TRY(wd_sql_number(db, "PRAGMA application_id", &application, err));
    WD_TRY(wd_sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
    bool empty = version == 0 && tables == 0;
    if (!empty && application != WD_SCHEMA_APPLICATION_ID)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "the database was not made by Warded (application_id %lld)",
                       (long long)application);
    return WD_OK;
}

static wd_status run_step(sqlite3 *db, const wd_schema_step *step, size_t number,
                          wd_error *err)
{
    char mark[96];
    (void)snprintf(mark, sizeof(mark),
                   "PRAGMA application_id = %d; PRAGMA user_version = %zu; COMMIT",
                   WD_SCHEMA_APPLICATION_ID, number);
    WD_TRY(wd_sql_exec(db, step->sql, err));
    return wd_sql_exec(db, mark, err);
}

static wd_status take_step(sqlite3 *db, const wd_schema_step *step, size_t number,
                           wd_error *err)
{
    wd_error cause;
    WD_TRY(wd_sql_exec(db, "BEGIN IMMEDIATE", err));
    wd_status status = run_step(db, step, number, &cause);
    if (status == WD_OK)
        return WD_OK;
    if (sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return wd_fail(err, status, "schema step %zu (%s): %s", number, step->what,
                   cause.msg);
}

wd_status wd_schema_migrate(sqlite3 *db, const wd_schema_step *steps, size_t n_steps,
                            wd_error *err)
{
    int64_t version = 0;
    WD_TRY(wd_sql_number(db, "PRAGMA user_version", &version, err));
    WD_TRY(check_ours(db, version, err));
    if (version < 0 || (uint64_t)version > n_steps)
        return refuse_version(version, n_steps, err);
    WD_TRY(wd_schema_compare(db, steps, (size_t)version, err));
    for (size_t i = (size_t)version; i < n_steps; i++)
        WD_TRY(take_step(db, &steps[i], i + 1, err));
    return WD_OK;
}

wd_status wd_schema_used(sqlite3 *db, wd_error *err)
{
    int64_t version = 0;
    WD_TRY(wd_sql_number(db, "PRAGMA user_version", &version, err));
    return version != 0 ? WD_OK : refuse_version(0, wd_schema_n_steps, err);
}

wd_status wd_schema_check(sqlite3 *db, wd_error *err)
{
    int64_t version = 0;
    WD_TRY(wd_sql_number(db, "PRAGMA user_version", &version, err));
    WD_TRY(check_ours(db, version, err));
    if (version < 0 || (uint64_t)version != wd_schema_n_steps)
        return refuse_version(version, wd_schema_n_steps, err);
    return wd_schema_compare(db, wd_schema_steps, wd_schema_n_steps, err);
}
