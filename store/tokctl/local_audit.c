/* Audit's methods on the store's files. */
#include <string.h>

#include "server/checkpoint_check.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "store/audit_follow.h"
#include "store/audit_verify.h"
#include "store/tokctl/local.h"
#include "warded/v1/audit.pb-c.h"

#define PAGE_ROWS 100U

/* --- rows ------------------------------------------------------------------------------------ */

typedef struct gathered {
    wd_local *local;
    Warded__V1__AuditRow **rows;
    size_t n, room;
    bool full;
} gathered;

static bool gather(void *arg, const wd_audit_row *row)
{
    gathered *g = arg;
    Warded__V1__AuditRow *copy =
        g->n < g->room ? wd_row_info_copy(row, wd_local_budget(g->local)) : NULL;
    g->full = copy == NULL;
    if (copy != NULL)
        g->rows[g->n++] = copy;
    return copy != NULL;
}

static wd_status room_for(gathered *g, size_t room, wd_error *err)
{
    g->rows = wd_local_take(g->local, room * sizeof(*g->rows));
    g->room = room;
    return g->rows != NULL ? WD_OK : wd_local_no_memory(err);
}

static wd_status fill_head(wd_local *local, const wd_head *head,
                           Warded__V1__AuditHead **ret, wd_error *err)
{
    Warded__V1__AuditHead *to = wd_local_take(local, sizeof(*to));
    uint8_t *hash = wd_local_take(local, WD_AUDIT_HASH_BYTES);
    if (to == NULL || hash == NULL)
        return wd_local_no_memory(err);
    warded__v1__audit_head__init(to);
    memcpy(hash, head->hash, WD_AUDIT_HASH_BYTES);
    to->seq = head->seq;
    to->hash = wd_pb_bytes(hash, WD_AUDIT_HASH_BYTES);
    *ret = to;
    return WD_OK;
}

static wd_status fill_gaps(wd_local *local, wd_reader *reader,
                           const wd_audit_filter *filter, Warded__V1__QueryReply *reply,
                           wd_error *err)
{
    WD_AUTO_TOMBSTONES gaps = {0};
    WD_TRY(wd_row_gaps(reader, filter, reply->next_seq, &gaps, err));
    reply->gaps = wd_row_gaps_copy(&gaps, wd_local_budget(local), &reply->n_gaps);
    return reply->gaps != NULL ? WD_OK : wd_local_no_memory(err);
}

static wd_status query(wd_local *local, const ProtobufCMessage *request,
                       ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__QueryRequest *asked = (const Warded__V1__QueryRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    gathered g = {.local = local};
    const wd_audit_sink sink = {gather, &g};
    wd_audit_filter filter = {
        .from_seq = asked->from_seq,
        .to_seq = asked->to_seq,
        .newest_first = asked->order == WARDED__V1__QUERY_REQUEST__ORDER__NEWEST_FIRST,
        .limit = asked->limit != 0 ? asked->limit : PAGE_ROWS};
    Warded__V1__QueryReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__query_reply__init(reply);
    wd_row_filter(asked->filter, &filter);
    WD_TRY(room_for(&g, filter.limit, err));
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_audit_query(reader, &filter, &sink, &reply->next_seq, err));
    if (g.full)
        return wd_local_no_memory(err);
    reply->rows = g.rows;
    reply->n_rows = g.n;
    *ret_reply = &reply->base;
    return fill_gaps(local, reader, &filter, reply, err);
}

