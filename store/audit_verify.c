#include "store/audit_verify.h"

#include <stdlib.h>
#include <string.h>

#include "store/audit_cells.h"
#include "store/internal.h"
#include "store/token_trail.h"

#define EVENT_COLUMN 3 /* in WD_AUDIT_COLUMNS, counted from 0 */

/* A walk along the chain. */
typedef struct walk {
    wd_trail *trail;
    wd_head *heads; /* what witnesses saw, by seq; owned */
    size_t n_heads;
    size_t next_head;       /* the first that has not been passed */
    wd_token_table *tokens; /* what is to be compared; NULL: none; owned */
    bool unanchored;        /* the row before the first is not known */
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

static wd_status pass_on(const wd_error *cause, wd_error *err)
{
    if (err != NULL)
        *err = *cause;
    return cause->status;
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
    case WD_AUDIT_SEGMENT_MISSING:
        return "is gone with a whole segment, and no tombstone tells of it";
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
    wd_cells_of_stmt(stmt, w->trail->place.chain_id, cells);
    wd_cells_hash(cells, prev, hash);
    if (memcmp(hash, stored, sizeof(hash)) != 0)
        return broken(w, WD_AUDIT_ROW_CHANGED, expected, err);
    if (!w->unanchored && memcmp(prev, w->report.head.hash, sizeof(prev)) != 0)
        return broken(w, WD_AUDIT_ROW_UNLINKED, expected, err);
    w->unanchored = false;
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
    wd_audit_row_read(stmt, w->trail->place.chain_id, &row);
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

/* Where the walk starts: after what was pruned, or the row before the range, whose hash
 * is taken as it is. Where that row is gone, the first row's own prev_hash is. */
static wd_status start_at(walk *w, uint64_t first, wd_error *err)
{
    uint64_t before = first <= 1 ? 0 : first - 1;
    wd_error cause;
    if (before < w->trail->pruned)
        before = w->trail->pruned;
    if (before == 0)
        return WD_OK;
    w->report.head.seq = before;
    wd_status status = wd_trail_hash(w->trail, before, w->report.head.hash, &cause);
    w->unanchored = status == WD_NOT_FOUND;
    return status == WD_OK || w->unanchored ? WD_OK : pass_on(&cause, err);
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

/* Of a pruned segment: each row by itself, for the tokens. */
static wd_status check_kept(walk *w, sqlite3_stmt *stmt, wd_error *err)
{
    wd_cell cells[WD_AUDIT_CELLS];
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t stored[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES];
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    if (!wd_cells_hashes(stmt, prev, stored))
        return broken(w, WD_AUDIT_ROW_CHANGED, seq, err);
    wd_cells_of_stmt(stmt, w->trail->place.chain_id, cells);
    wd_cells_hash(cells, prev, hash);
    if (memcmp(hash, stored, sizeof(hash)) != 0)
        return broken(w, WD_AUDIT_ROW_CHANGED, seq, err);
    return check_tokens(w, stmt, err);
}

static wd_status check_next(walk *w, sqlite3_stmt *stmt, wd_error *err)
{
    WD_TRY(check_row(w, stmt, w->report.head.seq + 1, err));
    WD_TRY(check_heads(w, err));
    return check_tokens(w, stmt, err);
}

/* The rows of the range that a source must have: a segment none but its own. */
static void bind_range(const wd_source *source, const wd_audit_range *range,
                       sqlite3_stmt *stmt)
{
    int64_t first = range->first <= 1 ? INT64_MIN : (int64_t)range->first;
    int64_t last = range->last == 0 ? INT64_MAX : (int64_t)range->last;
    if (source->segment == NULL && source->first > 1 && first < (int64_t)source->first)
        first = (int64_t)source->first; /* those before it are about to be deleted */
    (void)sqlite3_bind_int64(stmt, 1, first);
    (void)sqlite3_bind_int64(stmt, 2, last);
}

static bool is_beside(const wd_source *source, const wd_audit_range *range)
{
    return (range->last != 0 && source->first > range->last) ||
           source->last < range->first;
}

static wd_status walk_source(walk *w, const wd_source *source,
                             const wd_audit_range *range, wd_error *err)
{
    bool kept_only = source->segment != NULL && source->segment->kept_only;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    if (is_beside(source, range))
        return WD_OK;
    if (!kept_only && source->segment != NULL && source->first > w->report.head.seq + 1)
        return broken(w, WD_AUDIT_SEGMENT_MISSING, w->report.head.seq + 1, err);
    w->report.n_segments += source->segment != NULL && !kept_only;
    const char *sql = "SELECT " WD_AUDIT_COLUMNS " FROM audit"
                      " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq";
    WD_TRY(wd_sql_prepare(source->db, sql, &stmt, err));
    bind_range(source, range, stmt);
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return WD_OK;
        WD_TRY(kept_only ? check_kept(w, stmt, err) : check_next(w, stmt, err));
    }
}

static wd_status walk_rows(walk *w, const wd_audit_range *range, wd_error *err)
{
    for (size_t i = 0; i < wd_trail_count(w->trail); i++) {
        wd_source source;
        WD_TRY(wd_trail_source(w->trail, i, &source, err));
        WD_TRY(walk_source(w, &source, range, err));
    }
    WD_TRY(check_end(w, range->last, err));
    return check_all_tokens(w, err);
}

static wd_status load_tokens(walk *w, sqlite3 *db, wd_error *err)
{
    WD_TRY(wd_token_table_new(&w->tokens, err));
    return wd_tokens_load(db, w->tokens, err);
}

static wd_status verify(walk *w, const wd_audit_range *range, wd_error *err)
{
    if (range->first > INT64_MAX || range->last > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a seq above 2^63-1");
    WD_TRY(take_heads(w, range, err));
    WD_TRY(start_at(w, range->first, err));
    return walk_rows(w, range, err);
}

wd_status wd_chain_verify(wd_trail *trail, const wd_audit_range *range,
                          wd_audit_report *ret_report, wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.trail = trail};
    wd_status status = verify(&w, range, err);
    *ret_report = w.report;
    return status;
}

/* Tokens and rows as of one moment: a gate may be writing both. */
static wd_status verify_with_tokens(wd_trail *trail, const wd_audit_range *range,
                                    wd_audit_report *ret_report, wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.trail = trail};
    wd_status status = load_tokens(&w, trail->db, err);
    if (status == WD_OK)
        status = verify(&w, range, err);
    *ret_report = w.report;
    return status;
}

wd_status wd_audit_verify(wd_reader *reader, const wd_audit_range *range,
                          wd_audit_report *ret_report, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    *ret_report = (wd_audit_report){0};
    WD_TRY(wd_reader_trail(reader, &trail, err));
    if (range->first > 1 || range->last != 0)
        return wd_chain_verify(&trail, range, ret_report, err);
    return verify_with_tokens(&trail, range, ret_report, err);
}
