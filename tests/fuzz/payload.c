/* Payloads decoded under a budget: the request and the reply of every method that a gate
 * registers; then the stage that plans a call, with a token that may do all, and what
 * handlers check of a field before they act. */
#include "proto/c/alloc.h"
#include "proto/c/message.h"
#include "server/call.h"
#include "server/parts.h"
#include "server/service/item_check.h"
#include "server/service/routing.h"
#include "server/service/services.h"
#include "server/service/token_spec.h"
#include "server/service/trail.h"
#include "server/stages.h"
#include "store/token_filter.h"
#include "store/token_make.h"
#include "tests/fuzz/fuzz.h"
#include "warded/v1/audit.pb-c.h"
#include "warded/v1/observation.pb-c.h"
#include "warded/v1/token.pb-c.h"

#define NOW_MS 1764000000000

static char *tags[] = {(char[]){"python"}, (char[]){"py"}};
static wd_tool_config tools[] = {{.name = (char[]){"python_code"}, .tags = {tags, 2}}};
static const wd_action_limits maxima = {60000, 60000, 1U << 30, 64, 1U << 26, 1U << 20};

/* What there is of a gate. */
typedef struct scene {
    wd_config config;
    wd_gate gate;
    wd_token_issued boss; /* may do all */
    size_t n_routes;
} scene;

static void set_up(scene *s)
{
    static const char *const scopes[] = {"token:**", "audit:**", "observe:**", "env:**",
                                         "health:**"};
    static const wd_token_spec spec = {
        .name = "boss", .scopes = scopes, .n_scopes = 5, .bind = "uri:spiffe://x/y"};

    s->config.tools = tools;
    s->config.n_tools = 1;
    s->config.sandbox.maxima = maxima;
    s->config.audit.level = WD_AUDIT_REQUEST;
    s->gate.config = &s->config;
    s->gate.registry = wd_registry_new();
    FUZZ_CHECK(s->gate.registry != NULL);
    FUZZ_CHECK(wd_services_add(&s->gate, NULL) == WD_OK);
    FUZZ_CHECK(wd_token_make(&spec, NOW_MS, &s->boss, NULL) == WD_OK);
    while (wd_registry_at(s->gate.registry, s->n_routes) != NULL)
        s->n_routes++;
}

static scene *the_scene(void)
{
    static scene one;

    if (one.n_routes == 0)
        set_up(&one);
    return &one;
}

static ProtobufCMessage *decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                                wd_budget *budget, wd_error *err)
{
    ProtobufCMessage *message = NULL;
    wd_status status = wd_message_decode_request(type, bytes, budget, &message, err);

    FUZZ_CHECK(wd_budget_used(budget) <= wd_budget_limit(budget));
    FUZZ_CHECK((status == WD_OK) == (message != NULL));
    if (message == NULL)
        fuzz_check_refusal(status, err);
    return message;
}

/* Encoded once it has the one form that protobuf-c writes, which must not change. */
static void check_round_trip(const ProtobufCMessage *message)
{
    WD_AUTO_BUFFER first = WD_BUFFER_INIT;
    WD_AUTO_BUFFER second = WD_BUFFER_INIT;

    FUZZ_CHECK(wd_message_encode(message, &first, NULL) == WD_OK);
    WD_AUTO(wd_budget) *budget = wd_budget_new(first.size);
    wd_error err = {.status = WD_OK};
    ProtobufCMessage *again =
        decode(message->descriptor, wd_buffer_span(&first), budget, &err);
    if (again == NULL) { /* it lost padding, and with it some of its budget */
        FUZZ_CHECK(err.reason == WD_REASON_TOO_LARGE);
        return;
    }
    FUZZ_CHECK(wd_message_encode(again, &second, NULL) == WD_OK);
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&first), wd_buffer_span(&second)));
}

static void check_item(const Warded__V1__Item *item, wd_budget *budget)
{
    wd_error err = {.status = WD_OK};
    wd_routed routed;
    const char *field = NULL;
    wd_status status = wd_item_check(item, &maxima, &field, &err);

    if (status == WD_OK) {
        const wd_routing_ask ask = {item->tool, item->action, budget};
        status = wd_routing_find(&the_scene()->config, &ask, &routed, &err);
    }
    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
}

static void check_items(const ProtobufCMessage *message, wd_budget *budget)
{
    const Warded__V1__GetObservationRequest *request = (const void *)message;

    if (message->descriptor != &warded__v1__get_observation_request__descriptor)
        return;
    for (size_t i = 0; i < request->n_items; i++)
        check_item(request->items[i], budget);
}

