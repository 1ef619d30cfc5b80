#include "store/audit_pruned.h"

#include <stdlib.h>
#include <string.h>

#include "store/audit_cells.h"
#include "store/internal.h"
#include "store/prune_export.h"
#include "store/prune_keep.h"
#include "store/token_trail.h"

/* A comparison under way. */
typedef struct looking {
    wd_trail *trail;
    const wd_audit_range *range;
    const wd_heads *heads;
    wd_audit_report *report;
    wd_tombstones all; /* as meta says */
    size_t n_told;     /* of them with their row in the chain */
    size_t n_kept;     /* with what is kept of them */
} looking;

wd_status wd_pruned_seq(sqlite3 *db, uint64_t *ret_seq, wd_error *err)
{
    char text[24];
    WD_TRY(wd_meta_read(db, WD_META_PRUNED, text, sizeof(text), err));
    *ret_seq = strtoull(text, NULL, 10);
    return WD_OK;
}

static wd_status broken(const looking *l, wd_audit_fault fault, uint64_t seq,
                        const char *words, wd_error *err)
{
    l->report->fault = fault;
    l->report->bad_seq = seq;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "audit row %llu %s",
                     (unsigned long long)seq, words);
}

static wd_status untold(const looking *l, uint64_t seq, wd_error *err)
{
    return broken(l, WD_AUDIT_SEGMENT_MISSING, seq,
                  "is gone with a whole segment, and no tombstone tells of it", err);
}

/* --- all of it is told ------------------------------------------------------------ */

static wd_status check_ranges(looking *l, wd_error *err)
{
    char hash[WD_SHA256_HEX_BYTES];
    uint64_t next = 1;
    for (size_t i = 0; i < l->all.n; i++) {
        if (l->all.list[i].first != next)
            return untold(l, next, err);
        next = l->all.list[i].last + 1;
    }
    if (next != l->trail->pruned + 1)
        return untold(l, next < l->trail->pruned ? next : l->trail->pruned + 1, err);
    WD_TRY(wd_meta_read(l->trail->db, WD_META_PRUNED_HASH, hash, sizeof(hash), err));
    if (strcmp(hash, l->all.list[l->all.n - 1].last_hash) == 0)
        return WD_OK;
    return broken(l, WD_AUDIT_ROW_UNLINKED, next,
                  "does not follow the last row that the tombstone before it tells of",
                  err);
}

static bool same(const wd_tombstone *a, const wd_tombstone *b)
{
    return a->first == b->first && a->last == b->last && a->bytes == b->bytes &&
           a->kept == b->kept && strcmp(a->file, b->file) == 0 &&
           strcmp(a->sha256, b->sha256) == 0 &&
           strcmp(a->last_hash, b->last_hash) == 0 &&
           strcmp(a->kept_hash, b->kept_hash) == 0;
}

/* The row of a tombstone, which other rows are chained to. */
static wd_status check_row(looking *l, const wd_tombstone *t, sqlite3_stmt *stmt,
                           wd_error *err)
{
    wd_audit_row row;
    wd_tombstone told = {.seq = 0};
    bool more = false;
    (void)sqlite3_reset(stmt);
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)t->seq);
    WD_TRY(wd_sql_next(stmt, &more, err));
    if (!more)
        return untold(l, t->first, err);
    wd_audit_row_read(stmt, l->trail->place.chain_id, &row);
    WD_TRY(wd_sql_whole(stmt, err));
    if (wd_token_trail_hash(stmt, l->trail->place.chain_id, NULL) != WD_OK)
        return broken(l, WD_AUDIT_ROW_CHANGED, t->seq,
                      "was changed: its content does not have its hash", err);
    if (strcmp(row.event, WD_TOMBSTONE_EVENT) != 0 ||
        !wd_tombstone_parse(row.detail, &told) || !same(&told, t))
        return untold(l, t->first, err);
    l->n_told++;
    return WD_OK;
}

static wd_status check_rows(looking *l, const wd_source *source, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(source->db,
                          "SELECT " WD_AUDIT_COLUMNS " FROM audit WHERE seq = ?1",
                          &stmt, err));
    for (size_t i = 0; i < l->all.n; i++) {
        const wd_tombstone *t = &l->all.list[i];
        if (t->seq >= source->first && t->seq <= source->last)
            WD_TRY(check_row(l, t, stmt, err));
    }
    return WD_OK;
}

/* --- what is kept ----------------------------------------------------------------- */

static const wd_tombstone *tombstone_of(const looking *l, const wd_source *source)
{
    for (size_t i = 0; i < l->all.n; i++) {
        if (l->all.list[i].first == source->first &&
            l->all.list[i].last == source->last)
            return &l->all.list[i];
    }
    return NULL;
}

