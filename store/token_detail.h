/* token_detail.h - the `detail` of rows about tokens: JSON, never a secret.
 *
 * What token.issue says of a token is what the tokens table must say for ever; what the
 * others say, what it must say from then on.
 *
 * Threads: any.  Owns: texts are from malloc; NULL without memory.
 * Source:  docs/protocol.md, section 5. Internal to store/. */
#ifndef WD_STORE_TOKEN_DETAIL_H
#define WD_STORE_TOKEN_DETAIL_H

#include <stdint.h>

#include "store/tokens.h"

char *wd_token_issue_detail(const wd_token *token);

/* {"KEY": "TEXT"} */
char *wd_token_text_detail(const char *key, const char *text);

/* {"KEY": NUMBER, "NAME": "WORD"}; `word` NULL: without it. */
char *wd_token_number_detail(const char *key, int64_t number, const char *word);

/* *ret_differs: why the token is not what a token.issue row says, as the name of the
 * field; NULL: it is. *ret_expires_ms: the end that the row tells of.
 * Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_token_issue_differs(const wd_token *token, const char *detail,
                                             int64_t *ret_expires_ms,
                                             const char **ret_differs, wd_error *err);

/* A member of a detail. ret_id: an id with its NUL.
 * Errors: RESOURCE_EXHAUSTED, NOT_FOUND: the row does not say it */
WD_MUST_USE wd_status wd_token_detail_number(const char *detail, const char *key,
                                             int64_t *ret_number, wd_error *err);
WD_MUST_USE wd_status wd_token_detail_id(const char *detail, const char *key,
                                         char ret_id[WD_TOKEN_ID_CHARS + 1],
                                         wd_error *err);

#endif
