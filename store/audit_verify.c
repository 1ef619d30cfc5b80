#include "store/audit_verify.h"

#include <stdlib.h>
#include <string.h>

#include "store/audit_cells.h"
#include "store/audit_chunks.h"
#include "store/audit_heads.h"
#include "store/audit_pruned.h"
#include "store/checkpoint_file.h"
#include "store/internal.h"
#include "store/pages.h"
#include "store/token_trail.h"

#define MOST_TRIES 4 /* while segments are pruned */

/* A verification under way. */
typedef struct walk {
    wd_trail *trail;
    wd_audit_range range;   /* first and last as settled */
    wd_heads heads;         /* what witnesses and checkpoints saw; owned */
    wd_chunks chunks;       /* owned */
    wd_token_table *tokens; /* what is to be compared; owned */
    uint64_t newest;        /* row of the open segment; 0: it is empty */
    wd_audit_report report;
} walk;

static void walk_done(walk *w)
{
    wd_heads_done(&w->heads);
    wd_chunks_done(&w->chunks);
    wd_token_table_free(w->tokens);
}

static const struct {
    const char *name;
    const char *words;
} faults[] = {
    [WD_AUDIT_SOUND] = {"", "is sound"},
    [WD_AUDIT_ROW_MISSING] = {"missing", "is missing"},
    [WD_AUDIT_ROW_CHANGED] = {"changed",
                              "was changed: its content does not have its hash"},
    [WD_AUDIT_ROW_UNLINKED] = {"unlinked", "does not follow the row before it: rows "
                                           "were moved, replaced or put in"},
    [WD_AUDIT_TAIL_CUT] = {"tail_cut", "is missing and everything after it: a witness "
                                       "has seen later rows"},
    [WD_AUDIT_FORKED] = {"forked", "is not the row that a witness has seen: the chain "
                                   "was made anew before it"},
    [WD_AUDIT_TOKENS] = {"tokens", "is not what the tokens table says"},
    [WD_AUDIT_OTHER_CHAIN] = {"other_chain", "is of another chain"},
    [WD_AUDIT_CHECKPOINT_BAD] = {"checkpoint_bad",
                                 "has a checkpoint that its gate did not sign"},
    [WD_AUDIT_EXPORT_MISSING] = {"export_missing", "was pruned, and its export is gone "
                                                   "or is another file"},
    [WD_AUDIT_SEGMENT_MISSING] = {"segment_missing",
                                  "is gone with a whole segment, and "
                                  "no tombstone tells of it"},
    [WD_AUDIT_DAMAGED] = {"damaged", "is in a damaged file"},
};

const char *wd_audit_fault_name(wd_audit_fault fault)
{
    return faults[fault].name;
}

static wd_status broken(walk *w, wd_audit_fault fault, uint64_t seq, wd_error *err)
{
    w->report.fault = fault;
    w->report.bad_seq = seq;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "audit row %llu %s",
                     (unsigned long long)seq, faults[fault].words);
}

static wd_status pass_on(const wd_error *cause, wd_error *err)
{
    if (err != NULL)
        *err = *cause;
    return cause->status;
}

/* --- which rows ------------------------------------------------------------------- */

static bool is_beside(const walk *w, const wd_source *source)
{
    return (w->range.last != 0 && source->first > w->range.last) ||
           source->last < w->range.first;
}

/* What of the range is in a source. The open one has what it had at the trail's moment;
 * what is before it is about to be deleted. */
static wd_status add_source(walk *w, size_t i, uint64_t *next, wd_error *err)
{
    wd_source source;
    WD_TRY(wd_trail_source(w->trail, i, &source, err));
    bool sealed = source.segment != NULL;
    if ((sealed && source.segment->kept_only) || is_beside(w, &source))
        return WD_OK;
    if (sealed && source.first > *next)
        return broken(w, WD_AUDIT_SEGMENT_MISSING, *next, err);
    uint64_t last = sealed ? source.last : w->newest;
    wd_chunk stretch = {
        .first = *next,
        .last = w->range.last != 0 && w->range.last < last ? w->range.last : last,
        .opens = sealed || (i == 0 && *next <= 1),
        .closes = sealed,
        .heads = w->heads.list,
        .n_heads = w->heads.n,
    };
    if (*next > source.first)
        stretch.opens = false;
    if (stretch.last < last)
        stretch.closes = false;
    w->report.n_segments += sealed;
    if (stretch.last < stretch.first)
        return WD_OK;
    *next = stretch.last + 1;
    return wd_chunks_add(&w->chunks, i, &stretch, err);
}