static wd_status check_kept(looking *l, const wd_source *source, wd_error *err)
{
    const wd_tombstone *t = tombstone_of(l, source);
    wd_tombstone found = {.seq = 0};
    wd_error cause;
    if (t == NULL)
        return untold(l, source->first, err);
    wd_status status = wd_prune_kept(source, l->trail->place.chain_id, &found, &cause);
    if (status != WD_OK && status != WD_DATA_LOSS) {
        if (err != NULL)
            *err = cause;
        return status;
    }
    if (status != WD_OK || found.kept != t->kept ||
        strcmp(found.kept_hash, t->kept_hash) != 0)
        return broken(l, WD_AUDIT_ROW_CHANGED, source->first,
                      "and those after it were pruned, and what was kept of them is "
                      "not what their tombstone says",
                      err);
    l->n_kept++;
    return WD_OK;
}

static wd_status check_sources(looking *l, wd_error *err)
{
    for (size_t i = 0; i < wd_trail_count(l->trail); i++) {
        wd_source source;
        WD_TRY(wd_trail_source(l->trail, i, &source, err));
        WD_TRY(check_rows(l, &source, err));
        if (source.segment != NULL && source.last <= l->trail->pruned)
            WD_TRY(check_kept(l, &source, err));
    }
    if (l->n_told < l->all.n)
        return untold(l, 1, err);
    if (l->n_kept < l->all.n)
        return broken(l, WD_AUDIT_SEGMENT_MISSING, 1,
                      "or later ones were pruned, and what was kept of them is gone",
                      err);
    return WD_OK;
}

/* --- what was exported ------------------------------------------------------------ */

static wd_status check_export(const looking *l, const wd_tombstone *t, wd_error *err)
{
    wd_error cause;
    wd_status status = wd_prune_export_check(l->range->exports, t, &cause);
    if (status == WD_OK)
        return WD_OK;
    if (status != WD_DATA_LOSS)
        return wd_fail(err, status, "%s", cause.msg);
    l->report->fault = WD_AUDIT_EXPORT_MISSING;
    l->report->bad_seq = t->first;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "%s", cause.msg);
}

/* Those that were asked about, of the rows of one tombstone. */
static wd_export_seen seen_between(const looking *l, const wd_tombstone *t)
{
    wd_export_seen seen = {.n = 0};
    for (size_t i = 0; i < l->heads->n; i++) {
        uint64_t seq = l->heads->list[i].head.seq;
        bool asked =
            seq >= l->range->first && (l->range->last == 0 || seq <= l->range->last);
        if (!asked || seq < t->first || seq > t->last)
            continue;
        if (seen.n++ == 0)
            seen.list = &l->heads->list[i]; /* they are in order */
    }
    return seen;
}

/* What was seen of rows that are in an export alone. */
static wd_status check_seen(const looking *l, const wd_tombstone *t, wd_error *err)
{
    wd_audit_report *report = l->report;
    wd_export_seen seen = seen_between(l, t);
    if (l->range->exports == NULL)
        report->n_unchecked += seen.n;
    if (seen.n == 0 || l->range->exports == NULL)
        return WD_OK;
    WD_TRY(wd_prune_export_seen(l->range->exports, t, &seen, err));
    if (seen.bad_seq != 0)
        return broken(
            l, WD_AUDIT_FORKED, seen.bad_seq,
            "is, in the export of what was pruned, not the row that a witness "
            "has seen: the chain was made anew before it",
            err);
    for (size_t i = 0; i < seen.n; i++)
        (*(seen.list[i].signed_by_us ? &report->n_checkpoints
                                     : &report->n_witnessed))++;
    return WD_OK;
}

static wd_status check_exports(const looking *l, wd_error *err)
{
    for (size_t i = 0; i < l->all.n; i++) {
        if (l->range->exports != NULL)
            WD_TRY(check_export(l, &l->all.list[i], err));
        WD_TRY(check_seen(l, &l->all.list[i], err));
    }
    return WD_OK;
}

static wd_status look(looking *l, wd_error *err)
{
    WD_TRY(wd_tombstones_read(l->trail->db, 1, INT64_MAX, &l->all, err));
    if (l->all.n == 0)
        return untold(l, 1, err);
    WD_TRY(check_ranges(l, err));
    WD_TRY(check_sources(l, err));
    WD_TRY(check_exports(l, err));
    l->report->n_tombstones = l->all.n;
    return WD_OK;
}

wd_status wd_pruned_verify(wd_trail *trail, const wd_audit_range *range,
                           const wd_heads *heads, wd_audit_report *report,
                           wd_error *err)
{
    looking l = {.trail = trail, .range = range, .heads = heads, .report = report};
    if (trail->pruned == 0 || range->first > trail->pruned)
        return WD_OK;
    wd_status status = look(&l, err);
    wd_tombstones_done(&l.all);
    if (status == WD_DATA_LOSS && report->fault == WD_AUDIT_SOUND)
        report->fault = WD_AUDIT_SEGMENT_MISSING; /* the list is none */
    return status;
}