/* The same bytes as a list whose elements stand for themselves: what was decoded is
 * again; and what is more has faults to tell, in their order. */
static void check_list(const ProtobufCMessageDescriptor *type, wd_span bytes,
                       bool plain)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(bytes.size);
    wd_listed listed = {.message = NULL};
    wd_error err = {.status = WD_OK};
    size_t element = 0;

    FUZZ_CHECK(budget != NULL);
    wd_status status = wd_message_decode_list(type, bytes, budget, &listed, &err);
    FUZZ_CHECK((status == WD_OK) == (listed.message != NULL));
    FUZZ_CHECK(status == WD_OK || !plain);
    if (status != WD_OK) {
        fuzz_check_refusal(status, &err);
        return;
    }
    fuzz_check_texts(listed.message);
    check_items(listed.message, budget);
    FUZZ_CHECK(plain == (listed.faults == NULL));
    for (const wd_text_fault *at = listed.faults; at != NULL; at = at->next) {
        FUZZ_CHECK(at->element >= element);
        element = at->element;
    }
}

static void check_filter(const char *text)
{
    WD_AUTO(wd_token_filter) *filter = NULL;
    wd_error err = {.status = WD_OK};
    wd_status status = wd_token_filter_parse(text, NOW_MS, &filter, &err);

    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
    else if (filter != NULL)
        (void)wd_token_filter_match(filter, the_scene()->boss.token);
}

static void check_issue(const Warded__V1__IssueRequest *request)
{
    WD_AUTO_ISSUED issued = {0};
    wd_token_spec spec = {0};
    wd_error err = {.status = WD_OK};
    wd_status status = wd_token_spec_fill(request, &spec, &err);

    if (status == WD_OK)
        status = wd_token_make(&spec, NOW_MS, &issued, &err);
    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
}

static void check_times(const Warded__V1__AuditFilter *filter)
{
    wd_error err = {.status = WD_OK};
    wd_status status = wd_trail_check_filter(filter, &err);

    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
}

/* What a handler looks at before it asks the store. */
static void check_handler(const ProtobufCMessage *message)
{
    const void *any = message;
    const Warded__V1__QueryRequest *query = any;
    const Warded__V1__ListRequest *list = any;
    const Warded__V1__RevokeRequest *revoke = any;

    if (message->descriptor == &warded__v1__issue_request__descriptor)
        check_issue(any);
    else if (message->descriptor == &warded__v1__list_request__descriptor)
        check_filter(list->filter);
    else if (message->descriptor == &warded__v1__revoke_request__descriptor)
        check_filter(revoke->filter);
    else if (message->descriptor == &warded__v1__query_request__descriptor)
        check_times(query->filter);
}

/* The stage itself: who may, the payload, the service's planner, what is kept of it. */
static void check_policy(const wd_route *route, wd_span bytes)
{
    wd_request request = {.payload = bytes, .method = route->method->path};
    wd_peer peer = {.account = NULL}; /* nobody's budget */
    wd_call call = {.peer = &peer,
                    .gate = &the_scene()->gate,
                    .request = &request,
                    .route = route,
                    .token = the_scene()->boss.token};
    wd_error err = {.status = WD_OK};
    wd_step step = wd_policy_check(&call, &err);

    FUZZ_CHECK(step == WD_NEXT || step == WD_FAILED);
    if (step == WD_FAILED)
        fuzz_check_refusal(err.status, &err);
    FUZZ_CHECK(step == WD_FAILED || route->method->built);
    FUZZ_CHECK(step == WD_FAILED || call.n_pairs > 0 || !route->method->audited);
    if (step == WD_NEXT)
        check_handler(call.message);
    wd_budget_free(call.budget);
}

static const ProtobufCMessageDescriptor *type_of(const wd_route *route, bool reply)
{
    return reply ? route->method->reply : route->method->request;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    size_t which = fuzz_byte(&in) % (2 * the_scene()->n_routes);
    const wd_route *route = wd_registry_at(the_scene()->gate.registry, which / 2);
    const ProtobufCMessageDescriptor *type = type_of(route, which % 2 == 1);
    WD_AUTO(wd_budget) *budget = wd_budget_new(in.size);
    wd_error err = {.status = WD_OK};

    FUZZ_CHECK(budget != NULL);
    if (which % 2 == 0)
        check_policy(route, in);
    ProtobufCMessage *message = decode(type, in, budget, &err);
    if (message != NULL || err.reason != WD_REASON_TOO_LARGE)
        check_list(type, in, message != NULL);
    if (message == NULL)
        return 0;
    fuzz_check_texts(message);
    check_round_trip(message);
    check_items(message, budget);
    return 0;
}
