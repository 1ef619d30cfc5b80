/* Audit: what happened, for those who must be able to believe the answer. */
#include "server/call.h"
#include "server/service/pb.h"
#include "server/service/services.h"
#include "server/service/unbuilt.h"
#include "store/audit.h"

#include "warded/v1/audit.wd.h"

#include <string.h>

#define DEFAULT_ROWS 100U

/* Rows of one answer, copied into the call's own memory. */
typedef struct gathered {
    wd_budget *budget;
    Warded__V1__AuditRow **rows;
    size_t n_rows, capacity;
    bool full; /* the budget is spent */
} gathered;

static char *copy(gathered *g, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return wd_pb_text("");
    char *kept = wd_budget_text(g->budget, text, strlen(text));
    if (kept == NULL)
        g->full = true;
    return kept != NULL ? kept : wd_pb_text("");
}

static ProtobufCBinaryData copy_hash(gathered *g, const uint8_t *hash)
{
    void *kept = wd_budget_take(g->budget, WD_AUDIT_HASH_BYTES);

    if (kept == NULL) {
        g->full = true;
        return (ProtobufCBinaryData){0, NULL};
    }
    memcpy(kept, hash, WD_AUDIT_HASH_BYTES);
    return wd_pb_bytes(kept, WD_AUDIT_HASH_BYTES);
}

static void copy_texts(gathered *g, Warded__V1__AuditRow *to, const wd_audit_row *row)
{
    to->chain_id = copy(g, row->chain_id);
    to->event = copy(g, row->event);
    to->outcome = copy(g, row->outcome);
    to->reason = copy(g, row->reason);
    to->principal = copy(g, row->principal);
    to->token_id = copy(g, row->token_id);
    to->peer_cert = copy(g, row->peer_cert);
    to->peer_addr = copy(g, row->peer_addr);
    to->method = copy(g, row->method);
    to->scope = copy(g, row->scope);
    to->trajectory_id = copy(g, row->trajectory_id);
    to->session_id = copy(g, row->session_id);
    to->episode_id = copy(g, row->episode_id);
    to->call_id = copy(g, row->call_id);
    to->trace_id = copy(g, row->trace_id);
    to->digest = copy(g, row->digest);
    to->detail = copy(g, row->detail);
    to->tool = copy(g, row->tool);
    to->owner = copy(g, row->owner);
    to->family = copy(g, row->family);
    to->pool = copy(g, row->pool);
}

static void copy_numbers(Warded__V1__AuditRow *to, const wd_audit_row *row)
{
    to->seq = row->seq;
    to->wall_ms = (uint64_t)row->wall_ms;
    to->mono_ns = (uint64_t)row->mono_ns;
    to->code = row->code;
    to->duration_us = row->duration_us;
    to->bytes_in = row->bytes_in;
    to->bytes_out = row->bytes_out;
    to->item = row->item;
}

static bool gather(void *arg, const wd_audit_row *row)
{
    gathered *g = arg;
    Warded__V1__AuditRow *to = wd_budget_take(g->budget, sizeof(*to));

    if (to == NULL || g->n_rows == g->capacity) {
        g->full = true;
        return false;
    }
    warded__v1__audit_row__init(to);
    copy_texts(g, to, row);
    copy_numbers(to, row);
    to->prev_hash = copy_hash(g, row->prev_hash);
    to->hash = copy_hash(g, row->hash);
    g->rows[g->n_rows++] = to;
    return !g->full;
}

static void take_filter(const Warded__V1__AuditFilter *asked, wd_audit_filter *filter)
{
    if (asked == NULL)
        return;
    filter->since_ms = (int64_t)asked->since_ms;
    filter->until_ms = (int64_t)asked->until_ms;
    filter->event = asked->event;
    filter->outcome = asked->outcome;
    filter->codes = asked->codes;
    filter->n_codes = asked->n_codes;
    filter->reason = asked->reason;
    filter->principal = asked->principal;
    filter->peer = asked->peer;
    filter->token_id = asked->token_id;
    filter->family = asked->family;
    filter->owner = asked->owner;
    filter->method = asked->method;
    filter->pool = asked->pool;
    filter->session_id = asked->session_id;
    filter->episode_id = asked->episode_id;
    filter->trajectory_id = asked->trajectory_id;
    filter->call_id = asked->call_id;
    filter->trace_id = asked->trace_id;
    filter->tool = asked->tool;
}

