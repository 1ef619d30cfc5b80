#include "store/audit_verify.h"

#include <stdlib.h>
#include <string.h>

#include "store/audit_cells.h"
#include "store/internal.h"
#include "store/token_trail.h"

#define EVENT_COLUMN 3 /* in WD_AUDIT_COLUMNS, counted from 0 */

/* A walk along the chain. */
typedef struct walk {
    const char *chain_id;
    wd_head *heads; /* what witnesses saw, by seq; owned */
    size_t n_heads;
    size_t next_head;       /* the first that has not been passed */
    wd_token_table *tokens; /* what is to be compared; NULL: none; owned */
    wd_audit_report report;
} walk;

static void walk_done(walk *w)
{
    free(w->heads);
    wd_token_table_free(w->tokens);
}

static int by_seq(const void *a, const void *b)
{
    uint64_t left = ((const wd_head *)a)->seq;
    uint64_t right = ((const wd_head *)b)->seq;
    return (left > right) - (left < right);
}

static wd_status take_heads(walk *w, const wd_audit_range *range, wd_error *err)
{
    if (range->n_witnessed == 0)
        return WD_OK;
    w->heads = calloc(range->n_witnessed, sizeof(wd_head));
    if (w->heads == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for %zu heads",
                       range->n_witnessed);
    memcpy(w->heads, range->witnessed, range->n_witnessed * sizeof(wd_head));
    qsort(w->heads, range->n_witnessed, sizeof(wd_head), by_seq);
    w->n_heads = range->n_witnessed;
    return WD_OK;
}

static const char *fault_text(wd_audit_fault fault)
{
    switch (fault) {
    case WD_AUDIT_SOUND:
        return "is sound";
    case WD_AUDIT_ROW_MISSING:
        return "is missing";
    case WD_AUDIT_ROW_CHANGED:
        return "was changed: its content does not have its hash";
    case WD_AUDIT_ROW_UNLINKED:
        return "does not follow the row before it: rows were moved, replaced or put in";
    case WD_AUDIT_TAIL_CUT:
        return "is missing and everything after it: a witness has seen later rows";
    case WD_AUDIT_FORKED:
        return "is not the row that a witness has seen: the chain was made anew before "
               "it";
    case WD_AUDIT_TOKENS:
        return "is not what the tokens table says";
    }
    return "is in an unknown state";
}

static wd_status broken(walk *w, wd_audit_fault fault, uint64_t seq, wd_error *err)
{
    w->report.fault = fault;
    w->report.bad_seq = seq;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "audit row %llu %s",
                     (unsigned long long)seq, fault_text(fault));
}

/* The row by itself, then as the successor of the one before it. */
static wd_status check_row(walk *w, sqlite3_stmt *stmt, uint64_t expected,
                           wd_error *err)
{
    wd_cell cells[WD_AUDIT_CELLS];
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t stored[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES];
    int64_t seq = sqlite3_column_int64(stmt, 0);
    if (seq < (int64_t)expected)
        return broken(w, WD_AUDIT_ROW_UNLINKED, (uint64_t)seq, err);
    if (seq > (int64_t)expected)
        return broken(w, WD_AUDIT_ROW_MISSING, expected, err);
    if (!wd_cells_hashes(stmt, prev, stored))
        return broken(w, WD_AUDIT_ROW_CHANGED, expected, err);
    wd_cells_of_stmt(stmt, w->chain_id, cells);
    wd_cells_hash(cells, prev, hash);
    if (memcmp(hash, stored, sizeof(hash)) != 0)
        return broken(w, WD_AUDIT_ROW_CHANGED, expected, err);
    if (memcmp(prev, w->report.head.hash, sizeof(prev)) != 0)
        return broken(w, WD_AUDIT_ROW_UNLINKED, expected, err);
    w->report.head.seq = expected;
    memcpy(w->report.head.hash, hash, sizeof(hash));
    w->report.rows++;
    return WD_OK;
}

/* The heads that witnesses saw of the row just checked. */
static wd_status check_heads(walk *w, wd_error *err)
{
    const wd_head *row = &w->report.head;
    for (; w->next_head < w->n_heads; w->next_head++) {
        const wd_head *head = &w->heads[w->next_head];
        if (head->seq > row->seq)
            return WD_OK;
        if (head->seq < row->seq)
            continue; /* before the range */
        if (memcmp(head->hash, row->hash, sizeof(row->hash)) != 0)
            return broken(w, WD_AUDIT_FORKED, row->seq, err);
        w->report.n_witnessed++;
    }
    return WD_OK;
}

/* What the row just checked says of a token. */
static wd_status check_tokens(walk *w, sqlite3_stmt *stmt, wd_error *err)
{
    wd_audit_row row;
    if (w->tokens == NULL || !wd_token_trail_wants(wd_sql_text(stmt, EVENT_COLUMN)))
        return WD_OK;
    wd_audit_row_read(stmt, w->chain_id, &row);
    wd_status status = wd_token_trail_row(w->tokens, &row, err);
    if (status == WD_DATA_LOSS) {
        w->report.fault = WD_AUDIT_TOKENS;
        w->report.bad_seq = row.seq;
    }
    return status;
}

