/* Stage "policy": may this token do that. Then, for those who may, the payload: it is
 * decoded here, and the service says what will go on record. */
#include "server/policy.h"

#include <inttypes.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "server/parts.h"
#include "server/request_text.h"
#include "server/stages.h"
#include "store/scope.h"

#define UNWRAP          "/warded.v1.Token/Unwrap"
#define RETRY_MEMORY_MS 500

static bool allowed(const wd_method *method, const wd_token *token)
{
    if (token->kind == WD_TOKEN_WRAP)
        return strcmp(method->path, UNWRAP) == 0; /* which opens to wraps alone */
    if (method->scope[0] == '\0' || method->own)
        return true; /* own: the planner looks whom it concerns */
    return wd_method_held(method, token->scopes, token->n_scopes);
}

/* An unknown method and a forbidden one answer alike: the reason depends only on what
 * the token holds. */
static wd_step forbid(const wd_call *call, wd_error *err)
{
    const wd_token *token = call->token;
    const char *path = call->request->method;
    bool near = wd_registry_area_held(call->gate->registry, path, token->scopes,
                                      token->n_scopes);

    (void)wd_refuse(err, near ? WD_REASON_SCOPE_MISSING : WD_REASON_METHOD_UNKNOWN,
                    "%s: there is no such method, or the scopes of token %s do not "
                    "allow it",
                    path, token->id);
    return WD_FAILED;
}

static wd_step check_timeout(const wd_call *call, wd_error *err)
{
    const wd_method *method = call->route->method;

    if (call->request->timeout_ms <= method->max_timeout_ms)
        return WD_NEXT;
    (void)wd_refuse(err, WD_REASON_FIELD_INVALID,
                    "timeout_ms is %llu, at most %u for %s",
                    (unsigned long long)call->request->timeout_ms,
                    method->max_timeout_ms, method->path);
    return WD_FAILED;
}

/* HMAC(digest key, SHA-256(method, 0, payload)): the same call id must bring the same.
 * Asked of what goes on record only; it is a tenth of a small call's work. */
static void make_digest(wd_call *call)
{
    const char *path = call->route->method->path;
    uint8_t inner[WD_SHA256_BYTES];
    wd_sha256 sha;

    wd_sha256_init(&sha);
    wd_sha256_add(&sha, path, strlen(path) + 1);
    wd_sha256_add(&sha, call->request->payload.data, call->request->payload.size);
    wd_sha256_end(&sha, inner);
    wd_hmac_sha256((wd_span){call->gate->digest_key, WD_SHA256_BYTES},
                   (wd_span){inner, sizeof(inner)}, call->digest);
}

/* --- what the call's own memory costs ------------------------------------------------ */

static int charge_account(void *arg, size_t bytes)
{
    return (int)wd_tls_account_grow(arg, bytes);
}

static void release_account(void *arg, size_t bytes)
{
    wd_tls_account_release(arg, bytes);
}

/* A principal's share of all requests, as wd_tls_account has it. */
static uint64_t share_of(uint64_t request_bytes)
{
    return (request_bytes + WD_REQUEST_SLACK_BYTES) / WD_SHARES;
}

static wd_step refuse_for_good(const wd_call *call, wd_error *err)
{
    (void)wd_refuse(err, WD_REASON_TOO_LARGE,
                    "this request of %zu bytes is decoded into %zu or more: a "
                    "principal's share, a quarter of limits.request_bytes (%" PRIu64
                    "), would not hold both if it were empty; send less, or have the "
                    "setting raised",
                    call->frame.size, wd_budget_wanted(call->budget),
                    call->gate->config->limits.request_bytes);
    return WD_FAILED;
}

static wd_step refuse_memory(const wd_call *call, wd_error *err)
{
    uint64_t most = call->gate->config->limits.request_bytes;
    uint64_t alone = call->frame.size + wd_budget_wanted(call->budget);

    if (alone > share_of(most)) /* to send it again would not help */
        return refuse_for_good(call, err);
    if (wd_budget_refused(call->budget) == (int)WD_TLS_OVER_SHARE)
        (void)wd_refuse(err, WD_REASON_QUOTA,
                        "requests in memory and what they are decoded into may take a "
                        "quarter of limits.request_bytes (%" PRIu64 ") for one "
                        "principal: this request of %zu bytes takes more beside what "
                        "%s has; send again when others have ended, or send less",
                        most, call->frame.size, call->peer->identity.uri);
    else
        (void)wd_refuse(err, WD_REASON_CAPACITY,
                        "requests in memory and what they are decoded into take all of "
                        "limits.request_bytes (%" PRIu64 "): there is no room to "
                        "decode this one of %zu bytes; send again a little later",
                        most, call->frame.size);
    err->retry_after_ms = RETRY_MEMORY_MS;
    return WD_FAILED;
}

