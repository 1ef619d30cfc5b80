#include <stdio.h>
#include <string.h>

#include "store/audit.h"
#include "store/audit_cells.h"
#include "store/internal.h"

#define QUERY_SQL_BYTES 2048U
#define QUERY_ROWS      100U /* when nobody says how many */
#define GLOB_BYTES      128U

/* Filters that compare one column with one text. Parameters are numbered from 5 on. */
static const struct {
    size_t offset;
    const char *condition;
} text_filters[] = {
    {offsetof(wd_audit_filter, event), " AND event GLOB ?5"},
    {offsetof(wd_audit_filter, outcome), " AND outcome = ?6"},
    {offsetof(wd_audit_filter, principal), " AND principal = ?7"},
    {offsetof(wd_audit_filter, token_id), " AND token_id = ?8"},
    {offsetof(wd_audit_filter, method), " AND method = ?9"},
    {offsetof(wd_audit_filter, call_id), " AND call_id = ?10"},
    {offsetof(wd_audit_filter, trajectory_id), " AND trajectory_id = ?11"},
};
#define TEXT_FILTERS      (sizeof(text_filters) / sizeof(text_filters[0]))
#define FIRST_TEXT_FILTER 5

/* The filter's text, or NULL when it is not set. */
static const char *filter_text(const wd_audit_filter *filter, size_t i)
{
    const char *text = NULL;
    memcpy(&text, (const char *)filter + text_filters[i].offset, sizeof(text));
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static wd_status check(const wd_audit_filter *filter, wd_error *err)
{
    if (filter->limit > WD_AUDIT_QUERY_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u rows",
                         filter->limit, WD_AUDIT_QUERY_ROWS);
    if (filter->from_seq > INT64_MAX || filter->to_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a seq above 2^63-1");
    if (filter->since_ms < 0 || filter->until_ms < 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a time above 2^63-1 ms");
    if (filter->event != NULL && strnlen(filter->event, GLOB_BYTES + 1) > GLOB_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "event is longer than %u bytes",
                         GLOB_BYTES);
    return WD_OK;
}

static void write_conditions(const wd_audit_filter *filter, char sql[QUERY_SQL_BYTES])
{
    (void)strlcat(sql, " WHERE seq >= ?1", QUERY_SQL_BYTES);
    if (filter->to_seq != 0)
        (void)strlcat(sql, " AND seq <= ?2", QUERY_SQL_BYTES);
    if (filter->since_ms != 0)
        (void)strlcat(sql, " AND wall_ms >= ?3", QUERY_SQL_BYTES);
    if (filter->until_ms != 0)
        (void)strlcat(sql, " AND wall_ms < ?4", QUERY_SQL_BYTES);
    for (size_t i = 0; i < TEXT_FILTERS; i++) {
        if (filter_text(filter, i) != NULL)
            (void)strlcat(sql, text_filters[i].condition, QUERY_SQL_BYTES);
    }
}

/* A parameter that the statement does not have is not bound: SQLite says RANGE. */
static void bind_filter(const wd_audit_filter *filter, sqlite3_stmt *stmt)
{
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)filter->from_seq);
    (void)sqlite3_bind_int64(stmt, 2, (int64_t)filter->to_seq);
    (void)sqlite3_bind_int64(stmt, 3, filter->since_ms);
    (void)sqlite3_bind_int64(stmt, 4, filter->until_ms);
    for (size_t i = 0; i < TEXT_FILTERS; i++) {
        const char *text = filter_text(filter, i);
        if (text != NULL)
            wd_sql_bind_text(stmt, FIRST_TEXT_FILTER + (int)i, text);
    }
}

typedef struct rows {
    sqlite3_stmt *stmt;
    const char *chain_id;
    uint64_t most;
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
            *ret_next_seq = row.seq + 1;
            return WD_OK;
        }
    }
}

static uint32_t limit_of(const wd_audit_filter *filter)
{
    return filter->limit != 0 ? filter->limit : QUERY_ROWS;
}

wd_status wd_audit_query(wd_reader *reader, const wd_audit_filter *filter,
                         const wd_audit_sink *sink, uint64_t *ret_next_seq,
                         wd_error *err)
{
    WD_TRY(check(filter, err));
    char sql[QUERY_SQL_BYTES] = "SELECT " WD_AUDIT_COLUMNS " FROM audit";
    write_conditions(filter, sql);
    (void)strlcat(sql, " ORDER BY seq", sizeof(sql));

    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    bind_filter(filter, stmt);
    rows found = {stmt, reader->chain_id, limit_of(filter)};
    return give(&found, sink, ret_next_seq, err);
}

wd_status wd_audit_tail(wd_reader *reader, const wd_audit_filter *filter,
                        const wd_audit_sink *sink, wd_error *err)
{
    WD_TRY(check(filter, err));
    char sql[QUERY_SQL_BYTES] = "SELECT * FROM (SELECT " WD_AUDIT_COLUMNS " FROM audit";
    write_conditions(filter, sql);
    (void)strlcat(sql, " ORDER BY seq DESC LIMIT ?12) ORDER BY seq", sizeof(sql));

    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(reader->db, sql, &stmt, err));
    bind_filter(filter, stmt);
    (void)sqlite3_bind_int64(stmt, 12, limit_of(filter));
    rows found = {stmt, reader->chain_id, UINT64_MAX};
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
    rows found = {stmt, reader->chain_id, UINT64_MAX};
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
