#include <string.h>

#include "store/audit_cells.h"
#include "store/audit_filter.h"
#include "store/internal.h"

typedef struct rows {
    sqlite3_stmt *stmt;
    const char *chain_id;
    uint64_t most;
    bool down; /* from newer to older */
} rows;

/* Hands out rows until there are no more, the sink has enough, or `most` were given:
 * *ret_next_seq is then the row that would have followed. */
static wd_status give(const rows *from, const wd_audit_sink *sink,
                      uint64_t *ret_next_seq, wd_error *err)
{
    sqlite3_stmt *stmt = from->stmt;
    wd_audit_row row;
    for (uint64_t n = 0;; n++) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        *ret_next_seq = more ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
        if (!more || n == from->most)
            return WD_OK;
        wd_audit_row_read(stmt, from->chain_id, &row);
        if (!sink->row(sink->arg, &row)) {
            *ret_next_seq = from->down ? row.seq - 1 : row.seq + 1;
            return WD_OK;
        }
    }
}

wd_status wd_audit_query(wd_reader *reader, const wd_audit_filter *filter,
                         const wd_audit_sink *sink, uint64_t *ret_next_seq,
                         wd_error *err)
{
    WD_TRY(wd_filter_check(filter, err));
    char sql[WD_FILTER_SQL_BYTES] = "SELECT " WD_AUDIT_COLUMNS " FROM audit";
    wd_filter_write(filter, sql);
    (void)strlcat(sql, filter->newest_first ? " ORDER BY seq DESC" : " ORDER BY seq",
                  sizeof(sql));

    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    wd_filter_bind(filter, stmt);
    rows found = {stmt, reader->chain_id, wd_filter_limit(filter),
                  filter->newest_first};
    return give(&found, sink, ret_next_seq, err);
}

wd_status wd_audit_tail(wd_reader *reader, const wd_audit_filter *filter,
                        const wd_audit_sink *sink, wd_error *err)
{
    WD_TRY(wd_filter_check(filter, err));
    char sql[WD_FILTER_SQL_BYTES] =
        "SELECT * FROM (SELECT " WD_AUDIT_COLUMNS " FROM audit";
    wd_filter_write(filter, sql);
    (void)strlcat(sql, " ORDER BY seq DESC LIMIT ?21) ORDER BY seq", sizeof(sql));

    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    wd_filter_bind(filter, stmt);
    (void)sqlite3_bind_int64(stmt, 21, wd_filter_limit(filter));
    rows found = {stmt, reader->chain_id, UINT64_MAX, false};
    uint64_t next = 0;
    return give(&found, sink, &next, err);
}

wd_status wd_audit_read_head(wd_reader *reader, wd_head *ret_head, wd_error *err)
{
    return wd_head_read(reader->db, ret_head, err);
}

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

wd_status wd_audit_open_calls(wd_reader *reader, const wd_audit_sink *sink,
                              wd_error *err)
{
    static const char sql[] =
        "SELECT " WD_AUDIT_COLUMNS " FROM audit AS b WHERE event = 'call.begin'"
        " AND seq > coalesce((SELECT seq FROM audit WHERE event = 'gate.start'"
        "                     ORDER BY seq DESC LIMIT 1), 0)"
        " AND NOT EXISTS (SELECT 1 FROM audit AS e WHERE e.call_id = b.call_id"
        "                 AND e.event = 'call.end' AND e.item = b.item"
        "                 AND e.principal IS b.principal AND e.seq > b.seq)"
        " ORDER BY seq";
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    rows found = {stmt, reader->chain_id, UINT64_MAX, false};
    uint64_t next = 0;
    return give(&found, sink, &next, err);
}

wd_status wd_audit_recent_calls(wd_reader *reader, int64_t since_ms,
                                const wd_audit_sink *sink, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *sql = "SELECT " WD_AUDIT_COLUMNS " FROM audit ORDER BY seq DESC";
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    for (;;) {
        bool more = false;
        wd_audit_row row;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        wd_audit_row_read(stmt, reader->chain_id, &row);
        if (row.wall_ms < since_ms)
            return WD_OK;
        if (strncmp(row.event, "call.", 5) == 0 && !sink->row(sink->arg, &row))
            return WD_OK;
    }
}
