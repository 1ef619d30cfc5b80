/* Health: is the gate fit to take actions, and how well is it locked. */
#include <stdio.h>

#include "server/audit_keeper.h"
#include "server/call.h"
#include "server/parts.h"
#include "server/service/connections.h"
#include "server/service/pb.h"
#include "server/service/services.h"
#include "store/wal.h"

#include "warded/v1/health.wd.h"

#define PROBLEM_BYTES 256U
#define MOST_LAYERS   32U
#define MOST_PADDING  (1U << 20)

typedef struct answer {
    Warded__V1__HealthCheckReply reply;
    char problem[PROBLEM_BYTES];
    Warded__V1__Layer layers[MOST_LAYERS];
    Warded__V1__Layer *pointers[MOST_LAYERS];
    char *warnings[2];
} answer;

static void set_layers(answer *a, const Warded__Exec__V1__Ready *ready)
{
    size_t n = ready->n_layers < MOST_LAYERS ? ready->n_layers : MOST_LAYERS;

    for (size_t i = 0; i < n; i++) {
        Warded__V1__Layer *layer = &a->layers[i];
        warded__v1__layer__init(layer);
        layer->name = ready->layers[i]->name;
        layer->detail = ready->layers[i]->detail;
        layer->state = ready->layers[i]->active ? WARDED__V1__LAYER__STATE__ACTIVE
                                                : WARDED__V1__LAYER__STATE__ABSENT;
        a->pointers[i] = layer;
    }
    a->reply.layers = a->pointers;
    a->reply.n_layers = n;
    a->reply.sandbox_mode = ready->mode;
}

static void set_problem(answer *a, const char *problem)
{
    a->reply.status = WARDED__V1__HEALTH_CHECK_REPLY__STATUS__NOT_SERVING;
    (void)snprintf(a->problem, sizeof(a->problem), "%s", problem);
    a->reply.problem = a->problem;
}

/* No more than that: what is wrong says Audit.Stats, to those who may read the trail. */
static void set_warnings(answer *a, const wd_gate *gate)
{
    static const char stopped[] =
        "audit retention has stopped: see the log, or tokctl audit stats";
    static const char large[] =
        "the store's write-ahead log is above 64 MiB: another process has been reading "
        "store.db for long, and it can't be cut back";
    char problem[2];

    wd_pruner_problem(wd_audit_keeper_pruner(gate->audit_keeper), problem,
                      sizeof(problem));
    a->reply.warnings = a->warnings;
    if (problem[0] != '\0')
        a->warnings[a->reply.n_warnings++] = wd_pb_text(stopped);
    if (wd_store_wal_large(gate->store))
        a->warnings[a->reply.n_warnings++] = wd_pb_text(large);
}

static void set_facts(answer *a, const wd_gate *gate, const wd_link_ready *ready)
{
    Warded__V1__HealthCheckReply *reply = &a->reply;

    reply->version = wd_pb_text(WD_VERSION);
    reply->gate = wd_pb_text(gate->uri);
    reply->in_flight = (uint32_t)wd_inflight_count(gate->inflight);
    reply->running = wd_link_running(gate->link);
    reply->uptime_ms = (uint64_t)(wd_clock_mono_ms(gate->clock) - gate->started_ms);
    set_warnings(a, gate);
    if (ready != NULL)
        set_layers(a, ready->message);
}

static void set_status(answer *a, const wd_gate *gate, const wd_link_ready *ready,
                       const char *problem)
{
    a->reply.status = WARDED__V1__HEALTH_CHECK_REPLY__STATUS__SERVING;
    if (ready == NULL)
        set_problem(a, problem);
    if (wd_store_degraded(gate->store))
        set_problem(a, "the store is short of space, or its disk fails");
    if (atomic_load(&gate->draining))
        set_problem(a, "the gate stops");
}

static wd_step check(void *self, wd_call *call,
                     const Warded__V1__HealthCheckRequest *request, wd_error *err)
{
    wd_gate *gate = call->gate;
    answer a; /* the reply is set; the rest as far as it is used */
    char problem[PROBLEM_BYTES] = "";

    (void)self;
    warded__v1__health_check_reply__init(&a.reply);
    if (request->padding.len > MOST_PADDING) {
        (void)wd_refuse(err, WD_REASON_FIELD_INVALID,
                        "padding has %zu bytes, at most %u", request->padding.len,
                        MOST_PADDING);
        return WD_FAILED;
    }
    a.reply.padding = request->padding;
    wd_link_ready *ready = wd_link_get_ready(gate->link, problem, sizeof(problem));
    set_status(&a, gate, ready, problem);
    if (!request->brief)
        set_facts(&a, gate, ready);
    wd_status status = wd_warded_v1_health_reply_check(call, &a.reply, err);
    wd_link_ready_unref(gate->link, ready);
    return status == WD_OK ? WD_NEXT : WD_FAILED;
}

wd_status wd_service_health_add(wd_registry *registry, wd_error *err)
{
    static const wd_warded_v1_health_service service = {
        .check = check,
        .connections = wd_health_connections,
    };

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_health, &service, err));
    wd_registry_place(registry, "/warded.v1.Health/Connections", WD_RUN_READER, NULL);
    return WD_OK;
}
