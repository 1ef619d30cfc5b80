/* token_body.h - the whole of a wd_token, with what only the store may see.
 *
 * Threads: fields are fixed at birth but for the atomics and what the comments say.
 * Owns:    its strings. Internal to store/. */
#ifndef WD_STORE_TOKEN_BODY_H
#define WD_STORE_TOKEN_BODY_H

#include <stdatomic.h>

#include "store/token_table.h"
#include "store/tokens.h"

struct wd_family;     /* store/token_family.h */
struct wd_token_said; /* store/token_trail.c */

/* What a token is made from, whether by a spec or by a row: `token` with its texts, and
 * what is not in it. Borrowed. */
typedef struct wd_token_fields {
    wd_token token;     /* scopes and n_scopes are not looked at */
    const char *scopes; /* parted by one space */
    const uint8_t *digest;
    int64_t expires_ms;
    int64_t retires_ms;
    int64_t revoked_ms;
    const char *revoked_reason;
    const char *unwrapped;
    int64_t last_used_ms;
    const char *last_peer;
    const char *last_address;
    int64_t reserved; /* uses; of the family, kept with its first */
} wd_token_fields;

typedef struct wd_token_body {
    wd_token token; /* first: a wd_token * is a wd_token_body * */
    atomic_uint count;
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    char *texts;         /* all of the token's strings, one after another */
    const char **scopes; /* token.scopes, to be freed */
    _Atomic int64_t expires_ms;
    _Atomic int64_t retires_ms;
    _Atomic int64_t revoked_ms;
    _Atomic int64_t last_used_ms;
    char *_Atomic revoked_reason; /* owned; set once; NULL: none */
    atomic_bool opened;           /* a wrap's: `unwrapped` is set */
    char unwrapped[WD_TOKEN_ID_CHARS + 1];

    /* whoever holds `noting` */
    atomic_flag noting;
    int64_t noted_ms;
    char last_address[WD_TOKEN_PEER_BYTES];
    char *last_peer; /* owned; NULL: the bound one, or nobody */

    int64_t flushed_ms; /* the writer's: last_used_ms as stored */
    int64_t reserved;   /* as read from the row; the family has it from then on */

    /* the table's, under its lock; never changed again but for `family` */
    struct wd_family *family;    /* NULL: in no table */
    struct wd_token_body *older; /* of the family */
    wd_token *next_in_bucket;
    struct wd_token_said *said; /* store/token_trail.c's, while it runs */
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

/* Keeps why it was revoked: the first reason stays. */
void wd_token_keep_reason(wd_token *token, const char *reason);

/* A wrap was opened, and the token `id` came out. The writer's thread. */
void wd_token_keep_unwrapped(wd_token *token, const char *id);

/* Keeps who used it, at most once a second. */
void wd_token_note_peer(wd_token *token, const char *uri, const char *address,
                        int64_t now_ms);

#endif