static wd_status check_all_tokens(walk *w, wd_error *err)
{
    uint64_t seq = 0;
    if (w->tokens == NULL)
        return WD_OK;
    wd_status status = wd_token_trail_end(w->tokens, &seq, err);
    if (status != WD_OK) {
        w->report.fault = WD_AUDIT_TOKENS;
        w->report.bad_seq = seq;
    } else {
        w->report.n_tokens = wd_token_table_count(w->tokens);
    }
    return status;
}

/* Where the walk starts: the row before the range, whose hash is taken as it is. Where
 * that row is gone, the first row's own prev_hash. */
static wd_status start_at(walk *w, sqlite3 *db, uint64_t first, wd_error *err)
{
    if (first <= 1)
        return WD_OK;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *sql =
        "SELECT CASE WHEN seq < ?1 THEN hash ELSE prev_hash END FROM audit"
        " WHERE seq BETWEEN ?1 - 1 AND ?1 ORDER BY seq LIMIT 1";
    WD_TRY(wd_sql_prepare(db, sql, &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)first);
    bool row = false;
    WD_TRY(wd_sql_next(stmt, &row, err));
    w->report.head.seq = first - 1;
    if (row && sqlite3_column_bytes(stmt, 0) == WD_AUDIT_HASH_BYTES)
        memcpy(w->report.head.hash, sqlite3_column_blob(stmt, 0), WD_AUDIT_HASH_BYTES);
    return WD_OK;
}

/* A range that was asked for must be there; the newest rows, if someone saw them. */
static wd_status check_end(walk *w, uint64_t last, wd_error *err)
{
    uint64_t end = w->report.head.seq;
    if (last != 0 && end < last)
        return broken(w, WD_AUDIT_ROW_MISSING, end + 1, err);
    bool seen_later = w->next_head < w->n_heads && w->heads[w->n_heads - 1].seq > end;
    if (last == 0 && seen_later)
        return broken(w, WD_AUDIT_TAIL_CUT, end + 1, err);
    return WD_OK;
}

static wd_status walk_rows(walk *w, sqlite3 *db, const wd_audit_range *range,
                           wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *sql = "SELECT " WD_AUDIT_COLUMNS " FROM audit"
                      " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq";
    WD_TRY(wd_sql_prepare(db, sql, &stmt, err));
    int64_t first = range->first <= 1 ? INT64_MIN : (int64_t)range->first;
    int64_t last = range->last == 0 ? INT64_MAX : (int64_t)range->last;
    (void)sqlite3_bind_int64(stmt, 1, first);
    (void)sqlite3_bind_int64(stmt, 2, last);
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            break;
        WD_TRY(check_row(w, stmt, w->report.head.seq + 1, err));
        WD_TRY(check_heads(w, err));
        WD_TRY(check_tokens(w, stmt, err));
    }
    WD_TRY(check_end(w, range->last, err));
    return check_all_tokens(w, err);
}

static wd_status load_tokens(walk *w, sqlite3 *db, wd_error *err)
{
    WD_TRY(wd_token_table_new(&w->tokens, err));
    return wd_tokens_load(db, w->tokens, err);
}

static wd_status verify(walk *w, sqlite3 *db, const wd_audit_range *range,
                        wd_error *err)
{
    if (range->first > INT64_MAX || range->last > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a seq above 2^63-1");
    WD_TRY(take_heads(w, range, err));
    WD_TRY(start_at(w, db, range->first, err));
    return walk_rows(w, db, range, err);
}

wd_status wd_chain_verify(sqlite3 *db, const char *chain_id,
                          const wd_audit_range *range, wd_audit_report *ret_report,
                          wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.chain_id = chain_id};
    wd_status status = verify(&w, db, range, err);
    *ret_report = w.report;
    return status;
}

/* Tokens and rows as of one moment: a gate may be writing both. */
static wd_status verify_with_tokens(wd_reader *reader, const wd_audit_range *range,
                                    wd_audit_report *ret_report, wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.chain_id = reader->chain_id};
    wd_status status = load_tokens(&w, reader->db, err);
    if (status == WD_OK)
        status = verify(&w, reader->db, range, err);
    *ret_report = w.report;
    return status;
}

wd_status wd_audit_verify(wd_reader *reader, const wd_audit_range *range,
                          wd_audit_report *ret_report, wd_error *err)
{
    *ret_report = (wd_audit_report){0};
    if (range->first > 1 || range->last != 0)
        return wd_chain_verify(reader->db, reader->chain_id, range, ret_report, err);
    WD_TRY(wd_sql_exec(reader->db, "BEGIN", err));
    wd_status status = verify_with_tokens(reader, range, ret_report, err);
    (void)sqlite3_exec(reader->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
