/* Audit: what happened, for those who must be able to believe the answer. */
#include "server/service/trail.h"
#include "server/call.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "server/service/services.h"
#include "server/service/trail_rows.h"
#include "store/audit.h"

#include "warded/v1/audit.wd.h"

#include <string.h>

static wd_audit_filter filter_of(const Warded__V1__QueryRequest *request)
{
    wd_audit_filter filter = {
        .from_seq = request->from_seq,
        .to_seq = request->to_seq,
        .newest_first =
            request->order == WARDED__V1__QUERY_REQUEST__ORDER__NEWEST_FIRST,
        .limit = request->limit != 0 ? request->limit : WD_TRAIL_ROWS,
    };

    wd_row_filter(request->filter, &filter);
    return filter;
}

wd_status wd_trail_check_filter(const Warded__V1__AuditFilter *asked, wd_error *err)
{
    if (asked != NULL && (asked->since_ms > INT64_MAX || asked->until_ms > INT64_MAX))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "since_ms and until_ms are at most 2^63 - 1");
    return WD_OK;
}

static wd_status check_query(const Warded__V1__QueryRequest *request, wd_error *err)
{
    if (request->limit > WD_AUDIT_QUERY_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u",
                         request->limit, WD_AUDIT_QUERY_ROWS);
    if (request->from_seq > INT64_MAX || request->to_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "from_seq and to_seq are at most 2^63 - 1");
    return wd_trail_check_filter(request->filter, err);
}

/* Where an answer goes on that ended with this row. */
static uint64_t after(const wd_audit_filter *filter, uint64_t seq)
{
    return filter->newest_first ? seq - 1 : seq + 1;
}

static wd_status read_rows(wd_reader *reader, const wd_audit_filter *filter,
                           wd_trail_rows *g, uint64_t *ret_next, wd_error *err)
{
    const wd_audit_sink sink = {wd_trail_rows_add, g};

    WD_TRY(wd_trail_rows_room(g, filter->limit, err));
    WD_TRY(wd_audit_query(reader, filter, &sink, ret_next, err));
    if (g->full && g->n > 0) /* what did not fit comes with the next answer */
        *ret_next = after(filter, g->list[g->n - 1]->seq);
    return WD_OK;
}

static wd_status fill_gaps(wd_reader *reader, const wd_audit_filter *filter,
                           Warded__V1__QueryReply *reply, wd_budget **ret_budget,
                           wd_error *err)
{
    WD_AUTO_TOMBSTONES gaps = {0};

    WD_TRY(wd_row_gaps(reader, filter, reply->next_seq, &gaps, err));
    *ret_budget = wd_budget_new((gaps.n + 1) * WD_ROW_GAP_BYTES);
    if (*ret_budget != NULL)
        reply->gaps = wd_row_gaps_copy(&gaps, *ret_budget, &reply->n_gaps);
    if (reply->gaps == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    return WD_OK;
}

static wd_status answer(wd_call *call, const wd_audit_filter *filter, wd_trail_rows *g,
                        wd_error *err)
{
    Warded__V1__QueryReply reply = WARDED__V1__QUERY_REPLY__INIT;
    WD_AUTO(wd_budget) *gaps = NULL;
    Warded__V1__AuditHead head = WARDED__V1__AUDIT_HEAD__INIT;
    WD_AUTO(wd_reader) *reader = NULL;
    wd_head newest;

    WD_TRY(wd_trail_reader(call, &reader, err));
    WD_TRY(read_rows(reader, filter, g, &reply.next_seq, err));
    WD_TRY(wd_audit_read_head(reader, &newest, err));
    WD_TRY(fill_gaps(reader, filter, &reply, &gaps, err));
    WD_TRY(wd_trail_rows_note(call, g, err));
    reply.rows = g->list;
    reply.n_rows = g->n;
    head.seq = newest.seq;
    head.hash = wd_pb_bytes(newest.hash, sizeof(newest.hash));
    reply.head = &head;
    return wd_warded_v1_audit_reply_query(call, &reply, err);
}

static wd_step query(void *self, wd_call *call, const Warded__V1__QueryRequest *request,
                     wd_error *err)
{
    wd_trail_rows g = {.budget = NULL};
    const wd_audit_filter filter = filter_of(request);

    (void)self;
    if (check_query(request, err) != WD_OK)
        return WD_FAILED;
    wd_status status = answer(call, &filter, &g, err);
    wd_trail_rows_done(&g);
    return wd_trail_step(status, err);
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
    static const wd_warded_v1_audit_service service = {
        .query = query,
        .tail = wd_trail_tail,
        .show = wd_trail_show,
        .verify = wd_trail_verify,
        .head = head,
        .checkpoint = wd_trail_checkpoint,
        .stats = wd_trail_stats,
        .export = wd_trail_export,
        .prune = wd_trail_prune,
    };
    static const char *const readers[] = {
        "/warded.v1.Audit/Query",  "/warded.v1.Audit/Show",
        "/warded.v1.Audit/Verify", "/warded.v1.Audit/Checkpoint",
        "/warded.v1.Audit/Stats",  "/warded.v1.Audit/Export",
        "/warded.v1.Audit/Prune",  "/warded.v1.Audit/Tail",
    };

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_audit, &service, err));
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        wd_registry_place(registry, readers[i], WD_RUN_READER, NULL);
    return WD_OK;
}