static wd_audit_filter filter_of(const Warded__V1__QueryRequest *request)
{
    wd_audit_filter filter = {
        .from_seq = request->from_seq,
        .to_seq = request->to_seq,
        .newest_first =
            request->order == WARDED__V1__QUERY_REQUEST__ORDER__NEWEST_FIRST,
        .limit = request->limit != 0 ? request->limit : DEFAULT_ROWS,
    };

    take_filter(request->filter, &filter);
    return filter;
}

static wd_status check_query(const Warded__V1__QueryRequest *request, wd_error *err)
{
    if (request->limit > WD_AUDIT_QUERY_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u",
                         request->limit, WD_AUDIT_QUERY_ROWS);
    const Warded__V1__AuditFilter *asked = request->filter;
    const wd_unbuilt fields[] = {
        {"filter.family",
         asked != NULL && asked->family[0] != '\0'}, /* no row says it */
    };

    WD_TRY(wd_unbuilt_refuse(fields, 1, err));
    if (request->from_seq > INT64_MAX || request->to_seq > INT64_MAX ||
        (asked != NULL && (asked->since_ms > INT64_MAX || asked->until_ms > INT64_MAX)))
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "from_seq, to_seq, since_ms and until_ms are at most 2^63 - 1");
    return WD_OK;
}

/* Memory for `limit` rows: a row has about 800 bytes, 8 KiB at most. */
static wd_status room_for(gathered *g, uint32_t limit, wd_error *err)
{
    g->budget = wd_budget_new((size_t)limit * 1024);
    if (g->budget != NULL)
        g->rows = wd_budget_take(g->budget, limit * sizeof(Warded__V1__AuditRow *));
    if (g->rows == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    g->capacity = limit;
    return WD_OK;
}

static wd_status answer(wd_call *call, const wd_audit_filter *filter, gathered *g,
                        wd_error *err)
{
    Warded__V1__QueryReply reply = WARDED__V1__QUERY_REPLY__INIT;
    Warded__V1__AuditHead head = WARDED__V1__AUDIT_HEAD__INIT;
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_sink sink = {gather, g};
    wd_head newest;

    WD_TRY(room_for(g, filter->limit, err));
    WD_TRY(wd_reader_open(call->gate->config->store.path, call->gate->options.vfs,
                          &reader, err));
    wd_reader_set_deadline(reader, call->deadline_ms);
    WD_TRY(wd_audit_query(reader, filter, &sink, &reply.next_seq, err));
    WD_TRY(wd_audit_read_head(reader, &newest, err));
    if (g->full) /* the last row may be half copied: it comes with the next answer */
        reply.next_seq = g->rows[--g->n_rows]->seq;
    reply.rows = g->rows;
    reply.n_rows = g->n_rows;
    head.seq = newest.seq;
    head.hash = wd_pb_bytes(newest.hash, sizeof(newest.hash));
    reply.head = &head;
    return wd_warded_v1_audit_reply_query(call, &reply, err);
}

static wd_step query(void *self, wd_call *call, const Warded__V1__QueryRequest *request,
                     wd_error *err)
{
    gathered g = {.budget = NULL};
    const wd_audit_filter filter = filter_of(request);

    (void)self;
    if (check_query(request, err) != WD_OK)
        return WD_FAILED;
    wd_status status = answer(call, &filter, &g, err);
    wd_budget_free(g.budget);
    return status == WD_OK ? WD_NEXT : WD_FAILED;
}

static wd_step head(void *self, wd_call *call, const Warded__V1__HeadRequest *request,
                    wd_error *err)
{
    Warded__V1__HeadReply reply = WARDED__V1__HEAD_REPLY__INIT;
    Warded__V1__AuditHead newest = WARDED__V1__AUDIT_HEAD__INIT;
    wd_head durable = wd_audit_head(call->gate->store);

    (void)self;
    (void)request;
    newest.seq = durable.seq;
    newest.hash = wd_pb_bytes(durable.hash, sizeof(durable.hash));
    reply.head = &newest;
    reply.chain_id = wd_pb_text(wd_store_chain_id(call->gate->store));
    return wd_warded_v1_audit_reply_head(call, &reply, err) == WD_OK ? WD_NEXT
                                                                     : WD_FAILED;
}

wd_status wd_service_trail_add(wd_registry *registry, wd_error *err)
{
    static const wd_warded_v1_audit_service service = {.query = query, .head = head};

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_audit, &service, err));
    wd_registry_place(registry, "/warded.v1.Audit/Query", WD_RUN_READER, NULL);
    return WD_OK;
}
