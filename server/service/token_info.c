#include "server/service/token_info.h"

#include "server/service/pb.h"

static Warded__V1__TokenInfo__State state_of(const wd_token *token, int64_t now_ms)
{
    switch (wd_token_state_at(token, now_ms)) {
    case WD_TOKEN_ACTIVE:
        return WARDED__V1__TOKEN_INFO__STATE__ACTIVE;
    case WD_TOKEN_NOT_YET:
        return WARDED__V1__TOKEN_INFO__STATE__NOT_YET;
    case WD_TOKEN_EXPIRED:
        return WARDED__V1__TOKEN_INFO__STATE__EXPIRED;
    case WD_TOKEN_REVOKED:
        return WARDED__V1__TOKEN_INFO__STATE__REVOKED;
    }
    return WARDED__V1__TOKEN_INFO__STATE__STATE_UNSPECIFIED;
}

void wd_token_info_fill(const wd_token *token, int64_t now_ms,
                        Warded__V1__TokenInfo *ret_info)
{
    warded__v1__token_info__init(ret_info);
    ret_info->id = wd_pb_text(token->id);
    ret_info->kind = wd_pb_text(wd_token_kind_name(token->kind));
    ret_info->name = wd_pb_text(token->name);
    ret_info->owner = wd_pb_text(token->owner);
    ret_info->purpose = wd_pb_text(token->purpose);
    ret_info->audience = wd_pb_text(token->audience);
    ret_info->scopes = (char **)(uintptr_t)token->scopes;
    ret_info->n_scopes = token->n_scopes;
    ret_info->bind = wd_pb_text(token->bind);
    ret_info->state = state_of(token, now_ms);
    ret_info->created_ms = (uint64_t)token->created_ms;
    ret_info->not_before_ms = (uint64_t)token->not_before_ms;
    ret_info->expires_ms = (uint64_t)token->expires_ms;
    ret_info->revoked_ms = (uint64_t)wd_token_revoked_ms(token);
    ret_info->revoked_reason = wd_pb_text(token->revoked_reason);
    ret_info->last_used_ms = (uint64_t)wd_token_last_used_ms(token);
}
