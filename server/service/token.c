/* Token: the keys, issued, looked at and taken back over the same door. Here Issue, WhoAmI
 * and the table of the service; the rest stands in token_*.c. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/services.h"
#include "server/service/token_scopes.h"
#include "server/service/token_spec.h"
#include "server/service/token_work.h"
#include "server/service_stage.h"
#include "store/scope.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

#include <stdio.h>
#include <string.h>

/* --- Issue -------------------------------------------------------------------------------- */

static wd_status apply_issue(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_token_work *work = WD_CONTAINER(job, wd_token_work, job);
    const wd_audit_row by = wd_rows_by(work->call);

    return wd_tokens_add(store, work->issued.token, &by, err);
}

static wd_status issued(wd_token_work *work, wd_error *err)
{
    Warded__V1__IssueReply reply = WARDED__V1__ISSUE_REPLY__INIT;
    const char *idle[WD_SCOPES_COUNT];
    wd_token_info info;

    wd_token_info_fill(work->issued.token, wd_store_now_ms(work->call->gate->store),
                       &info);
    reply.token = work->issued.text.chars;
    reply.info = &info.message;
    reply.n_idle_scopes =
        wd_token_idle_scopes(work->call->gate, work->issued.token, idle);
    reply.idle_scopes = (char **)(uintptr_t)idle;
    return wd_warded_v1_token_reply_issue(work->call, &reply, err);
}

static wd_status spec_of(const wd_call *call, const Warded__V1__IssueRequest *request,
                         char *bind, wd_token_spec *spec, wd_error *err)
{
    WD_TRY(wd_token_spec_fill(request, spec, err));
    (void)snprintf(bind, WD_URI_BYTES + 8, "uri:%s", call->peer->identity.uri);
    if (request->owner[0] == '\0')
        spec->owner = call->peer->identity.parsed.owner;
    if (request->bind[0] == '\0')
        spec->bind = bind;
    spec->parent = call->token->id;
    return WD_OK;
}

/* What was not asked for is no more than the caller's own token allows: it ends with that
 * one, and holds at the same gates. */
static void inherit(const wd_token *own, int64_t now_ms, wd_token_spec *spec)
{
    int64_t start = spec->not_before_ms != 0 ? spec->not_before_ms : now_ms;
    int64_t left = wd_token_expires_ms(own) - start;
    int64_t usual =
        spec->kind == WD_TOKEN_ADMIN ? WD_TOKEN_TTL_ADMIN_MS : WD_TOKEN_TTL_DATA_MS;

    if (spec->ttl_ms == 0 && left >= WD_TOKEN_TTL_MIN_MS && left < usual)
        spec->ttl_ms = left;
    if (spec->audience[0] == '\0')
        spec->audience = own->audience;
}

/* When the token ends; of a wrap, when what is inside does. */
static int64_t end_of(const wd_token *made)
{
    return made->wraps != 0 ? made->not_before_ms + made->inner_ttl_ms
                            : wd_token_expires_ms(made);
}

/* No token outlives the one that it was issued with, or holds where that one does not. */
static wd_status check_bounds(const wd_token *own, const wd_token *made, wd_error *err)
{
    if (end_of(made) > wd_token_expires_ms(own))
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "it would expire at %lld ms, and token %s, with which it is "
            "issued, expires at %lld ms: ask for a ttl_ms that ends before",
            (long long)end_of(made), own->id, (long long)wd_token_expires_ms(own));
    if (!wd_audience_covers(own->audience, made->audience))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "audience is \"%.128s\"; token %s, with which it is issued, "
                         "holds for \"%.128s\" alone",
                         made->audience, own->id, own->audience);
    if (wd_token_depth(own) + 1 >= WD_TOKEN_DEPTH)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "token %s has %u parents above it, which is as many as there "
                         "may be: issue with one of those",
                         own->id, wd_token_depth(own));
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
    if (spec_of(call, request, bind, &spec, err) != WD_OK ||
        check_scopes(call, &spec, err) != WD_OK)
        return WD_FAILED;
    inherit(call->token, now_ms, &spec);
    wd_token_work *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL || wd_token_make(&spec, now_ms, &w->issued, err) != WD_OK ||
        check_bounds(call->token, w->issued.token, err) != WD_OK)
        return WD_FAILED;
    return wd_token_work_park(w, apply_issue, issued);
}

/* --- WhoAmI ------------------------------------------------------------------------------- */

static wd_step who_am_i(void *self, wd_call *call,
                        const Warded__V1__WhoAmIRequest *request, wd_error *err)
{
    Warded__V1__WhoAmIReply reply = WARDED__V1__WHO_AM_IREPLY__INIT;
    wd_token_info info;

    (void)self;
    (void)request;
    wd_token_info_fill(call->token, wd_store_now_ms(call->gate->store), &info);
    reply.principal = wd_pb_text(call->peer->identity.uri);
    reply.certificate_sha256 =
        wd_pb_bytes(call->peer->identity.cert_sha256, WD_SHA256_BYTES);
    reply.key_sha256 = wd_pb_bytes(call->peer->identity.key_sha256, WD_SHA256_BYTES);
    reply.token = &info.message;
    reply.gate = wd_pb_text(call->gate->uri);
    return wd_warded_v1_token_reply_who_am_i(call, &reply, err) == WD_OK ? WD_NEXT
                                                                         : WD_FAILED;
}

static const struct {
    const char *path;
    wd_where where;
    wd_planner *plan;
} places[] = {
    {"/warded.v1.Token/Renew", WD_RUN_POOL, wd_token_plan_renew},
    {"/warded.v1.Token/Rotate", WD_RUN_POOL, wd_token_plan_rotate},
    {"/warded.v1.Token/Revoke", WD_RUN_POOL, wd_token_plan_revoke},
    {"/warded.v1.Token/List", WD_RUN_READER, NULL},
    {"/warded.v1.Token/Show", WD_RUN_READER, wd_token_plan_show},
    {"/warded.v1.Token/Check", WD_RUN_POOL, wd_token_plan_ask},
};

wd_status wd_service_token_add(wd_registry *registry, wd_error *err)
{
    static const wd_warded_v1_token_service service = {
        .issue = issue,
        .renew = wd_token_renew,
        .rotate = wd_token_rotate,
        .retire = wd_token_retire,
        .revoke = wd_token_revoke,
        .list = wd_token_list,
        .show = wd_token_show,
        .who_am_i = who_am_i,
        .check = wd_token_ask,
        .unwrap = wd_token_unwrap,
    };

    WD_TRY(wd_registry_add(registry, &wd_warded_v1_token, &service, err));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        wd_registry_place(registry, places[i].path, places[i].where, places[i].plan);
    wd_registry_go_on(registry, "/warded.v1.Token/Revoke");
    return WD_OK;
}
