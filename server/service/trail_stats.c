/* Audit.Stats: how much there is, of what, and how long the disk will do. */
#include "server/audit_keeper.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/trail.h"
#include "server/service/trail_reads.h"
#include "store/audit_stats.h"
#include "warded/v1/audit.wd.h"

static Warded__V1__StatsReply__Segment *segment_of(const wd_stats_segment *from,
                                                   wd_budget *budget)
{
    Warded__V1__StatsReply__Segment *to = wd_budget_take(budget, sizeof(*to));

    if (to == NULL)
        return NULL;
    warded__v1__stats_reply__segment__init(to);
    to->first_seq = from->first;
    to->last_seq = from->last;
    to->first_ms = (uint64_t)from->first_ms;
    to->last_ms = (uint64_t)from->last_ms;
    to->bytes = from->bytes;
    to->sealed = from->sealed;
    return to;
}

/* Text is the figures' own: they live until the answer is encoded. */
static Warded__V1__StatsReply__Count *count_of(const wd_stats_count *from,
                                               wd_budget *budget)
{
    Warded__V1__StatsReply__Count *to = wd_budget_take(budget, sizeof(*to));

    if (to == NULL)
        return NULL;
    warded__v1__stats_reply__count__init(to);
    to->what = from->what;
    to->value = from->value;
    to->rows = from->rows;
    return to;
}

static wd_status fill_lists(const wd_audit_stats *stats, wd_budget *budget,
                            Warded__V1__StatsReply *reply, wd_error *err)
{
    size_t n = stats->n_segments + stats->n_counts + 1;
    void **list = wd_budget_take(budget, n * sizeof(*list));

    if (list == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    reply->segments = (Warded__V1__StatsReply__Segment **)list;
    reply->counts = (Warded__V1__StatsReply__Count **)(list + stats->n_segments);
    for (; reply->n_segments < stats->n_segments; reply->n_segments++) {
        list[reply->n_segments] =
            segment_of(&stats->segments[reply->n_segments], budget);
        if (list[reply->n_segments] == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    }
    for (; reply->n_counts < stats->n_counts; reply->n_counts++) {
        reply->counts[reply->n_counts] =
            count_of(&stats->counts[reply->n_counts], budget);
        if (reply->counts[reply->n_counts] == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    }
    return WD_OK;
}

static void fill_numbers(const wd_audit_stats *stats, Warded__V1__StatsReply *reply)
{
    reply->rows = stats->rows;
    reply->bytes = stats->bytes;
    reply->rows_per_day = stats->rows_per_day;
    reply->bytes_per_day = stats->bytes_per_day;
    reply->free_bytes = stats->free_bytes;
    reply->days_left = stats->days_left;
    reply->no_end = stats->no_end;
    reply->checkpoint_seq = stats->checkpoint_seq;
    reply->tombstones = (uint32_t)stats->n_tombstones;
    reply->pruned_seq = stats->pruned_seq;
}

static wd_status answer(wd_call *call, const wd_audit_stats *stats, wd_error *err)
{
    Warded__V1__StatsReply reply = WARDED__V1__STATS_REPLY__INIT;
    Warded__V1__AuditHead head = WARDED__V1__AUDIT_HEAD__INIT;
    const wd_trail_read read = {.rows = 0};
    char problem[WD_ERROR_MSG_BYTES];
    WD_AUTO(wd_budget) *budget =
        wd_budget_new((stats->n_segments + stats->n_counts) * 128);

    if (budget == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    WD_TRY(fill_lists(stats, budget, &reply, err));
    fill_numbers(stats, &reply);
    wd_pruner_problem(wd_audit_keeper_pruner(call->gate->audit_keeper), problem,
                      sizeof(problem));
    reply.retention_problem = wd_pb_text(problem);
    head.seq = stats->head.seq;
    head.hash = wd_pb_bytes(stats->head.hash, sizeof(stats->head.hash));
    reply.head = &head;
    WD_TRY(wd_trail_read_note(call, &read, err));
    return wd_warded_v1_audit_reply_stats(call, &reply, err);
}

static wd_status run(wd_call *call, const Warded__V1__StatsRequest *request,
                     wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO_STATS stats = {0};
    const wd_config *config = call->gate->config;
    const wd_prune_due due =
        wd_pruner_due(wd_audit_keeper_pruner(call->gate->audit_keeper));
    const wd_stats_ask ask = {
        .since_ms = (int64_t)request->since_ms,
        .now_ms = wd_clock_wall_ms(call->gate->clock),
        .reserve_bytes = config->audit.reserve_bytes,
        .age_ms = due.age_ms,
        .most_bytes = due.bytes,
        .exports = config->audit.export_dir,
    };

    if (request->since_ms > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "since_ms is at most 2^63 - 1");
    WD_TRY(wd_trail_reader(call, &reader, err));
    WD_TRY(wd_audit_stats_read(reader, &ask, &stats, err));
    return answer(call, &stats, err);
}

wd_step wd_trail_stats(void *self, wd_call *call,
                       const Warded__V1__StatsRequest *request, wd_error *err)
{
    (void)self;
    return wd_trail_step(run(call, request, err), err);
}
