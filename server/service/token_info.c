#include "server/service/token_info.h"

#include "server/service/pb.h"
#include "store/token_table.h"

static Warded__V1__TokenInfo__State state_of(const wd_token *token, int64_t now_ms)
{
    switch (wd_token_state_at(token, now_ms)) {
    case WD_TOKEN_ACTIVE:
        return WARDED__V1__TOKEN_INFO__STATE__ACTIVE;
    case WD_TOKEN_NOT_YET:
        return WARDED__V1__TOKEN_INFO__STATE__NOT_YET;
    case WD_TOKEN_EXPIRED:
    case WD_TOKEN_IDLE:
        return WARDED__V1__TOKEN_INFO__STATE__EXPIRED;
    case WD_TOKEN_REVOKED:
        return WARDED__V1__TOKEN_INFO__STATE__REVOKED;
    case WD_TOKEN_RETIRING:
        return WARDED__V1__TOKEN_INFO__STATE__RETIRING;
    case WD_TOKEN_RETIRED:
        return WARDED__V1__TOKEN_INFO__STATE__RETIRED;
    case WD_TOKEN_ORPHANED:
        return WARDED__V1__TOKEN_INFO__STATE__ORPHANED;
    case WD_TOKEN_SPENT:
        return WARDED__V1__TOKEN_INFO__STATE__SPENT;
    }
    return WARDED__V1__TOKEN_INFO__STATE__STATE_UNSPECIFIED;
}

static void fill_what(const wd_token *token, Warded__V1__TokenInfo *info)
{
    info->id = wd_pb_text(token->id);
    info->family = wd_pb_text(token->family);
    info->generation = token->generation;
    info->kind = wd_pb_text(wd_token_kind_name(token->kind));
    info->name = wd_pb_text(token->name);
    info->owner = wd_pb_text(token->owner);
    info->purpose = wd_pb_text(token->purpose);
    info->audience = wd_pb_text(token->audience);
    info->scopes = (char **)(uintptr_t)token->scopes;
    info->n_scopes = token->n_scopes;
    info->bind = wd_pb_text(token->bind);
    info->parent = wd_pb_text(token->parent);
    if (token->wraps != 0)
        info->wraps = wd_pb_text(wd_token_kind_name(token->wraps));
}

static void fill_life(const wd_token *token, int64_t now_ms,
                      Warded__V1__TokenInfo *info)
{
    info->state = state_of(token, now_ms);
    info->created_ms = (uint64_t)token->created_ms;
    info->not_before_ms = (uint64_t)token->not_before_ms;
    info->expires_ms = (uint64_t)wd_token_expires_ms(token);
    info->renewable_until_ms = (uint64_t)token->renewable_until_ms;
    info->retires_ms = (uint64_t)wd_token_retires_ms(token);
    info->revoked_ms = (uint64_t)wd_token_revoked_ms(token);
    info->revoked_reason = wd_pb_text(wd_token_revoked_reason(token));
    info->unwrapped = wd_pb_text(wd_token_unwrapped(token));
    info->idle_ms = (uint64_t)token->idle_ms;
    info->last_used_ms = (uint64_t)wd_token_last_used_ms(token);
}

static void fill_limits(const wd_token *token, wd_token_info *ret)
{
    const wd_token_limits *limits = &token->limits;

    ret->message.max_uses = (uint64_t)limits->max_uses;
    ret->message.uses = (uint64_t)wd_token_uses(token);
    ret->message.concurrency = limits->concurrency;
    ret->message.running = wd_token_running(token);
    if (limits->rate_calls == 0)
        return;
    warded__v1__token_rate__init(&ret->rate);
    ret->rate.calls = limits->rate_calls;
    ret->rate.per_ms = limits->rate_per_ms;
    ret->message.rate = &ret->rate;
}

void wd_token_info_fill(const wd_token *token, int64_t now_ms, wd_token_info *ret_info)
{
    Warded__V1__TokenInfo *info = &ret_info->message;

    warded__v1__token_info__init(info);
    fill_what(token, info);
    fill_life(token, now_ms, info);
    fill_limits(token, ret_info);
    wd_token_last_peer(token, ret_info->peer, ret_info->address);
    info->last_peer = ret_info->peer;
    info->last_address = ret_info->address;
    wd_token_successor(token, ret_info->successor);
    info->successor = ret_info->successor;
}
