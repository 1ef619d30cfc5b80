/* Audit.Prune on the store's files, which no gate may hold. */
#include "server/service/row_info.h"
#include "store/pruner.h"
#include "store/tokctl/local.h"
#include "warded/v1/audit.pb-c.h"

typedef struct pruning {
    wd_tombstones gone;
    Warded__V1__PruneReply *reply;
} pruning;

static wd_status note(void *arg, const wd_tombstone *tombstone, uint64_t freed,
                      wd_error *err)
{
    pruning *p = arg;
    p->reply->rows += tombstone->last - tombstone->first + 1;
    p->reply->bytes += freed;
    return wd_tombstones_add(&p->gone, tombstone, err);
}

static wd_status run(wd_local *local, const Warded__V1__PruneRequest *asked, pruning *p,
                     wd_error *err)
{
    WD_AUTO(wd_store) *store = NULL;
    WD_AUTO(wd_pruner) *pruner = NULL;
    const wd_prune_sink sink = {note, p};
    const wd_prune_ask ask = {.before_ms = (int64_t)asked->before_ms,
                              .to_seq = asked->to_seq,
                              .dry_run = asked->dry_run,
                              .why = asked->reason};
    wd_pruner_options options = {.exports = wd_local_exports(local),
                                 .principal = wd_local_principal(local)};
    if (options.exports == NULL)
        return wd_local_no_memory(err);
    WD_TRY(wd_local_open(local, &store, err));
    options.store = store;
    WD_TRY(wd_pruner_open(&options, &pruner, err));
    return wd_pruner_run(pruner, &ask, &sink, err);
}

wd_status wd_local_prune(wd_local *local, const ProtobufCMessage *request,
                         ProtobufCMessage **ret_reply, wd_error *err)
{
    pruning p = {.reply = wd_local_take(local, sizeof(*p.reply))};
    if (p.reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__prune_reply__init(p.reply);
    wd_status status = run(local, (const Warded__V1__PruneRequest *)request, &p, err);
    if (status == WD_OK) {
        p.reply->pruned =
            wd_row_gaps_copy(&p.gone, wd_local_budget(local), &p.reply->n_pruned);
        status = p.reply->pruned != NULL ? WD_OK : wd_local_no_memory(err);
    }
    wd_tombstones_done(&p.gone);
    *ret_reply = &p.reply->base;
    return status;
}
