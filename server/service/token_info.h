/* token_info.h - what may be told of a token.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_SERVICE_TOKEN_INFO_H
#define WD_SERVER_SERVICE_TOKEN_INFO_H

#include "store/tokens.h"
#include "warded/v1/token.pb-c.h"

/* Fill *ret_info, which borrows all from the token. */
void wd_token_info_fill(const wd_token *token, int64_t now_ms,
                        Warded__V1__TokenInfo *ret_info);

#endif