static wd_status list_chunks(walk *w, wd_error *err)
{
    uint64_t next =
        w->range.first <= w->trail->pruned ? w->trail->pruned + 1 : w->range.first;
    if (next == 0)
        next = 1;
    w->report.head.seq = next - 1;
    for (size_t i = 0; i < wd_trail_count(w->trail); i++)
        WD_TRY(add_source(w, i, &next, err));
    return WD_OK;
}

/* --- the ends of the chunks ------------------------------------------------------- */

/* The hash before the first row, where that row is there; else what the first row says. */
static wd_status anchor(walk *w, bool *ret_known, wd_error *err)
{
    uint64_t before = w->report.head.seq;
    wd_error cause;
    *ret_known = true;
    if (before == 0)
        return WD_OK; /* 32 zero bytes */
    wd_status status = wd_trail_hash(w->trail, before, w->report.head.hash, &cause);
    *ret_known = status == WD_OK;
    return status == WD_OK || status == WD_NOT_FOUND ? WD_OK : pass_on(&cause, err);
}

static wd_status join(walk *w, wd_error *err)
{
    bool known = false;
    wd_head *head = &w->report.head;
    WD_TRY(anchor(w, &known, err));
    for (size_t i = 0; i < w->chunks.n; i++) {
        const wd_chunk *chunk = &w->chunks.list[i];
        bool linked = !known || chunk->rows == 0 ||
                      memcmp(chunk->prev, head->hash, sizeof(head->hash)) == 0;
        if (!linked)
            return broken(w, WD_AUDIT_ROW_UNLINKED, chunk->first, err);
        known = true;
        w->report.rows += chunk->rows;
        if (chunk->rows > 0) {
            head->seq = chunk->first + chunk->rows - 1;
            memcpy(head->hash, chunk->hash, sizeof(head->hash));
        }
        if (chunk->fault != WD_AUDIT_SOUND)
            return broken(w, chunk->fault, chunk->bad_seq, err);
    }
    return WD_OK;
}

/* A range that was asked for must be there; the newest rows, if someone saw them. */
static wd_status check_end(walk *w, wd_error *err)
{
    uint64_t end = w->chunks.n > 0 || w->newest > w->report.head.seq
                       ? w->report.head.seq
                       : w->newest; /* the range begins after it */
    if (w->range.last != 0 && end < w->range.last)
        return broken(w, WD_AUDIT_ROW_MISSING, end + 1, err);
    if (w->range.last == 0 && w->heads.n > 0 &&
        w->heads.list[w->heads.n - 1].head.seq > end)
        return broken(w, WD_AUDIT_TAIL_CUT, end + 1, err);
    wd_heads_count(&w->heads, w->trail->pruned, &w->range, &w->report);
    return WD_OK;
}

/* --- what was seen elsewhere ------------------------------------------------------ */

static wd_status take_heads(walk *w, wd_error *err)
{
    wd_audit_fault fault = WD_AUDIT_SOUND;
    wd_status status = wd_heads_take(&w->heads, w->trail, &w->range, &fault, err);
    if (fault != WD_AUDIT_SOUND)
        w->report.fault = fault;
    return status;
}

