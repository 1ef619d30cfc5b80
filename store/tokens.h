/* tokens.h - what the store knows of tokens: kept, listed, changed.
 *
 * A family is what people call one token: generations that follow each other, each with
 * an id and secret of its own. A token holds only while a generation of the one that it
 * was issued with does.
 *
 * Threads: a wd_token: any thread; its fields never change, what may change is read
 *          through functions. Checking one is store/token_table.h's, changing one
 *          store/token_life.h's.
 * Owns:    a wd_token is counted: each *ret_token is one more, wd_token_unref one less.
 * Source:  docs/tokens.md; RFC 8705 for the idea of binding. */
#ifndef WD_STORE_TOKENS_H
#define WD_STORE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/token.h"
#include "store/token_life.h"
#include "store/token_make.h"

#define WD_TOKEN_PEER_BYTES 64U /* an address with its port and the NUL */

typedef enum wd_token_state {
    WD_TOKEN_ACTIVE,
    WD_TOKEN_RETIRING, /* a newer generation exists, the overlap is open */
    WD_TOKEN_NOT_YET,
    WD_TOKEN_EXPIRED,
    WD_TOKEN_IDLE, /* has expired because nobody used it */
    WD_TOKEN_REVOKED,
    WD_TOKEN_RETIRED,  /* the overlap is over; of a wrap: it was unwrapped */
    WD_TOKEN_ORPHANED, /* no generation of its parent's family holds */
    WD_TOKEN_SPENT,    /* no use is left */
} wd_token_state;

/* A token as it is kept: everything but its secret. Read only. */
typedef struct wd_token {
    char id[WD_TOKEN_ID_CHARS + 1];
    char family[WD_TOKEN_ID_CHARS + 1]; /* id of the first, or of the first's wrap */
    uint32_t generation;                /* counts from 1; 0: a wrap */
    wd_token_kind kind;
    const char *name;
    const char *owner;
    const char *purpose;
    const char *audience;
    const char *const *scopes;
    size_t n_scopes;
    const char *bind;
    const char *parent; /* id of the token it was issued with; "": nobody's */
    int64_t created_ms;
    int64_t not_before_ms;
    int64_t ttl_ms;             /* as it was made; renewals lead further */
    int64_t renewable_until_ms; /* no renewal leads further than this */
    int64_t idle_ms;
    wd_token_limits limits; /* the family's */
    bool retires_old;       /* its first use ends the overlap */

    /* of a wrap */
    wd_token_kind wraps;  /* kind of the token inside; 0: this is no wrap */
    int64_t inner_ttl_ms; /* of what is inside, from not_before_ms on */
    int64_t overlap_ms;   /* of the rotation that unwrapping makes */
} wd_token;

wd_token *wd_token_ref(wd_token *token);
void wd_token_unref(wd_token *token); /* NULL is fine */
WD_DEFINE_AUTO(wd_token, wd_token_unref)

int64_t wd_token_expires_ms(const wd_token *token);
int64_t wd_token_retires_ms(const wd_token *token); /* end of the overlap; 0: newest */
int64_t wd_token_revoked_ms(const wd_token *token); /* 0: not revoked */
int64_t wd_token_last_used_ms(const wd_token *token); /* 0: never */
const char *wd_token_revoked_reason(const wd_token *token);
const char *wd_token_unwrapped(const wd_token *token); /* id of what came out, or "" */

/* Whom it was last used by: URI and address, "" for never. ret_uri: WD_URI_BYTES + 1. */
void wd_token_last_peer(const wd_token *token, char *ret_uri,
                        char ret_address[WD_TOKEN_PEER_BYTES]);

/* Whether it holds now, and if not, why. Parents and uses are only known to tokens of a
 * table (store/token_table.h). */
wd_token_state wd_token_state_at(const wd_token *token, int64_t now_ms);
bool wd_token_holds(const wd_token *token, int64_t now_ms); /* active or retiring */
const char *wd_token_state_name(wd_token_state state); /* "active", "not_yet", ... */

/* Called for each token, oldest first; borrowed. false: enough. */
typedef bool wd_token_each(void *arg, const wd_token *token);
WD_MUST_USE wd_status wd_tokens_list(wd_reader *reader, wd_token_each *each, void *arg,
                                     wd_error *err);
/* Errors: NOT_FOUND TOKEN_ID_UNKNOWN */
WD_MUST_USE wd_status wd_tokens_find(wd_reader *reader, const char *id,
                                     wd_token **ret_token, wd_error *err);

/* All tokens of a database in a table of the caller's, for programs that answer offline
 * what a gate answers from its own. Free it with wd_token_table_free. */
struct wd_token_table;
WD_MUST_USE wd_status wd_tokens_read(wd_reader *reader,
                                     struct wd_token_table **ret_table, wd_error *err);

#endif
