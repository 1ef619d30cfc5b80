#include "server/service/item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "server/parts.h"
#include "server/policy.h"
#include "server/service/item_check.h"
#include "server/service/routing.h"
#include "store/scope.h"

#define STATUS(name) WARDED__V1__RESULT__STATUS__##name

/* The item does not run, because of `field`; the text of *err becomes its message. */
static wd_status refuse(wd_item *item, Warded__V1__Result__Status status,
                        const char *field, const wd_error *err, wd_budget *budget)
{
    item->runs = false;
    item->wrong = field;
    item->verdict = (wd_verdict){status, err->reason};
    item->message = wd_budget_text(budget, err->msg, strlen(err->msg));
    return item->message != NULL ? WD_OK : WD_RESOURCE_EXHAUSTED;
}

static bool may_use(const wd_call *call, const wd_tool_config *tool, wd_pair *pair)
{
    size_t size = strlen(tool->name) + sizeof("observe:");
    char *scope = wd_budget_take(call->budget, size);

    if (scope == NULL)
        return false;
    (void)snprintf(scope, size, "observe:%s", tool->name);
    pair->scope = scope;
    return wd_scopes_cover(call->token->scopes, call->token->n_scopes, scope);
}

static void fill_job(const wd_call *call, wd_item *item, wd_span code)
{
    const Warded__V1__Limits *limits = item->asked->limits;
    wd_exec_job *job = &item->job;

    job->tool = item->tool->name;
    job->code = code;
    job->stdin_data = (wd_span){item->asked->stdin.data, item->asked->stdin.len};
    job->start_by_ms = call->deadline_ms;
    job->end_by_ms = call->deadline_ms;
    warded__exec__v1__limits__init(&job->limits);
    if (limits == NULL)
        return;
    job->limits.wall_ms = limits->wall_ms;
    job->limits.cpu_ms = limits->cpu_ms;
    job->limits.memory_bytes = limits->memory_bytes;
    job->limits.pids = limits->pids;
    job->limits.files_bytes = limits->files_bytes;
    job->limits.output_bytes = limits->output_bytes;
}

static wd_span text_span(const char *text)
{
    return (wd_span){(const uint8_t *)text, strlen(text)};
}

/* Decide one item. Fails only when memory is out. */
static wd_status plan_item(const wd_call *call, wd_item *item, wd_pair *pair)
{
    const wd_config *config = call->gate->config;
    wd_budget *budget = call->budget;
    wd_routed routed;
    const char *field = NULL;
    wd_error err;

    if (wd_item_check(item->asked, &config->sandbox.maxima, &field, &err) != WD_OK)
        return refuse(item, STATUS(INVALID_ACTION), field, &err, budget);
    pair->trajectory_id = item->asked->trajectory_id;
    if (item->asked->finish) {
        item->valid = true;
        item->verdict = (wd_verdict){STATUS(OK), WD_REASON_NONE};
        return WD_OK;
    }
    const wd_routing_ask ask = {item->asked->tool, item->asked->action, budget};
    wd_status status = wd_routing_find(config, &ask, &routed, &err);
    if (status == WD_NOT_FOUND)
        return refuse(item, STATUS(INVALID_ACTION),
                      ask.named[0] != '\0' ? "tool" : "action", &err, budget);
    WD_TRY(status);
    item->tool = routed.tool;
    item->valid = true;
    pair->tool = routed.tool->name;
    if (!may_use(call, routed.tool, pair)) {
        (void)wd_refuse(&err, WD_REASON_SCOPE_MISSING,
                        "the token has no scope that covers observe:%s",
                        routed.tool->name);
        return refuse(item, STATUS(DENIED), "tool", &err, budget);
    }
    item->runs = true;
    fill_job(call, item, routed.code);
    return WD_OK;
}

static void digest_action(const wd_call *call, wd_span action, wd_pair *pair)
{
    uint8_t mac[WD_SHA256_BYTES];

    wd_hmac_sha256((wd_span){call->gate->digest_key, WD_SHA256_BYTES}, action, mac);
    wd_hex((wd_span){mac, sizeof(mac)}, pair->digest);
}