static wd_status verify(walk *w, wd_error *err)
{
    int64_t newest = 0;
    if (w->range.first > INT64_MAX || w->range.last > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a seq above 2^63-1");
    WD_TRY(wd_sql_number(w->trail->db, "SELECT max(seq) FROM audit", &newest, err));
    w->newest = newest < 0 ? 0 : (uint64_t)newest;
    WD_TRY(take_heads(w, err));
    WD_TRY(list_chunks(w, err));
    WD_TRY(wd_chunks_run(&w->chunks, w->trail, w->range.threads, err));
    WD_TRY(join(w, err));
    WD_TRY(check_end(w, err));
    return wd_heads_check(&w->heads, w->trail, w->range.checker, &w->report, err);
}

/* --- tokens ----------------------------------------------------------------------- */

/* Rows of pruned segments are in no chunk: each is checked by itself. */
static wd_status check_token_row(void *arg, sqlite3_stmt *stmt, wd_error *err)
{
    walk *w = arg;
    wd_audit_row row;
    wd_audit_row_read(stmt, w->trail->place.chain_id, &row);
    WD_TRY(wd_sql_whole(stmt, err));
    if (!wd_token_trail_wants(row.event))
        return WD_OK;
    if (row.seq <= w->trail->pruned &&
        wd_token_trail_hash(stmt, w->trail->place.chain_id, NULL) != WD_OK)
        return broken(w, WD_AUDIT_ROW_CHANGED, row.seq, err);
    wd_status status = wd_token_trail_row(w->tokens, &row, err);
    if (status == WD_DATA_LOSS) {
        w->report.fault = WD_AUDIT_TOKENS;
        w->report.bad_seq = row.seq;
    }
    return status;
}

static wd_status check_tokens(walk *w, wd_error *err)
{
    uint64_t seq = 0;
    WD_TRY(wd_token_table_new(&w->tokens, err));
    WD_TRY(wd_tokens_load(w->trail->db, w->tokens, err));
    WD_TRY(wd_trail_tokens(w->trail, check_token_row, w, err));
    wd_status status = wd_token_trail_end(w->tokens, &seq, err);
    if (status == WD_DATA_LOSS) {
        w->report.fault = WD_AUDIT_TOKENS;
        w->report.bad_seq = seq;
    } else if (status == WD_OK) {
        w->report.n_tokens = wd_token_table_count(w->tokens);
    }
    return status;
}

/* --- all of it -------------------------------------------------------------------- */

wd_status wd_chain_verify(wd_trail *trail, const wd_audit_range *range,
                          wd_audit_report *ret_report, wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.trail = trail, .range = *range};
    wd_status status = verify(&w, err);
    *ret_report = w.report;
    return status;
}

/* Tokens, tombstones and rows as of one moment: a gate may be writing all of them. */
static wd_status verify_all(wd_trail *trail, const wd_audit_range *range, bool whole,
                            wd_audit_report *ret_report, wd_error *err)
{
    __attribute__((cleanup(walk_done))) walk w = {.trail = trail, .range = *range};
    wd_status status = verify(&w, err);
    if (status == WD_OK && whole)
        status = check_tokens(&w, err);
    if (status == WD_OK)
        status = wd_pruned_verify(trail, &w.range, &w.heads, &w.report, err);
    *ret_report = w.report;
    return status;
}

/* *ret_pruned: how far the trail was pruned that was verified. */
static wd_status verify_once(wd_reader *reader, const wd_audit_range *range,
                             uint64_t *ret_pruned, wd_audit_report *ret_report,
                             wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    char newest[WD_CHECKPOINT_BYTES];
    bool whole = range->first <= 1 && range->last == 0 && range->checkpoint == NULL;
    *ret_report = (wd_audit_report){0};
    wd_status status =
        whole ? wd_checkpoint_file_read(reader->dir, newest, err) : WD_OK;
    if (status == WD_DATA_LOSS)
        ret_report->fault = WD_AUDIT_CHECKPOINT_BAD;
    if (status != WD_OK)
        return status;
    WD_TRY(wd_reader_trail(reader, &trail, err));
    *ret_pruned = trail.pruned;
    WD_TRY(
        wd_pages_judge(verify_all(&trail, range, whole, ret_report, err), ret_report));
    if (!whole)
        return WD_OK;
    WD_TRY(wd_checkpoint_file_check(newest, &trail, ret_report, err));
    return wd_pages_verify(&trail, ret_report, err);
}

/* A segment that is pruned meanwhile is no fault: what is there now is verified. */
wd_status wd_audit_verify(wd_reader *reader, const wd_audit_range *range,
                          wd_audit_report *ret_report, wd_error *err)
{
    for (int left = MOST_TRIES;; left--) {
        wd_error cause;
        uint64_t before = 0;
        uint64_t now = 0;
        wd_status status = verify_once(reader, range, &before, ret_report, &cause);
        if (status == WD_OK)
            return WD_OK;
        bool again =
            left > 1 && wd_pruned_seq(reader->db, &now, NULL) == WD_OK && now != before;
        if (!again)
            return pass_on(&cause, err);
    }
}
