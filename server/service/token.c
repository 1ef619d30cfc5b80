/* Token: the keys, issued, looked at and taken back over the same door. */
#include "server/call.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/service/pb.h"
#include "server/service/services.h"
#include "server/service/token_info.h"
#include "server/service/token_owed.h"
#include "server/service/unbuilt.h"
#include "server/service_stage.h"

#include "warded/v1/token.wd.h"

#include <stdio.h>
#include <string.h>

#define MOST_IDS 1024U

/* The work of a parked call: made on its thread, written by the store's. */
typedef struct work {
    wd_store_job job;
    wd_call *call;
    wd_token_issued issued;                  /* Issue */
    const Warded__V1__RevokeRequest *revoke; /* Revoke; borrowed from the call */
    wd_revoked was[MOST_IDS];                /* by index in revoke->ids */
    size_t n_unknown;
    Warded__V1__RevokeReply revoked;
    wd_task task;
} work;

static void free_work(void *arg)
{
    work *w = arg;

    wd_token_issued_done(&w->issued);
    free(w);
}

static work *new_work(wd_call *call, wd_error *err)
{
    work *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return NULL;
    }
    w->call = call;
    warded__v1__revoke_reply__init(&w->revoked);
    wd_call_keep(call, w, free_work);
    return w;
}

/* On the writer's thread: the call goes back to the service threads. */
static void written(wd_store_job *job)
{
    work *w = WD_CONTAINER(job, work, job);
    wd_pool_post(w->call->gate->service_pool, &w->task);
}

static wd_step park(work *w, wd_status (*apply)(wd_store *, wd_store_job *, wd_error *),
                    void (*then)(wd_task *))
{
    w->job.apply = apply;
    w->job.done = written;
    w->task.run = then;
    wd_writer_submit(w->call->gate->writer, &w->job);
    return WD_PARKED;
}

/* A row of this service, with the caller as its principal. */
static wd_audit_row row_of(const wd_call *call, const char *event, const char *token_id,
                           const char *detail)
{
    return (wd_audit_row){
        .event = event,
        .outcome = "ok",
        .principal = call->peer->identity.uri,
        .peer_cert = call->peer->cert_hex,
        .peer_addr = call->peer->address,
        .call_id = call->id_text,
        .token_id = token_id,
        .detail = detail,
    };
}

/* --- Issue -------------------------------------------------------------------------------- */

static wd_status apply_issue(wd_store *store, wd_store_job *job, wd_error *err)
{
    work *w = WD_CONTAINER(job, work, job);
    wd_token *token = w->issued.token;
    WD_AUTO(wd_text) *detail = wd_token_issue_detail(token);
    wd_audit_row row = row_of(w->call, "token.issue", token->id, detail);

    if (detail == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    WD_TRY(wd_tokens_insert(store, token, err));
    return wd_audit_append(store, &row, err);
}

static void issued(wd_task *task)
{
    work *w = WD_CONTAINER(task, work, task);
    wd_call *call = w->call;
    Warded__V1__IssueReply reply = WARDED__V1__ISSUE_REPLY__INIT;
    Warded__V1__TokenInfo info;
    wd_error err = w->job.error;

    wd_status status = w->job.status;
    if (status == WD_OK) {
        wd_token_info_fill(w->issued.token, wd_store_now_ms(call->gate->store), &info);
        reply.token = w->issued.text.chars;
        reply.info = &info;
        status = wd_warded_v1_token_reply_issue(call, &reply, &err);
    }
    wd_pipeline_resume(call, status == WD_OK ? WD_NEXT : WD_FAILED, &err);
}

static wd_status check_built(const Warded__V1__IssueRequest *request, wd_error *err)
{
    const wd_unbuilt fields[] = {
        {"idle_ms", request->idle_ms != 0},
        {"max_uses", request->max_uses != 0},
        {"rate", request->rate != NULL},
        {"concurrency", request->concurrency != 0},
        {"renewable_ms", request->renewable_ms != 0},
        {"wrap_ttl_ms", request->wrap_ttl_ms != 0},
        {"allow_unbound", request->allow_unbound},
    };

    return wd_unbuilt_refuse(fields, sizeof(fields) / sizeof(fields[0]), err);
}

static wd_status spec_of(const wd_call *call, const Warded__V1__IssueRequest *request,
                         char *bind, wd_token_spec *spec, wd_error *err)
{
    wd_token_kind kind = WD_TOKEN_DATA;

    if (request->kind[0] != '\0' && (!wd_token_kind_parse(request->kind, &kind) ||
                                     (kind != WD_TOKEN_DATA && kind != WD_TOKEN_ADMIN)))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "kind is \"%.32s\", it must be \"data\" or \"admin\"",
                         request->kind);
    if (request->ttl_ms > INT64_MAX || request->not_before_ms > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "ttl_ms and not_before_ms are at most 2^63 - 1");
    (void)snprintf(bind, WD_URI_BYTES + 8, "uri:%s", call->peer->identity.uri);
    *spec = (wd_token_spec){
        .kind = kind,
        .name = request->name,
        .owner = request->owner[0] != '\0' ? request->owner
                                           : call->peer->identity.parsed.owner,
        .purpose = request->purpose,
        .audience = request->audience,
        .scopes = (const char *const *)(uintptr_t)request->scopes,
        .n_scopes = request->n_scopes,
        .bind = request->bind[0] != '\0' ? request->bind : bind,
        .ttl_ms = (int64_t)request->ttl_ms,
        .not_before_ms = (int64_t)request->not_before_ms,
        .parent = call->token->id,
    };
    return WD_OK;
}

