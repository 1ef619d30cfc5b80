/* Check: what would become of a call with a token, rule by rule, by id. */
#include "proto/c/utf8.h"
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/token_scopes.h"
#include "server/service/token_work.h"
#include "store/scope.h"
#include "store/token_spend.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

#include <stdio.h>
#include <string.h>

#define MOST_RULES (WD_TOKEN_RULES + 5U)

typedef struct asking {
    const wd_call *call;
    const Warded__V1__CheckRequest *request;
    const wd_token *token;
    wd_token_verdict verdicts[MOST_RULES];
    size_t n;
} asking;

wd_step wd_token_plan_ask(wd_call *call, wd_error *err)
{
    const Warded__V1__CheckRequest *request = (const void *)call->message;

    if (wd_token_may(call, request->id, call->route->method->scope, false, err) !=
        WD_OK)
        return WD_FAILED;
    return wd_call_plan_one(call, err);
}

static wd_token_verdict *add(asking *a, const char *rule, wd_reason reason)
{
    wd_token_verdict *verdict = &a->verdicts[a->n++];

    *verdict = (wd_token_verdict){.rule = rule, .reason = reason};
    return verdict;
}

/* --- rules ------------------------------------------------------------------------------ */

/* As if by the peer it is bound to, unless another is named. A key or certificate that it
 * is bound to is taken to be there. */
static void check_token(asking *a)
{
    const wd_token *token = a->token;
    bool by_uri = strncmp(token->bind, "uri:", 4) == 0;
    const char *principal = a->request->principal;
    uint8_t digest[WD_SHA256_BYTES] = {0};
    const wd_token_proof proof = {
        .peer_uri = principal[0] != '\0' ? principal
                    : by_uri             ? token->bind + 4
                                         : "",
        .peer_key = digest,
        .peer_cert = digest,
        .gate_uri = a->call->gate->uri,
        .now_ms = wd_store_now_ms(a->call->gate->store),
    };

    wd_token_explain(token, &proof, a->verdicts);
    a->n = WD_TOKEN_RULES;
    if (!by_uri && strcmp(token->bind, "unbound") != 0) {
        a->verdicts[0].reason = WD_REASON_NONE;
        (void)snprintf(a->verdicts[0].why, WD_TOKEN_WHY_BYTES,
                       "passes with the key or certificate of %.80s", token->bind);
    }
}

/* "observe:{tool}" and "sql" to "observe:sql"; without an object, as it is. */
static void scope_asked(const asking *a, const char *scope, char *ret, size_t size)
{
    const char *hole = scope != NULL ? strchr(scope, '{') : NULL;

    if (hole == NULL || a->request->object[0] == '\0')
        (void)snprintf(ret, size, "%s", scope != NULL ? scope : "");
    else
        (void)snprintf(ret, size, "%.*s%s", (int)(hole - scope), scope,
                       a->request->object);
}

static bool scope_held(const asking *a, const wd_method *asked)
{
    return asked->scope[0] == '\0' ||
           wd_method_held(asked, a->token->scopes, a->token->n_scopes);
}

static void say_scope(wd_token_verdict *verdict, const wd_token *token,
                      const wd_method *asked)
{
    WD_AUTO(wd_text) *held = wd_token_scopes_text(token->scopes, token->n_scopes);
    bool granted = asked->grant[0] != '\0';

    (void)snprintf(verdict->why, sizeof(verdict->why),
                   "the method needs %.100s%s%.60s; held: %.120s",
                   asked->scope[0] != '\0' ? asked->scope : "no scope",
                   granted ? " or " : "", asked->grant, held != NULL ? held : "");
}