static int by_trajectory(const void *a, const void *b)
{
    const wd_item *left = *(wd_item *const *)a;
    const wd_item *right = *(wd_item *const *)b;
    int order = strcmp(left->asked->trajectory_id, right->asked->trajectory_id);

    if (order != 0)
        return order;
    return left < right ? -1 : left > right; /* one array: the items' order */
}

/* Items of one trajectory that run wait for each other, in their order. */
static wd_status chain(wd_items *items, wd_budget *budget)
{
    wd_item **sorted = wd_budget_take(budget, items->n_items * sizeof(wd_item *));
    size_t n = 0;

    if (sorted == NULL)
        return WD_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < items->n_items; i++) {
        if (items->items[i].runs)
            sorted[n++] = &items->items[i];
    }
    qsort(sorted, n, sizeof(wd_item *), by_trajectory);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i]->asked->trajectory_id,
                   sorted[i - 1]->asked->trajectory_id) != 0)
            continue;
        sorted[i - 1]->next = sorted[i];
        sorted[i]->follows = true;
    }
    return WD_OK;
}

/* The texts of the item that *at comes to, if they are faulty: refuse it. An action that
 * is no text goes on record by the digest of what came. */
static wd_status plan_faults(const wd_call *call, wd_item *item,
                             const wd_text_fault **at, wd_pair *pair)
{
    const wd_text_fault *first = *at;
    wd_error err;

    for (; *at != NULL && (*at)->element == pair->item; *at = (*at)->next) {
        if (strcmp((*at)->field, "action") == 0)
            digest_action(call, (*at)->text, pair);
    }
    (void)wd_refuse(&err, WD_REASON_FIELD_INVALID, "%s", first->message);
    return refuse(item, STATUS(INVALID_ACTION), first->field, &err, call->budget);
}

static wd_status plan_all(const wd_call *call, const wd_text_fault *faults,
                          wd_items *items, wd_pair *pairs)
{
    const Warded__V1__GetObservationRequest *request =
        (const Warded__V1__GetObservationRequest *)(const void *)call->message;

    for (size_t i = 0; i < items->n_items; i++) {
        wd_item *item = &items->items[i];
        *item = (wd_item){.asked = request->items[i], .message = ""};
        pairs[i] = (wd_pair){.item = (uint32_t)i};
        digest_action(call, text_span(item->asked->action), &pairs[i]);
        if (faults != NULL && faults->element == i)
            WD_TRY(plan_faults(call, item, &faults, &pairs[i]));
        else
            WD_TRY(plan_item(call, item, &pairs[i]));
    }
    return chain(items, call->budget);
}

static wd_status make_plan(wd_call *call, size_t n_items, wd_items **ret_items,
                           wd_pair **ret_pairs)
{
    wd_items *items = wd_budget_take(call->budget, sizeof(*items));
    wd_item *array = wd_budget_take(call->budget, n_items * sizeof(*array));

    *ret_pairs = wd_budget_take(call->budget, n_items * sizeof(wd_pair));
    if (items == NULL || array == NULL || *ret_pairs == NULL)
        return WD_RESOURCE_EXHAUSTED;
    *items = (wd_items){.n_items = n_items, .items = array};
    *ret_items = items;
    return plan_all(call, wd_call_take_faults(call), items, *ret_pairs);
}

wd_step wd_items_plan(wd_call *call, wd_error *err)
{
    const Warded__V1__GetObservationRequest *request =
        (const Warded__V1__GetObservationRequest *)(const void *)call->message;
    size_t n = request->n_items;
    wd_items *items = NULL;
    wd_pair *pairs = NULL;

    if (n < 1 || n > WD_BATCH_ITEMS) {
        (void)wd_refuse(err, WD_REASON_FIELD_INVALID,
                        "items has %zu entries, it may have 1 to %u", n,
                        WD_BATCH_ITEMS);
        return WD_FAILED;
    }
    if (make_plan(call, n, &items, &pairs) != WD_OK) {
        (void)wd_refuse(
            err, WD_REASON_TOO_LARGE,
            "%zu items of together %zu bytes take more memory than a request "
            "of that size may; send fewer at once",
            n, call->frame.size);
        return WD_FAILED;
    }
    wd_call_plan(call, items, pairs, n);
    return WD_NEXT;
}

void wd_items_done(wd_items *items)
{
    for (size_t i = 0; i < items->n_items; i++)
        wd_exec_done_free(WD_STEAL(items->items[i].job.done_message));
}