static wd_status tail_reply(const gathered *g, const wd_head *head, uint64_t next,
                            ProtobufCMessage **ret, wd_error *err)
{
    Warded__V1__TailReply *reply = wd_local_take(g->local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__tail_reply__init(reply);
    WD_TRY(fill_head(g->local, head, &reply->head, err));
    reply->next_seq = next;
    reply->rows = g->rows;
    reply->n_rows = g->n;
    *ret = &reply->base;
    return WD_OK;
}

/* The newest rows, or those after a cursor; nothing is waited for here: who follows a
 * trail offline asks again. */
static wd_status tail(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__TailRequest *asked = (const Warded__V1__TailRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    gathered g = {.local = local};
    const wd_audit_sink sink = {gather, &g};
    wd_followed found;
    wd_audit_filter filter = {.from_seq = asked->from_seq,
                              .limit = asked->limit != 0 ? asked->limit : PAGE_ROWS};
    wd_row_filter(asked->filter, &filter);
    WD_TRY(room_for(&g, filter.limit, err));
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_audit_follow(reader, &filter, &sink, &found, err));
    return tail_reply(&g, &found.head, found.next_seq, ret_reply, err);
}

static wd_status show_filter(const Warded__V1__AuditShowRequest *asked,
                             wd_audit_filter *ret, wd_error *err)
{
    *ret = (wd_audit_filter){.limit = WD_AUDIT_QUERY_ROWS};
    if (asked->call_id[0] != '\0') {
        ret->call_id = asked->call_id;
        return WD_OK;
    }
    if (asked->seq == 0 || asked->seq > INT64_MAX)
        return wd_fail(err, WD_INVALID_ARGUMENT, "a row's number is 1 or more");
    ret->from_seq = ret->to_seq = asked->seq;
    ret->limit = 1;
    return WD_OK;
}

/* No row, but perhaps the tombstone of the range that it was in. */
static wd_status show_pruned(wd_local *local, wd_reader *reader, uint64_t seq,
                             Warded__V1__AuditShowReply *reply, wd_error *err)
{
    WD_AUTO_TOMBSTONES gaps = {0};
    if (seq != 0)
        WD_TRY(wd_tombstones_between(reader, seq, seq, &gaps, err));
    if (gaps.n == 0)
        return wd_fail(err, WD_NOT_FOUND, "there is no such row");
    reply->pruned = wd_row_gap_copy(&gaps.list[0], wd_local_budget(local));
    return reply->pruned != NULL ? WD_OK : wd_local_no_memory(err);
}

static wd_status show(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__AuditShowRequest *asked =
        (const Warded__V1__AuditShowRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    gathered g = {.local = local};
    const wd_audit_sink sink = {gather, &g};
    wd_audit_filter filter;
    wd_audit_report report;
    uint64_t next = 0;
    Warded__V1__AuditShowReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__audit_show_reply__init(reply);
    WD_TRY(show_filter(asked, &filter, err));
    WD_TRY(room_for(&g, filter.limit, err));
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_audit_query(reader, &filter, &sink, &next, err));
    if (g.n == 0) {
        *ret_reply = &reply->base;
        return show_pruned(local, reader, asked->seq, reply, err);
    }
    const wd_audit_range range = {.first = g.rows[0]->seq,
                                  .last = g.rows[g.n - 1]->seq};
    reply->hash_ok = wd_audit_verify(reader, &range, &report, err) == WD_OK;
    reply->rows = g.rows;
    reply->n_rows = g.n;
    *ret_reply = &reply->base;
    return WD_OK;
}

/* --- the chain -------------------------------------------------------------------------------- */

static wd_status witnesses_of(wd_local *local, const Warded__V1__VerifyRequest *asked,
                              wd_audit_range *range, wd_error *err)
{
    wd_head *heads = wd_local_take(local, (asked->n_witnessed + 1) * sizeof(*heads));
    if (heads == NULL)
        return wd_local_no_memory(err);
    for (size_t i = 0; i < asked->n_witnessed; i++) {
        const Warded__V1__AuditHead *head = asked->witnessed[i];
        if (head->hash.len != WD_AUDIT_HASH_BYTES)
            return wd_fail(err, WD_INVALID_ARGUMENT, "a head's hash has 32 bytes");
        heads[i].seq = head->seq;
        memcpy(heads[i].hash, head->hash.data, WD_AUDIT_HASH_BYTES);
    }
    range->witnessed = heads;
    range->n_witnessed = asked->n_witnessed;
    return WD_OK;
}

static wd_status fill_verify(wd_local *local, const wd_audit_report *report,
                             Warded__V1__VerifyReply *reply, wd_error *err)
{
    reply->ok = report->fault == WD_AUDIT_SOUND;
    reply->fault = (Warded__V1__VerifyReply__Fault)report->fault; /* the same numbers */
    reply->bad_seq = report->bad_seq;
    if (!reply->ok)
        reply->message =
            wd_budget_text(wd_local_budget(local), err->msg, strlen(err->msg));
    if (reply->message == NULL)
        return wd_local_no_memory(err);
    reply->rows = report->rows;
    reply->witnessed = (uint32_t)report->n_witnessed;
    reply->tokens = (uint32_t)report->n_tokens;
    reply->checkpoints = (uint32_t)report->n_signatures;
    reply->tombstones = (uint32_t)report->n_tombstones;
    reply->segments = (uint32_t)report->n_segments;
    reply->unchecked = (uint32_t)report->n_unchecked;
    return fill_head(local, &report->head, &reply->head, err);
}

/* A trail that does not verify is an answer, not a failure. */
static wd_status verify_range(wd_local *local, wd_audit_range *range,
                              Warded__V1__VerifyReply *reply, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_text) *ca = NULL;
    wd_audit_report report = {.fault = WD_AUDIT_SOUND};
    WD_TRY(wd_local_ca(local, &ca, err));
    const wd_checker checker = wd_checkpoint_checker(ca);
    range->checker = &checker;
    WD_TRY(wd_local_read(local, &reader, err));
    wd_status status = wd_audit_verify(reader, range, &report, err);
    if (status != WD_OK && report.fault == WD_AUDIT_SOUND)
        return status; /* it could not be read */
    reply->issuer_unchecked = ca == NULL && report.n_signatures > 0;
    return fill_verify(local, &report, reply, err);
}

static wd_status verify(wd_local *local, const ProtobufCMessage *request,
                        ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__VerifyRequest *asked = (const Warded__V1__VerifyRequest *)request;
    wd_audit_range range = {
        .first = asked->from_seq,
        .last = asked->to_seq,
        .checkpoint = asked->checkpoint[0] != '\0' ? asked->checkpoint : NULL,
        .exports = asked->exports_elsewhere ? NULL : wd_local_exports(local),
    };
    Warded__V1__VerifyReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__verify_reply__init(reply);
    *ret_reply = &reply->base;
    WD_TRY(witnesses_of(local, asked, &range, err));
    return verify_range(local, &range, reply, err);
}

const wd_local_method wd_local_audit_methods[] = {
    {"/warded.v1.Audit/Query", query},
    {"/warded.v1.Audit/Tail", tail},
    {"/warded.v1.Audit/Show", show},
    {"/warded.v1.Audit/Verify", verify},
    {"/warded.v1.Audit/Prune", wd_local_prune},
    {NULL, NULL},
};