static void check_scope(asking *a)
{
    char scope[2 * WD_SCOPE_BYTES];
    char grant[2 * WD_SCOPE_BYTES];
    const wd_route *route =
        wd_registry_find(a->call->gate->registry, a->request->method);

    if (a->request->method[0] == '\0')
        return;
    if (route == NULL) {
        wd_token_verdict *verdict = add(a, "scope", WD_REASON_METHOD_UNKNOWN);
        (void)snprintf(verdict->why, sizeof(verdict->why), "there is no method %.200s",
                       a->request->method);
        return;
    }
    scope_asked(a, route->method->scope, scope, sizeof(scope));
    scope_asked(a, route->method->grant, grant, sizeof(grant));
    const wd_method asked = {.scope = scope, .grant = grant};
    bool held = scope_held(a, &asked);
    wd_token_verdict *verdict =
        add(a, "scope", held || route->method->own ? 0 : WD_REASON_SCOPE_MISSING);
    say_scope(verdict, a->token, &asked);
    if (!held && route->method->own)
        (void)snprintf(verdict->why, sizeof(verdict->why),
                       "passes for itself; for others the method needs %.100s", scope);
}

static void say(asking *a, const char *rule, bool ok, const wd_error *err)
{
    wd_token_verdict *verdict = add(a, rule, ok ? WD_REASON_NONE : err->reason);

    (void)snprintf(verdict->why, sizeof(verdict->why), "%.*s", WD_TOKEN_WHY_BYTES - 1,
                   ok ? "passes" : err->msg);
}

static void check_spending(asking *a)
{
    wd_error err = {0};
    int64_t mono_ns = wd_clock_mono_ns(a->call->gate->clock);

    say(a, "uses", wd_token_uses_left(a->token, &err), &err);
    say(a, "rate", wd_token_rate_left(a->token, mono_ns, &err), &err);
    say(a, "concurrency", wd_token_room_left(a->token, &err), &err);
}

/* Not a fault: it may be for what other gates have. */
static void check_idle_scopes(asking *a)
{
    const char *idle[WD_SCOPES_COUNT];
    size_t n = wd_token_idle_scopes(a->call->gate, a->token, idle);
    WD_AUTO(wd_text) *all = wd_token_scopes_text(idle, n);

    if (n > 0)
        (void)snprintf(add(a, "idle_scopes", WD_REASON_NONE)->why, WD_TOKEN_WHY_BYTES,
                       "open nothing at this gate: %.280s", all != NULL ? all : "");
}

/* --- the answer ------------------------------------------------------------------------- */

static wd_status answer(wd_call *call, asking *a, wd_error *err)
{
    Warded__V1__CheckReply reply = WARDED__V1__CHECK_REPLY__INIT;
    Warded__V1__CheckReply__Rule rules[MOST_RULES];
    Warded__V1__CheckReply__Rule *list[MOST_RULES];
    wd_token_info info;

    reply.allowed = true;
    reply.message = wd_pb_text("the call would pass");
    for (size_t i = 0; i < a->n; i++) {
        wd_token_verdict *verdict = &a->verdicts[i];
        wd_utf8_mend(verdict->why); /* it quotes the caller, cut to fit */
        warded__v1__check_reply__rule__init(&rules[i]);
        rules[i].rule = wd_pb_text(verdict->rule);
        rules[i].ok = verdict->reason == WD_REASON_NONE;
        rules[i].why = wd_pb_text(verdict->why);
        list[i] = &rules[i];
        if (rules[i].ok || !reply.allowed)
            continue;
        reply.allowed = false;
        reply.reason = (Warded__V1__Reason)verdict->reason;
        reply.message = rules[i].why;
    }
    reply.rules = list;
    reply.n_rules = a->n;
    wd_token_info_fill(a->token, wd_store_now_ms(call->gate->store), &info);
    reply.info = &info.message;
    return wd_warded_v1_token_reply_check(call, &reply, err);
}

wd_step wd_token_ask(void *self, wd_call *call, const Warded__V1__CheckRequest *request,
                     wd_error *err)
{
    asking a = {.call = call, .request = request};
    wd_token *token = NULL;

    (void)self;
    if (wd_token_target(call, request->id, &token, err) != WD_OK)
        return WD_FAILED;
    a.token = token;
    check_token(&a);
    check_scope(&a);
    check_spending(&a);
    check_idle_scopes(&a);
    return answer(call, &a, err) == WD_OK ? WD_NEXT : WD_FAILED;
}