static wd_status decode(wd_call *call, wd_error *err)
{
    const wd_span payload = call->request->payload;
    const wd_method *method = call->route->method;
    wd_listed listed = {.faults = NULL};

    call->budget = wd_budget_new(payload.size);
    if (call->budget == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    const wd_budget_purse peer = {charge_account, release_account, call->peer->account};
    wd_budget_charge_to(call->budget, &peer);
    if (method->request == NULL)
        return WD_OK; /* CANCEL has no payload */
    if (method->record != WD_RECORD_ITEM)
        return wd_message_decode_request(method->request, payload, call->budget,
                                         &call->message, err);
    WD_TRY(
        wd_message_decode_list(method->request, payload, call->budget, &listed, err));
    call->message = listed.message;
    call->faults = listed.faults;
    return WD_OK;
}

const wd_text_fault *wd_call_take_faults(wd_call *call)
{
    const wd_text_fault *faults = call->faults;

    call->faults = NULL;
    return faults;
}

/* One pair, of the whole call; none of what leaves no record. */
wd_step wd_call_plan_one(wd_call *call, wd_error *err)
{
    if (!call->route->method->audited)
        return WD_NEXT;

    wd_pair *pair = wd_budget_take(call->budget, sizeof(*pair));
    if (pair == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return WD_FAILED;
    }
    *pair = (wd_pair){.trajectory_id = NULL};
    wd_hex((wd_span){call->digest, sizeof(call->digest)}, pair->digest);
    wd_call_plan(call, NULL, pair, 1);
    return WD_NEXT;
}

void wd_call_plan(wd_call *call, void *plan, wd_pair *pairs, size_t n_pairs)
{
    call->plan = plan;
    call->pairs = pairs;
    call->n_pairs = n_pairs;
}

/* At audit.level request: what is asked goes on record, without its secrets. */
static wd_step keep_requests(wd_call *call, wd_error *err)
{
    const wd_config *config = call->gate->config;
    const wd_secret_names names = {config->audit.redact.items,
                                   config->audit.redact.n_items};
    bool by_item = call->route->method->record == WD_RECORD_ITEM;

    if (config->audit.level != WD_AUDIT_REQUEST || call->message == NULL)
        return WD_NEXT;
    for (size_t i = 0; i < call->n_pairs; i++) {
        wd_pair *pair = &call->pairs[i];
        pair->request =
            wd_request_text("{", call->message, by_item ? pair->item : WD_REQUEST_WHOLE,
                            &names, call->budget);
        if (pair->request == NULL) {
            (void)wd_refuse(err, WD_REASON_CAPACITY,
                            "no memory to keep the request on record (audit.level)");
            return WD_FAILED;
        }
    }
    return WD_NEXT;
}

/* The payload, decoded, and what will go on record. */
static wd_step plan(wd_call *call, wd_error *err)
{
    const wd_route *route = call->route;

    if (decode(call, err) != WD_OK)
        return WD_FAILED;
    wd_step step =
        route->plan != NULL ? route->plan(call, err) : wd_call_plan_one(call, err);
    if (step != WD_NEXT)
        return step;
    if (call->faults != NULL) { /* the planner does not know of them */
        (void)wd_refuse(err, call->faults->reason, "%s", call->faults->message);
        return WD_FAILED;
    }
    return keep_requests(call, err);
}

wd_step wd_policy_check(wd_call *call, wd_error *err)
{
    const wd_route *route = call->route;

    if (route == NULL || !allowed(route->method, call->token))
        return forbid(call, err);
    if (!route->method->built || call->request->kind == WD_REQUEST_NEXT) {
        (void)wd_refuse(err, WD_REASON_NOT_BUILT,
                        "this gate (%s) does not have %s%s yet", WD_VERSION,
                        route->method->path,
                        call->request->kind == WD_REQUEST_NEXT ? " as a stream" : "");
        return WD_FAILED;
    }
    if (check_timeout(call, err) != WD_NEXT)
        return WD_FAILED;
    if (route->method->audited)
        make_digest(call);
    wd_step step = plan(call, err);
    if (step == WD_FAILED && call->budget != NULL &&
        wd_budget_refused(call->budget) != 0)
        return refuse_memory(call, err);
    return step;
}
