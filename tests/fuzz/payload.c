/* Payloads decoded under a budget: every message that a stranger may send, and every
 * reply; then the checks of an action's fields and its routing. */
#include "proto/c/alloc.h"
#include "proto/c/message.h"
#include "server/service/item_check.h"
#include "server/service/routing.h"
#include "tests/fuzz/fuzz.h"
#include "warded/v1/audit.pb-c.h"
#include "warded/v1/health.pb-c.h"
#include "warded/v1/observation.pb-c.h"
#include "warded/v1/token.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
    &warded__v1__get_observation_request__descriptor,
    &warded__v1__get_observation_reply__descriptor,
    &warded__v1__list_tools_request__descriptor,
    &warded__v1__list_tools_reply__descriptor,
    &warded__v1__issue_request__descriptor,
    &warded__v1__issue_reply__descriptor,
    &warded__v1__revoke_request__descriptor,
    &warded__v1__revoke_reply__descriptor,
    &warded__v1__who_am_irequest__descriptor,
    &warded__v1__who_am_ireply__descriptor,
    &warded__v1__query_request__descriptor,
    &warded__v1__query_reply__descriptor,
    &warded__v1__head_request__descriptor,
    &warded__v1__head_reply__descriptor,
};

#define N_TYPES (sizeof(types) / sizeof(types[0]))

static ProtobufCMessage *decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                                wd_budget *budget, wd_error *err)
{
    ProtobufCMessage *message = NULL;
    wd_status status = wd_message_decode(type, bytes, budget, &message, err);

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

static char *tags[] = {(char[]){"python"}, (char[]){"py"}};
static wd_tool_config tools[] = {{.name = (char[]){"python_code"}, .tags = {tags, 2}}};
static const wd_config config = {.tools = tools, .n_tools = 1};
static const wd_action_limits maxima = {60000, 60000, 1U << 30, 64, 1U << 26, 1U << 20};

static void check_item(const Warded__V1__Item *item, wd_budget *budget)
{
    wd_error err = {.status = WD_OK};
    wd_routed routed;
    const char *field = NULL;
    wd_status status = wd_item_check(item, &maxima, &field, &err);

    if (status == WD_OK) {
        const wd_routing_ask ask = {item->tool, item->action, budget};
        status = wd_routing_find(&config, &ask, &routed, &err);
    }
    if (status != WD_OK)
        fuzz_check_refusal(status, &err);
}

static void check_items(const ProtobufCMessage *message, wd_budget *budget)
{
    const Warded__V1__GetObservationRequest *request = (const void *)message;

    if (message->descriptor != types[0])
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    const ProtobufCMessageDescriptor *type = types[fuzz_byte(&in) % N_TYPES];
    WD_AUTO(wd_budget) *budget = wd_budget_new(in.size);
    wd_error err = {.status = WD_OK};

    FUZZ_CHECK(budget != NULL);
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
