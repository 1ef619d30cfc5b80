/* token_body.h - the whole of a wd_token, with what only the store may see.
 *
 * Threads: fields are fixed at birth but for the atomics and what the comments say.
 * Owns:    its strings. Internal to store/. */
#ifndef WD_STORE_TOKEN_BODY_H
#define WD_STORE_TOKEN_BODY_H

#include <stdatomic.h>

#include "store/tokens.h"

/* What a token is made from, whether by a spec or by a row. Borrowed. */
typedef struct wd_token_fields {
    const char *id;
    wd_token_kind kind;
    const char *name;
    const char *owner;
    const char *purpose;
    const char *audience;
    const char *scopes; /* parted by one space */
    const char *bind;
    const char *parent; /* "": none */
    const uint8_t *digest;
    int64_t created_ms;
    int64_t not_before_ms;
    int64_t expires_ms;
    int64_t revoked_ms;
    const char *revoked_reason;
    int64_t last_used_ms;
} wd_token_fields;

typedef struct wd_token_body {
    wd_token token; /* first: a wd_token * is a wd_token_body * */
    atomic_uint count;
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    char *texts;         /* all of the token's strings, one after another */
    const char **scopes; /* token.scopes, to be freed */
    _Atomic int64_t revoked_ms;
    _Atomic int64_t last_used_ms;
    int64_t flushed_ms;       /* the writer's: last_used_ms as stored */
    wd_token *next_fresh;     /* the writer's: the group's tokens */
    wd_token *next_in_bucket; /* the table's, under its lock */
    uint64_t issue_seq;       /* store/token_trail.c's: the rows that tell of it; 0: */
    uint64_t revoke_seq;      /* none was found */
} wd_token_body;

static inline wd_token_body *wd_token_body_of(wd_token *token)
{
    return (wd_token_body *)token;
}

static inline const wd_token_body *wd_token_const_body_of(const wd_token *token)
{
    return (const wd_token_body *)token;
}

/* A token with a count of one. Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_token_build(const wd_token_fields *fields,
                                     wd_token **ret_token, wd_error *err);

/* All scopes with one space between, as stored. From malloc; NULL without memory. */
char *wd_token_scopes_text(const char *const *scopes, size_t n);

#endif
