/* Renew: the end of a token, further off. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/service/token_work.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

typedef struct renewing {
    wd_token_work work; /* first */
    wd_token *token;    /* borrowed */
    int64_t end_ms;
} renewing;

wd_step wd_token_plan_renew(wd_call *call, wd_error *err)
{
    const Warded__V1__RenewRequest *request = (const void *)call->message;

    if (wd_token_may(call, request->id, call->route->method->scope, true, err) != WD_OK)
        return WD_FAILED;
    return wd_call_plan_one(call, err);
}

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const renewing *w = WD_CONTAINER(job, renewing, work.job);
    const wd_audit_row by = wd_rows_by(w->work.call);

    return wd_tokens_renew(store, w->token->id, w->end_ms, &by, err);
}

static wd_status reply(wd_token_work *work, wd_error *err)
{
    const renewing *w = (const renewing *)work;
    Warded__V1__RenewReply reply = WARDED__V1__RENEW_REPLY__INIT;
    wd_token_info info;

    wd_token_info_fill(w->token, wd_store_now_ms(work->call->gate->store), &info);
    reply.info = &info.message;
    return wd_warded_v1_token_reply_renew(work->call, &reply, err);
}

wd_step wd_token_renew(void *self, wd_call *call,
                       const Warded__V1__RenewRequest *request, wd_error *err)
{
    wd_token *token = NULL;
    int64_t end_ms = 0;

    (void)self;
    if (wd_token_target(call, request->id, &token, err) != WD_OK)
        return WD_FAILED;
    int64_t until = wd_token_parent_ends_ms(token);
    if (token->renewable_until_ms < until)
        until = token->renewable_until_ms;
    const wd_token_life life = {request->ttl_ms, token->ttl_ms, until,
                                wd_store_now_ms(call->gate->store)};
    if (wd_token_end(&life, &end_ms, err) != WD_OK)
        return WD_FAILED;
    renewing *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL)
        return WD_FAILED;
    w->token = token;
    w->end_ms = end_ms;
    return wd_token_work_park(&w->work, apply, reply);
}
