/* Observation: actions in, observations out. */
#include "server/call.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/service/batch.h"
#include "server/service/item.h"
#include "server/service/pb.h"
#include "server/service/result.h"
#include "server/service/services.h"
#include "server/service_stage.h"
#include "store/scope.h"

#include "warded/v1/observation.wd.h"

#include <stdio.h>
#include <string.h>

#define STATUS(name) WARDED__V1__RESULT__STATUS__##name

/* --- GetObservation ---------------------------------------------------------------------- */

static void free_work(void *work)
{
    wd_items_done(work);
}

/* Why a batch that was cut short failed as a whole. */
static void refuse_cut(const wd_batch *batch, wd_error *err)
{
    if (wd_call_check(batch->call, err) == WD_FAILED && err->status == WD_CANCELLED)
        return;
    (void)wd_refuse(err, WD_REASON_CANCELLED, "cancelled");
}

static wd_status answer(wd_call *call, const wd_items *items, wd_error *err)
{
    Warded__V1__GetObservationReply reply = WARDED__V1__GET_OBSERVATION_REPLY__INIT;
    WD_AUTO(wd_budget) *budget = wd_results_budget(items);

    if (budget == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    WD_TRY(wd_results_make(call, items, budget, &reply, err));
    return wd_warded_v1_observation_reply_get_observation(call, &reply, err);
}

/* On a service thread, when every action is dead. A cancelled call answers CANCELLED;
 * what did end before is on record. */
static void ended(wd_batch *batch)
{
    wd_call *call = batch->call;
    wd_error err = {.status = WD_OK};
    wd_step step = answer(call, batch->items, &err) == WD_OK ? WD_NEXT : WD_FAILED;

    if (batch->cut && step == WD_NEXT) {
        refuse_cut(batch, &err);
        step = WD_FAILED;
    }
    wd_pipeline_resume(call, step, &err);
}

static bool any_runs(const wd_items *items)
{
    for (size_t i = 0; i < items->n_items; i++) {
        if (items->items[i].runs)
            return true;
    }
    return false;
}

static wd_step get_observation(void *self, wd_call *call,
                               const Warded__V1__GetObservationRequest *request,
                               wd_error *err)
{
    wd_items *items = call->plan;

    (void)self;
    (void)request;
    if (!any_runs(items))
        return answer(call, items, err) == WD_OK ? WD_NEXT : WD_FAILED;
    wd_batch *batch = wd_budget_take(call->budget, sizeof(*batch));
    if (batch == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return WD_FAILED;
    }
    *batch = (wd_batch){.call = call, .items = items, .ended = ended};
    wd_call_keep(call, items, free_work);
    wd_batch_start(call->gate->batches, batch);
    return WD_PARKED;
}

/* --- ListTools --------------------------------------------------------------------------- */

static const char *describe(wd_tool_kind kind)
{
    switch (kind) {
    case WD_TOOL_PYTHON_CODE:
        return "Runs Python code in a fresh interpreter; answers what it printed.";
    }
    return "";
}

static const char *kind_name(wd_tool_kind kind)
{
    switch (kind) {
    case WD_TOOL_PYTHON_CODE:
        return "python_code";
    }
    return "";
}

static void set_limits(Warded__V1__Limits *to, const wd_action_limits *from)
{
    warded__v1__limits__init(to);
    to->wall_ms = from->wall_ms;
    to->cpu_ms = from->cpu_ms;
    to->memory_bytes = from->memory_bytes;
    to->pids = (uint32_t)from->pids;
    to->files_bytes = from->files_bytes;
    to->output_bytes = from->output_bytes;
}

static bool may_use(const wd_call *call, const wd_tool_config *tool)
{
    char scope[96];

    (void)snprintf(scope, sizeof(scope), "observe:%.80s", tool->name);
    return wd_scopes_cover(call->token->scopes, call->token->n_scopes, scope);
}

typedef struct told {
    Warded__V1__Tool tool;
    Warded__V1__Limits limits, maxima;
} told;

static void tell(told *t, const wd_config *config, const wd_tool_config *tool)
{
    warded__v1__tool__init(&t->tool);
    t->tool.name = wd_pb_text(tool->name);
    t->tool.kind = wd_pb_text(kind_name(tool->kind));
    t->tool.description = wd_pb_text(describe(tool->kind));
    t->tool.tags = tool->tags.items;
    t->tool.n_tags = tool->tags.n_items;
    set_limits(&t->limits, &tool->limits);
    set_limits(&t->maxima, &config->sandbox.maxima);
    t->tool.limits = &t->limits;
    t->tool.maxima = &t->maxima;
}

static wd_step list_tools(void *self, wd_call *call,
                          const Warded__V1__ListToolsRequest *request, wd_error *err)
{
    const wd_config *config = call->gate->config;
    Warded__V1__ListToolsReply reply = WARDED__V1__LIST_TOOLS_REPLY__INIT;
    told *all = wd_budget_take(call->budget, config->n_tools * sizeof(*all) + 1);

    (void)self;
    (void)request;
    reply.tools =
        wd_budget_take(call->budget, config->n_tools * sizeof(*reply.tools) + 1);
    if (all == NULL || reply.tools == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return WD_FAILED;
    }
    for (size_t i = 0; i < config->n_tools; i++) {
        if (!may_use(call, &config->tools[i]))
            continue;
        tell(&all[i], config, &config->tools[i]);
        reply.tools[reply.n_tools++] = &all[i].tool;
    }
    return wd_warded_v1_observation_reply_list_tools(call, &reply, err) == WD_OK
               ? WD_NEXT
               : WD_FAILED;
}

wd_status wd_service_observation_add(wd_registry *registry, wd_error *err)
{
    static const wd_warded_v1_observation_service service = {
        .get_observation = get_observation,
        .list_tools = list_tools,
    };

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_observation, &service, err));
    wd_registry_place(registry, "/warded.v1.Observation/GetObservation", WD_RUN_POOL,
                      wd_items_plan);
    return WD_OK;
}
