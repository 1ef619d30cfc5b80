#include "store/audit_heads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

void wd_heads_done(wd_heads *heads)
{
    for (size_t i = 0; i < heads->n_texts; i++)
        free(heads->texts[i]);
    free(heads->texts);
    free(heads->list);
    *heads = (wd_heads){0};
}

static wd_status add(wd_heads *heads, const wd_head *head, bool signed_by_us,
                     wd_error *err)
{
    if (heads->n == heads->room) {
        size_t room = heads->room == 0 ? 64 : heads->room * 2;
        wd_seen_head *list = reallocarray(heads->list, room, sizeof(*list));
        if (list == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "no memory for %zu heads", room);
        heads->list = list;
        heads->room = room;
    }
    heads->list[heads->n++] = (wd_seen_head){*head, signed_by_us};
    return WD_OK;
}

static wd_status add_text(wd_heads *heads, const char *text, wd_error *err)
{
    char *copy = strdup(text);
    char **texts = reallocarray(heads->texts, heads->n_texts + 1, sizeof(*texts));
    if (texts != NULL)
        heads->texts = texts;
    if (copy == NULL || texts == NULL) {
        free(copy);
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a checkpoint");
    }
    heads->texts[heads->n_texts++] = copy;
    return WD_OK;
}

/* --- gathering -------------------------------------------------------------------- */

static wd_status other_chain(const wd_checkpoint *checkpoint, const wd_trail *trail,
                             wd_audit_fault *ret_fault, wd_error *err)
{
    *ret_fault = WD_AUDIT_OTHER_CHAIN;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "the checkpoint of row %llu is of chain %.40s, this is chain %s",
                     (unsigned long long)checkpoint->head.seq, checkpoint->chain_id,
                     trail->place.chain_id);
}

static wd_status take_given(wd_heads *heads, const wd_trail *trail,
                            wd_audit_range *range, wd_audit_fault *ret_fault,
                            wd_error *err)
{
    wd_checkpoint given;
    if (range->checkpoint == NULL)
        return WD_OK;
    WD_TRY(wd_checkpoint_parse(range->checkpoint, &given, err));
    if (strcmp(given.chain_id, trail->place.chain_id) != 0)
        return other_chain(&given, trail, ret_fault, err);
    if (range->first == 0)
        range->first = given.head.seq;
    WD_TRY(add(heads, &given.head, true, err));
    return add_text(heads, range->checkpoint, err);
}

static wd_status take_stored(wd_heads *heads, const wd_trail *trail, sqlite3_stmt *stmt,
                             wd_audit_fault *ret_fault, wd_error *err)
{
    wd_checkpoint stored;
    uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    const char *text = wd_sql_text(stmt, 1);
    WD_TRY(wd_sql_whole(stmt, err));
    if (wd_checkpoint_parse(text, &stored, NULL) != WD_OK || stored.head.seq != seq) {
        *ret_fault = WD_AUDIT_CHECKPOINT_BAD;
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "the checkpoint of audit row %llu was changed",
                         (unsigned long long)seq);
    }
    if (strcmp(stored.chain_id, trail->place.chain_id) != 0)
        return other_chain(&stored, trail, ret_fault, err);
    return add(heads, &stored.head, true, err);
}

typedef struct taking {
    wd_heads *heads;
    wd_trail *trail;
    wd_audit_fault *fault;
} taking;

/* All of a statement, the last one's text for its signature. */
static wd_status take_rows(const taking *t, sqlite3_stmt *stmt, wd_error *err)
{
    WD_AUTO(wd_text) *last = NULL;
    for (;;) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more)
            return last != NULL ? add_text(t->heads, last, err) : WD_OK;
        WD_TRY(take_stored(t->heads, t->trail, stmt, t->fault, err));
        free(last);
        last = strdup(wd_sql_text(stmt, 1));
        if (last == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a checkpoint");
    }
}

static wd_status take_source(const taking *t, size_t i, const wd_audit_range *range,
                             wd_error *err)
{
    wd_source source;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_trail_source(t->trail, i, &source, err));
    WD_TRY(wd_sql_prepare(source.db,
                          "SELECT seq, text FROM checkpoints WHERE seq >= ?1"
                          " AND (?2 = 0 OR seq <= ?2) ORDER BY seq",
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)range->first);
    (void)sqlite3_bind_int64(stmt, 2, (int64_t)range->last);
    return take_rows(t, stmt, err);
}

static bool is_beside(const wd_trail *trail, size_t i, const wd_audit_range *range)
{
    if (i == trail->segments.n) /* the open one */
        return false;
    const wd_segment *segment = &trail->segments.list[i];
    return segment->kept_only || segment->last < range->first ||
           (range->last != 0 && segment->first > range->last);
}

static int by_seq(const void *a, const void *b)
{
    uint64_t left = ((const wd_seen_head *)a)->head.seq;
    uint64_t right = ((const wd_seen_head *)b)->head.seq;
    return (left > right) - (left < right);
}

wd_status wd_heads_take(wd_heads *heads, wd_trail *trail, wd_audit_range *range,
                        wd_audit_fault *ret_fault, wd_error *err)
{
    const taking t = {heads, trail, ret_fault};
    WD_TRY(take_given(heads, trail, range, ret_fault, err));
    for (size_t i = 0; i < range->n_witnessed; i++)
        WD_TRY(add(heads, &range->witnessed[i], false, err));
    for (size_t i = 0; i < wd_trail_count(trail); i++) {
        if (!is_beside(trail, i, range))
            WD_TRY(take_source(&t, i, range, err));
    }
    if (heads->n > 0)
        qsort(heads->list, heads->n, sizeof(*heads->list), by_seq);
    return WD_OK;
}

/* --- afterwards ------------------------------------------------------------------- */

void wd_heads_count(const wd_heads *heads, uint64_t pruned, const wd_audit_range *range,
                    wd_audit_report *report)
{
    for (size_t i = 0; i < heads->n; i++) {
        uint64_t seq = heads->list[i].head.seq;
        if (seq <= pruned || seq < range->first || seq > report->head.seq)
            continue;
        if (heads->list[i].signed_by_us)
            report->n_checkpoints++;
        else
            report->n_witnessed++;
    }
}

static wd_status check_text(const char *text, wd_trail *trail,
                            const wd_checker *checker, wd_audit_report *report,
                            wd_error *err)
{
    wd_checkpoint one;
    wd_error cause;
    char name[32];
    char certificate[WD_CERTIFICATE_BYTES];
    WD_TRY(wd_checkpoint_parse(text, &one, err));
    (void)snprintf(name, sizeof(name), WD_META_SIGNER "%s", one.key_id);
    WD_TRY(wd_meta_read(trail->db, name, certificate, sizeof(certificate), err));
    const wd_span signed_text = {(const uint8_t *)text, one.signed_size};
    if (checker->check(checker->arg, &one, signed_text,
                       certificate[0] != '\0' ? certificate : NULL, &cause) == WD_OK) {
        report->n_signatures++;
        return WD_OK;
    }
    report->fault = WD_AUDIT_CHECKPOINT_BAD;
    report->bad_seq = one.head.seq;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "the checkpoint of audit row %llu: %s",
                     (unsigned long long)one.head.seq, cause.msg);
}

wd_status wd_heads_check(const wd_heads *heads, wd_trail *trail,
                         const wd_checker *checker, wd_audit_report *report,
                         wd_error *err)
{
    if (checker == NULL)
        return WD_OK;
    for (size_t i = 0; i < heads->n_texts; i++)
        WD_TRY(check_text(heads->texts[i], trail, checker, report, err));
    return WD_OK;
}