/* What was not asked for is no more than the caller's own token allows: it ends with that
 * one, and holds at the same gates. */
static void inherit(const wd_token *own, int64_t now_ms, wd_token_spec *spec)
{
    int64_t start = spec->not_before_ms != 0 ? spec->not_before_ms : now_ms;
    int64_t left = own->expires_ms - start;
    int64_t usual =
        spec->kind == WD_TOKEN_ADMIN ? WD_TOKEN_TTL_ADMIN_MS : WD_TOKEN_TTL_DATA_MS;

    if (spec->ttl_ms == 0 && left >= WD_TOKEN_TTL_MIN_MS && left < usual)
        spec->ttl_ms = left;
    if (spec->audience[0] == '\0')
        spec->audience = own->audience;
}

/* No token outlives the one that it was issued with, or holds where that one does not. */
static wd_status check_bounds(const wd_token *own, const wd_token *made, wd_error *err)
{
    if (made->expires_ms > own->expires_ms)
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "it would expire at %lld ms, and token %s, with which it is "
            "issued, expires at %lld ms: ask for a ttl_ms that ends before",
            (long long)made->expires_ms, own->id, (long long)own->expires_ms);
    if (own->audience[0] != '\0' && strcmp(made->audience, own->audience) != 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "audience is \"%.128s\"; token %s, with which it is issued, "
                         "holds for \"%.128s\" alone",
                         made->audience, own->id, own->audience);
    return WD_OK;
}

/* Nobody issues what they do not hold. */
static wd_status check_scopes(const wd_call *call, const wd_token_spec *spec,
                              wd_error *err)
{
    const wd_token *own = call->token;
    const char *missing =
        wd_scopes_missing(own->scopes, own->n_scopes, spec->scopes, spec->n_scopes);

    if (missing == NULL)
        return WD_OK;
    return wd_refuse(err, WD_REASON_SCOPE_MISSING,
                     "scope \"%.128s\" is not covered by those of token %s", missing,
                     own->id);
}

static wd_step issue(void *self, wd_call *call, const Warded__V1__IssueRequest *request,
                     wd_error *err)
{
    char bind[WD_URI_BYTES + 8];
    wd_token_spec spec = {.kind = WD_TOKEN_DATA, .audience = ""};
    int64_t now_ms = wd_store_now_ms(call->gate->store);

    (void)self;
    if (check_built(request, err) != WD_OK ||
        spec_of(call, request, bind, &spec, err) != WD_OK ||
        check_scopes(call, &spec, err) != WD_OK)
        return WD_FAILED;
    inherit(call->token, now_ms, &spec);
    work *w = new_work(call, err);
    if (w == NULL || wd_token_make(&spec, now_ms, &w->issued, err) != WD_OK ||
        check_bounds(call->token, w->issued.token, err) != WD_OK)
        return WD_FAILED;
    return park(w, apply_issue, issued);
}

/* --- Revoke ------------------------------------------------------------------------------- */

