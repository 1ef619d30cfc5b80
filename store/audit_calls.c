/* What a start asks of the trail: which calls a crash cut off, which ids are used. */
#include <string.h>

#include "store/audit_cells.h"
#include "store/internal.h"
#include "store/trail.h"

/* Every row of a statement, until the sink has enough. */
static wd_status give(sqlite3_stmt *stmt, const char *chain_id,
                      const wd_audit_sink *sink, wd_error *err)
{
    for (;;) {
        bool more = false;
        wd_audit_row row;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        wd_audit_row_read(stmt, chain_id, &row);
        WD_TRY(wd_sql_whole(stmt, err));
        if (!sink->row(sink->arg, &row))
            return WD_OK;
    }
}

/* --- open calls ------------------------------------------------------------------- */

/* A start of the gate settles what is before it; an end is of its own principal. */
#define AFTER_START                                                                    \
    " AND b.seq > coalesce((SELECT seq FROM audit WHERE event = 'gate.start'"          \
    "                       ORDER BY seq DESC LIMIT 1), 0)"
#define NO_END                                                                         \
    " AND NOT EXISTS (SELECT 1 FROM audit AS e WHERE e.call_id = b.call_id"            \
    "                 AND e.event = 'call.end' AND e.item = b.item"                    \
    "                 AND e.principal IS b.principal AND e.seq > b.seq)"               \
    " ORDER BY b.seq"

/* Rows of the open segment: those above `sealed`, and what the newest segment left. */
static wd_status open_rows(wd_reader *reader, uint64_t sealed,
                           const wd_audit_sink *sink, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM audit AS b"
                          " WHERE event = 'call.begin' AND seq > ?1" AFTER_START NO_END,
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)sealed);
    return give(stmt, reader->chain_id, sink, err);
}

typedef struct left_over {
    wd_reader *reader;
    sqlite3_stmt *ended;
    const wd_audit_sink *sink;
    wd_error error;
    wd_status status;
} left_over;

/* A call that began in a segment: has it ended, or the gate started, in the open one? */
static bool left(void *arg, const wd_audit_row *row)
{
    left_over *l = arg;
    bool settled = false;
    (void)sqlite3_reset(l->ended);
    wd_sql_bind_text(l->ended, 1, row->call_id);
    (void)sqlite3_bind_int64(l->ended, 2, row->item);
    wd_sql_bind_text(l->ended, 3, row->principal);
    (void)sqlite3_bind_int64(l->ended, 4, (int64_t)row->seq);
    l->status = wd_sql_next(l->ended, &settled, &l->error);
    if (l->status != WD_OK)
        return false;
    return settled || l->sink->row(l->sink->arg, row);
}

/* Empty text is NULL in the table, and "" in a row that was read. */
#define ENDED                                                                          \
    "SELECT 1 FROM audit WHERE call_id = ?1 AND event = 'call.end' AND item = ?2"      \
    " AND coalesce(principal, '') = ?3 AND seq > ?4"                                   \
    " UNION ALL SELECT 1 FROM audit WHERE event = 'gate.start' AND seq > ?4 LIMIT 1"

static wd_status sealed_rows(wd_reader *reader, wd_trail *trail,
                             const wd_audit_sink *sink, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *unended = NULL;
    WD_AUTO(sqlite3_stmt) *ended = NULL;
    wd_source source;
    if (trail->segments.n == 0)
        return WD_OK;
    WD_TRY(wd_trail_source(trail, trail->segments.n - 1, &source, err));
    if (source.segment->kept_only)
        return WD_OK;
    WD_TRY(wd_sql_prepare(source.db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM unended ORDER BY seq",
                          &unended, err));
    WD_TRY(wd_sql_prepare(reader->db, ENDED, &ended, err));
    left_over l = {.reader = reader, .ended = ended, .sink = sink, .status = WD_OK};
    const wd_audit_sink each = {left, &l};
    WD_TRY(give(unended, reader->chain_id, &each, err));
    if (l.status != WD_OK && err != NULL)
        *err = l.error;
    return l.status;
}

wd_status wd_audit_open_calls(wd_reader *reader, const wd_audit_sink *sink,
                              wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_reader_trail(reader, &trail, err));
    WD_TRY(sealed_rows(reader, &trail, sink, err));
    return open_rows(reader, wd_trail_sealed(&trail), sink, err);
}

/* --- how the life before ended ------------------------------------------------------ */

static wd_status newest_of_life(sqlite3 *db, bool *ret_found, bool *ret_started,
                                wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db,
                          "SELECT event = 'gate.start' FROM audit WHERE event IN"
                          " ('gate.start', 'gate.stop') ORDER BY seq DESC LIMIT 1",
                          &stmt, err));
    WD_TRY(wd_sql_next(stmt, ret_found, err));
    if (*ret_found)
        *ret_started = sqlite3_column_int(stmt, 0) != 0;
    return WD_OK;
}

/* A stop is the last thing that a gate says: where it is not in the newest two pieces of
 * the trail, what fills them was not followed by one. */
wd_status wd_audit_crashed(wd_reader *reader, bool *ret_crashed, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    bool found = false;
    WD_TRY(wd_reader_trail(reader, &trail, err));
    const size_t n = wd_trail_count(&trail);
    *ret_crashed = n > 2;
    for (size_t i = n; i > 0 && i + 2 > n && !found; i--) {
        wd_source source;
        WD_TRY(wd_trail_source(&trail, i - 1, &source, err));
        if (source.segment == NULL || !source.segment->kept_only)
            WD_TRY(newest_of_life(source.db, &found, ret_crashed, err));
    }
    return WD_OK;
}

/* --- recent calls ----------------------------------------------------------------- */

typedef struct recent {
    const char *chain_id;
    int64_t since_ms;
    const wd_audit_sink *sink;
    bool over;
} recent;

/* The next row; r->over: it was the last that is wanted. */
static wd_status recent_row(recent *r, sqlite3_stmt *stmt, wd_error *err)
{
    wd_audit_row row;
    wd_audit_row_read(stmt, r->chain_id, &row);
    WD_TRY(wd_sql_whole(stmt, err));
    r->over = row.wall_ms < r->since_ms;
    if (!r->over && strncmp(row.event, "call.", 5) == 0)
        r->over = !r->sink->row(r->sink->arg, &row);
    return WD_OK;
}

static wd_status recent_rows(recent *r, const wd_source *source, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(source->db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM audit WHERE seq >= ?1"
                          " ORDER BY seq DESC",
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)source->first);
    while (!r->over) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(recent_row(r, stmt, err));
    }
    return WD_OK;
}

wd_status wd_audit_recent_calls(wd_reader *reader, int64_t since_ms,
                                const wd_audit_sink *sink, wd_error *err)
{
    recent r = {reader->chain_id, since_ms, sink, false};
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_reader_trail(reader, &trail, err));
    for (size_t i = wd_trail_count(&trail); i-- > 0 && !r.over;) {
        wd_source source;
        WD_TRY(wd_trail_source(&trail, i, &source, err));
        WD_TRY(recent_rows(&r, &source, err));
    }
    return WD_OK;
}
