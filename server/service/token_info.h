/* token_info.h - what may be told of a token.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_SERVICE_TOKEN_INFO_H
#define WD_SERVER_SERVICE_TOKEN_INFO_H

#include "proto/c/limits.h"
#include "store/tokens.h"
#include "warded/v1/token.pb-c.h"

/* The message, and what it borrows beside the token. Do not copy it. */
typedef struct wd_token_info {
    Warded__V1__TokenInfo message;
    Warded__V1__TokenRate rate;
    char peer[WD_URI_BYTES + 1];
    char address[WD_TOKEN_PEER_BYTES];
    char successor[WD_TOKEN_ID_CHARS + 1];
} wd_token_info;

/* Fill *ret_info, which borrows the rest from the token. */
void wd_token_info_fill(const wd_token *token, int64_t now_ms, wd_token_info *ret_info);

#endif
