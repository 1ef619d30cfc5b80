#include "store/derived.h"

#include <string.h>

#include "store/audit_hash.h"
#include "store/facts.h"
#include "store/seal.h"

/* One of a segment, and what it should be. */
typedef struct derived {
    const wd_source *segment;
    const char *chain_id;
    sqlite3 *made; /* anew */
    wd_facts *facts;
} derived;

static wd_status differs(const char *what, wd_error *err)
{
    return wd_fail(err, WD_DATA_LOSS, "%s is not what the rows say", what);
}

/* --- made anew -------------------------------------------------------------------- */

typedef bool take_row(wd_facts *facts, sqlite3_stmt *stmt);

static wd_status each_row(const derived *d, take_row *take, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(d->segment->db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM audit ORDER BY seq", &stmt,
                          err));
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        if (!take(d->facts, stmt))
            return wd_refuse(err, WD_REASON_CAPACITY,
                             "no memory for a segment's facts");
    }
}

static wd_status make(const derived *d, wd_error *err)
{
    WD_TRY(wd_sql_exec(d->made, wd_seal_tables, err));
    WD_TRY(each_row(d, wd_facts_count, err));
    WD_TRY(wd_facts_write(d->facts, d->made, err));
    WD_TRY(each_row(d, wd_facts_post, err));
    WD_TRY(wd_facts_write_postings(d->facts, d->made, err));
    return wd_sql_exec(d->made, wd_seal_index, err);
}

/* --- compared --------------------------------------------------------------------- */

static const struct {
    const char *what;
    const char *sql; /* as the segment has it, and as it was made anew */
} tables[] = {
    {"its schema", "SELECT name, type, tbl_name, sql FROM sqlite_schema"
                   " WHERE name NOT GLOB 'sqlite_*' ORDER BY name"},
    {"facts", "SELECT what, value, n, id, posted FROM facts ORDER BY what, value"},
    {"postings", "SELECT fact, row FROM postings ORDER BY fact, row"},
    {"wide", "SELECT what FROM wide ORDER BY what"},
    {"blocks", "SELECT first, min_ms, max_ms FROM blocks ORDER BY first"},
};

/* What selects a row is wrong. ?1: the segment's first row, ?2: the chain's id. */
#define OWN_UNENDED                                                                    \
    "SELECT seq FROM audit AS b WHERE event = 'call.begin' AND seq >= coalesce("       \
    "  (SELECT max(seq) FROM audit WHERE event = 'gate.start'), 0)"                    \
    " AND NOT EXISTS (SELECT 1 FROM audit AS e WHERE e.call_id = b.call_id"            \
    "                 AND e.event = 'call.end' AND e.item = b.item"                    \
    "                 AND e.principal IS b.principal AND e.seq > b.seq)"
#define LISTED_UNENDED "SELECT seq FROM unended WHERE seq >= ?1"
#define IS_KEPT        "SELECT seq FROM audit WHERE " WD_TRAIL_KEPT
#define LISTED_KEPT    "SELECT seq FROM kept"

static const struct {
    const char *what;
    const char *sql;
} sets[] = {
    {"unended", OWN_UNENDED " EXCEPT " LISTED_UNENDED},
    {"unended", LISTED_UNENDED " EXCEPT " OWN_UNENDED},
    {"kept", IS_KEPT " EXCEPT " LISTED_KEPT},
    {"kept", LISTED_KEPT " EXCEPT " IS_KEPT},
    {"meta", "SELECT 'chain_id', ?2"
             " UNION SELECT 'min_ms', CAST(min(min_ms) AS TEXT) FROM blocks"
             " UNION SELECT 'max_ms', CAST(max(max_ms) AS TEXT) FROM blocks"
             " UNION SELECT 'rows', CAST(count(*) AS TEXT) FROM audit"
             " EXCEPT SELECT name, value FROM meta"},
};

static bool same_cell(sqlite3_stmt *a, sqlite3_stmt *b, int at)
{
    int size = sqlite3_column_bytes(a, at);
    if (sqlite3_column_type(a, at) != sqlite3_column_type(b, at) ||
        size != sqlite3_column_bytes(b, at))
        return false;
    return size == 0 || memcmp(sqlite3_column_blob(a, at), sqlite3_column_blob(b, at),
                               (size_t)size) == 0;
}

static bool same_row(sqlite3_stmt *a, sqlite3_stmt *b)
{
    for (int i = 0; i < sqlite3_column_count(a); i++) {
        if (!same_cell(a, b, i))
            return false;
    }
    return true;
}

static wd_status compare(const derived *d, size_t table, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *has = NULL;
    WD_AUTO(sqlite3_stmt) *made = NULL;
    WD_TRY(wd_sql_prepare(d->segment->db, tables[table].sql, &has, err));
    WD_TRY(wd_sql_prepare(d->made, tables[table].sql, &made, err));
    for (;;) {
        bool more_has = false;
        bool more_made = false;
        WD_TRY(wd_sql_next(has, &more_has, err));
        WD_TRY(wd_sql_next(made, &more_made, err));
        if (!more_has && !more_made)
            return WD_OK;
        if (more_has != more_made || !same_row(has, made))
            return differs(tables[table].what, err);
    }
}

static wd_status check_set(const derived *d, size_t set, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(d->segment->db, sets[set].sql, &stmt, err));
    if (sqlite3_bind_parameter_count(stmt) >= 1)
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)d->segment->first);
    if (sqlite3_bind_parameter_count(stmt) >= 2)
        wd_sql_bind_text(stmt, 2, d->chain_id);
    WD_TRY(wd_sql_next(stmt, &row, err));
    return row ? differs(sets[set].what, err) : WD_OK;
}

/* Rows of older segments are told by their own hashes. */
static wd_status check_unended(const derived *d, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(d->segment->db, "SELECT " WD_AUDIT_COLUMNS " FROM unended",
                          &stmt, err));
    for (;;) {
        bool more = false;
        uint8_t prev[WD_AUDIT_HASH_BYTES];
        uint8_t hash[WD_AUDIT_HASH_BYTES];
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        if (!wd_cells_sound(stmt, d->chain_id, prev, hash))
            return differs("unended", err);
    }
}

wd_status wd_derived_verify(const wd_source *segment, const char *chain_id,
                            wd_error *err)
{
    WD_AUTO(sqlite3) *made = NULL;
    WD_AUTO(wd_facts) *facts = wd_facts_new(segment->first);
    if (facts == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a segment's facts");
    WD_TRY(wd_sql_open(":memory:", SQLITE_OPEN_READWRITE, NULL, &made, err));
    const derived d = {segment, chain_id, made, facts};
    WD_TRY(make(&d, err));
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        WD_TRY(compare(&d, i, err));
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        WD_TRY(check_set(&d, i, err));
    return check_unended(&d, err);
}
