#include <stdlib.h>
#include <string.h>

#include "store/audit_cells.h"
#include "store/audit_filter.h"
#include "store/audit_plan.h"
#include "store/internal.h"
#include "store/trail.h"

/* A question on its way from source to source. */
typedef struct asking {
    const wd_audit_filter *filter;
    const wd_audit_sink *sink;
    const char *chain_id;
    uint64_t most;
    uint64_t n;    /* given so far */
    uint64_t next; /* 0: not known to be more */
    bool over;
} asking;

/* Hands out rows until there are no more, the sink has enough, or `most` were given:
 * next is then the row that would have followed. */
static wd_status give(asking *a, sqlite3_stmt *stmt, wd_error *err)
{
    wd_audit_row row;
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        a->next = (uint64_t)sqlite3_column_int64(stmt, 0);
        a->over = a->n == a->most;
        if (a->over)
            return WD_OK;
        wd_audit_row_read(stmt, a->chain_id, &row);
        WD_TRY(wd_sql_whole(stmt, err));
        a->n++;
        a->over = !a->sink->row(a->sink->arg, &row);
        if (a->over) {
            a->next = a->filter->newest_first ? row.seq - 1 : row.seq + 1;
            return WD_OK;
        }
        a->next = 0;
    }
}

/* The filter within a source. false: they have no row in common. */
static bool clamp(const wd_source *source, wd_audit_filter *filter)
{
    uint64_t *low = filter->newest_first ? &filter->to_seq : &filter->from_seq;
    uint64_t *high = filter->newest_first ? &filter->from_seq : &filter->to_seq;
    if (*high == 0 || *high > source->last)
        *high = source->last;
    if (*low < source->first)
        *low = source->first;
    return *low <= *high;
}

static wd_status run(asking *a, const wd_source *source, const wd_audit_filter *filter,
                     const wd_plan *plan, wd_error *err)
{
    const char *row = plan->posted ? "row" : "seq";
    char sql[WD_FILTER_SQL_BYTES] = "SELECT " WD_AUDIT_COLUMNS " FROM ";
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_filter_add(sql,
                  plan->posted ? "postings CROSS JOIN audit ON seq = row" : "audit");
    wd_filter_write(filter, row, sql);
    if (plan->posted) {
        wd_filter_add(sql, " AND fact IN (SELECT id FROM facts WHERE ");
        wd_filter_add(sql, plan->facts);
        wd_filter_add(sql, ")");
    }
    wd_filter_add(sql, " ORDER BY ");
    wd_filter_add(sql, row);
    wd_filter_add(sql, filter->newest_first ? " DESC" : "");
    WD_TRY(wd_sql_prepare(source->db, sql, &stmt, err));
    wd_filter_bind(filter, stmt);
    return give(a, stmt, err);
}

static wd_status ask(asking *a, const wd_source *source, wd_error *err)
{
    wd_audit_filter filter = *a->filter;
    wd_plan plan = {0};
    if (!clamp(source, &filter))
        return WD_OK;
    if (source->segment != NULL && !source->segment->kept_only)
        WD_TRY(wd_plan_make(source, &filter, &plan, err));
    return plan.nothing ? WD_OK : run(a, source, &filter, &plan, err);
}

static wd_status ask_all(asking *a, wd_trail *trail, wd_error *err)
{
    size_t n = wd_trail_count(trail);
    for (size_t i = 0; i < n && !a->over; i++) {
        wd_source source;
        size_t at = a->filter->newest_first ? n - 1 - i : i;
        WD_TRY(wd_trail_source(trail, at, &source, err));
        WD_TRY(ask(a, &source, err));
    }
    return WD_OK;
}

wd_status wd_audit_query(wd_reader *reader, const wd_audit_filter *filter,
                         const wd_audit_sink *sink, uint64_t *ret_next_seq,
                         wd_error *err)
{
    asking a = {.filter = filter,
                .sink = sink,
                .chain_id = reader->chain_id,
                .most = wd_filter_limit(filter)};
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_filter_check(filter, err));
    WD_TRY(wd_reader_trail(reader, &trail, err));
    WD_TRY(ask_all(&a, &trail, err));
    *ret_next_seq = a.next;
    return WD_OK;
}

/* --- the newest ------------------------------------------------------------------- */

/* Seqs of the newest rows that pass, newest first. */
typedef struct newest {
    uint64_t seqs[WD_AUDIT_QUERY_ROWS];
    size_t n;
} newest;

static bool note_seq(void *arg, const wd_audit_row *row)
{
    newest *found = arg;
    found->seqs[found->n++] = row->seq;
    return true;
}

wd_status wd_audit_tail(wd_reader *reader, const wd_audit_filter *filter,
                        const wd_audit_sink *sink, wd_error *err)
{
    wd_audit_filter down = *filter;
    wd_audit_filter up = *filter;
    newest found = {.n = 0};
    const wd_audit_sink notes = {note_seq, &found};
    uint64_t next = 0;
    down.newest_first = true;
    down.from_seq = filter->to_seq;
    down.to_seq = filter->from_seq;
    WD_TRY(wd_audit_query(reader, &down, &notes, &next, err));
    if (found.n == 0)
        return WD_OK;
    up.from_seq = found.seqs[found.n - 1];
    up.to_seq = found.seqs[0];
    return wd_audit_query(reader, &up, sink, &next, err);
}

/* --- the head --------------------------------------------------------------------- */

wd_status wd_audit_read_head(wd_reader *reader, wd_head *ret_head, wd_error *err)
{
    return wd_head_read(reader->db, ret_head, err);
}

/* At least the newest row is in the open segment. */
wd_status wd_head_read(sqlite3 *db, wd_head *ret_head, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *sql =
        "SELECT " WD_AUDIT_COLUMNS " FROM audit ORDER BY seq DESC LIMIT 1";
    WD_TRY(wd_sql_prepare(db, sql, &stmt, err));
    bool row = false;
    WD_TRY(wd_sql_next(stmt, &row, err));
    wd_head head = {0};
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    if (row) {
        head.seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        if (!wd_cells_hashes(stmt, prev, head.hash))
            return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "audit row %llu has no hash",
                             (unsigned long long)head.seq);
    }
    *ret_head = head;
    return WD_OK;
}