static wd_status apply_revoke(wd_store *store, wd_store_job *job, wd_error *err)
{
    const work *w = WD_CONTAINER(job, work, job);
    WD_AUTO(wd_text) *detail = wd_token_revoke_detail(w->revoke->reason);

    for (size_t i = 0; i < w->revoke->n_ids; i++) {
        const char *id = w->revoke->ids[i];
        wd_audit_row row = row_of(w->call, "token.revoke", id, detail);
        if (w->was[i] == WD_REVOKED_UNKNOWN)
            continue;
        WD_TRY(wd_tokens_revoke(store, id, w->revoke->reason, err));
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

static void revoked(wd_task *task)
{
    work *w = WD_CONTAINER(task, work, task);
    wd_call *call = w->call;
    wd_error err;

    wd_status status = w->job.status;
    if (status != WD_OK) {
        wd_token_owe(call, w->revoke, w->was);
        status = wd_refuse(&err, WD_REASON_OUTCOME_UNRECORDED,
                           "the tokens are revoked in this gate, but not yet on disk, "
                           "and would live again after a restart; they are written as "
                           "soon as the disk takes them: %s",
                           w->job.error.msg);
    } else if (w->n_unknown > 0)
        status =
            wd_refuse(&err, WD_REASON_TOKEN_ID_UNKNOWN,
                      "%zu of %zu ids are unknown, %zu tokens are revoked",
                      w->n_unknown, w->revoke->n_ids, w->revoke->n_ids - w->n_unknown);
    else
        status = wd_warded_v1_token_reply_revoke(call, &w->revoked, &err);
    wd_pipeline_resume(call, status == WD_OK ? WD_NEXT : WD_FAILED, &err);
}

static wd_status check_revoke(const Warded__V1__RevokeRequest *request, wd_error *err)
{
    const wd_unbuilt fields[] = {
        {"family", request->family},          {"children", request->children},
        {"owner", request->owner[0] != '\0'}, {"filter", request->filter[0] != '\0'},
        {"leaked", request->n_leaked > 0},    {"dry_run", request->dry_run},
    };

    WD_TRY(wd_unbuilt_refuse(fields, sizeof(fields) / sizeof(fields[0]), err));
    if (request->n_ids < 1 || request->n_ids > MOST_IDS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "ids has %zu entries, 1 to %u",
                         request->n_ids, MOST_IDS);
    if (strlen(request->reason) > WD_TOKEN_REASON_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "reason has %zu bytes, at most %u", strlen(request->reason),
                         WD_TOKEN_REASON_BYTES);
    for (size_t i = 0; i < request->n_ids; i++) {
        if (!wd_token_id_valid(request->ids[i]))
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "ids[%zu] is not the id of a token (10 characters)", i);
    }
    return WD_OK;
}

/* In memory at once: no new call passes, and those under way are ended. */
static void revoke_now(work *w)
{
    wd_gate *gate = w->call->gate;
    int64_t now_ms = wd_store_now_ms(gate->store);

    for (size_t i = 0; i < w->revoke->n_ids; i++) {
        const char *id = w->revoke->ids[i];
        const wd_live_filter filter = {.token_id = id};
        wd_revoked was =
            wd_token_table_revoke(wd_store_tokens(gate->store), id, now_ms);
        w->revoked.revoked += was == WD_REVOKED_NOW;
        w->revoked.already += was == WD_REVOKED_ALREADY;
        w->was[i] = was;
        w->n_unknown += was == WD_REVOKED_UNKNOWN;
        w->revoked.calls_signalled +=
            (uint32_t)wd_inflight_signal(gate->inflight, &filter, WD_SIGNAL_REVOKED);
    }
}

static wd_step revoke_ids(void *self, wd_call *call,
                          const Warded__V1__RevokeRequest *request, wd_error *err)
{
    (void)self;
    if (check_revoke(request, err) != WD_OK)
        return WD_FAILED;
    work *w = new_work(call, err);
    if (w == NULL)
        return WD_FAILED;
    w->revoke = request;
    revoke_now(w);
    return park(w, apply_revoke, revoked);
}

/* --- WhoAmI ------------------------------------------------------------------------------- */

static wd_step who_am_i(void *self, wd_call *call,
                        const Warded__V1__WhoAmIRequest *request, wd_error *err)
{
    Warded__V1__WhoAmIReply reply = WARDED__V1__WHO_AM_IREPLY__INIT;
    Warded__V1__TokenInfo info;

    (void)self;
    (void)request;
    wd_token_info_fill(call->token, wd_store_now_ms(call->gate->store), &info);
    reply.principal = wd_pb_text(call->peer->identity.uri);
    reply.certificate_sha256 =
        wd_pb_bytes(call->peer->identity.cert_sha256, WD_SHA256_BYTES);
    reply.token = &info;
    reply.gate = wd_pb_text(call->gate->uri);
    return wd_warded_v1_token_reply_who_am_i(call, &reply, err) == WD_OK ? WD_NEXT
                                                                         : WD_FAILED;
}

wd_status wd_service_token_add(wd_registry *registry, wd_error *err)
{
    static const wd_warded_v1_token_service service = {
        .issue = issue,
        .revoke = revoke_ids,
        .who_am_i = who_am_i,
    };

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_token, &service, err));
    wd_registry_go_on(registry, "/warded.v1.Token/Revoke");
    return WD_OK;
}
