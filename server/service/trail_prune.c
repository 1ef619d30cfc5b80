/* Audit.Prune: segments are exported and removed, each with a tombstone of who asked. */
#include "server/audit_keeper.h"
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "server/service/trail.h"
#include "warded/v1/audit.wd.h"

typedef struct pruning {
    wd_tombstones gone;
    uint64_t rows, bytes;
} pruning;

static wd_status note(void *arg, const wd_tombstone *tombstone, uint64_t freed,
                      wd_error *err)
{
    pruning *p = arg;

    p->rows += tombstone->last - tombstone->first + 1;
    p->bytes += freed;
    return wd_tombstones_add(&p->gone, tombstone, err);
}

static wd_status answer(wd_call *call, const pruning *p, wd_error *err)
{
    Warded__V1__PruneReply reply = WARDED__V1__PRUNE_REPLY__INIT;
    WD_AUTO(wd_budget) *budget = wd_budget_new((p->gone.n + 1) * WD_ROW_GAP_BYTES);

    if (budget != NULL)
        reply.pruned = wd_row_gaps_copy(&p->gone, budget, &reply.n_pruned);
    if (reply.pruned == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    reply.rows = p->rows;
    reply.bytes = p->bytes;
    return wd_warded_v1_audit_reply_prune(call, &reply, err);
}

static wd_status run(wd_call *call, const Warded__V1__PruneRequest *request, pruning *p,
                     wd_error *err)
{
    wd_row_text text;
    wd_audit_row who;
    const wd_prune_sink sink = {note, p};

    if (request->before_ms > INT64_MAX || request->to_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "before_ms and to_seq are at most 2^63 - 1");
    wd_rows_base(call, &text, &who);
    who.bytes_in = 0; /* told by call.begin */
    const wd_prune_ask ask = {
        .before_ms = (int64_t)request->before_ms,
        .to_seq = request->to_seq,
        .dry_run = request->dry_run,
        .why = request->reason,
        .who = &who,
        .deadline_ms = call->deadline_ms,
    };
    WD_TRY(wd_pruner_run(wd_audit_keeper_pruner(call->gate->audit_keeper), &ask, &sink,
                         err));
    return answer(call, p, err);
}

wd_step wd_trail_prune(void *self, wd_call *call,
                       const Warded__V1__PruneRequest *request, wd_error *err)
{
    pruning p = {.rows = 0};

    (void)self;
    wd_status status = run(call, request, &p, err);
    wd_tombstones_done(&p.gone);
    return wd_trail_step(status, err);
}
