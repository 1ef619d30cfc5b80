/* token_table.h - all tokens in memory: a call's token is checked here, never by SQL.
 *
 * Threads: any. Lookups share a lock that only a change takes alone. What is asked of a
 *          single token takes none: a token never leaves its table, and must not be
 *          asked of its family or parents after the table has been freed.
 * Owns:    a count of each token. The store makes it, fills it at open and adds to it
 *          after each commit (wd_store_tokens). */
#ifndef WD_STORE_TOKEN_TABLE_H
#define WD_STORE_TOKEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/token.h"
#include "store/tokens.h"

typedef struct wd_token_table wd_token_table;

void wd_token_table_free(wd_token_table *table); /* NULL is fine */
WD_DEFINE_AUTO(wd_token_table, wd_token_table_free)

/* Who shows a token, where and when. All borrowed. */
typedef struct wd_token_proof {
    const char *token;        /* as it came: anything at all; NULL or "": missing */
    const char *peer_uri;     /* the certificate's URI, which has been verified */
    const uint8_t *peer_cert; /* SHA-256 of the certificate, 32 bytes; NULL: none */
    const uint8_t *peer_key;  /* SHA-256 of its SubjectPublicKeyInfo; NULL: none */
    const char *peer_address; /* for the last use; NULL: not kept */
    const char *gate_uri;     /* this gate's; NULL: any audience passes */
    int64_t now_ms;           /* wall clock; wd_store_now_ms */
} wd_token_proof;

/* Decides whether the token holds, and keeps time and peer as its last use. A reason
 * finer than TOKEN_UNKNOWN is told only to who had the secret right. An opened wrap holds
 * on: for who asks again with the call that opened it (store/token_life.h finds misuse).
 * Errors: UNAUTHENTICATED TOKEN_MISSING, _MALFORMED, _UNKNOWN, _NOT_YOURS, _REVOKED,
 *         _RETIRED, _EXPIRED, _NOT_YET, _AUDIENCE, in this order; with a parent that
 *         holds no more: _REVOKED or _EXPIRED, after _NOT_YET */
WD_MUST_USE wd_status wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                                     wd_token **ret_token, wd_error *err);

/* Whether `text` is the secret of this token. Takes the same time for every text. */
bool wd_token_is_secret(const wd_token *token, const char *text);

/* The rules of the check one by one, by id: without a secret, and without a use. */
#define WD_TOKEN_RULES     8U
#define WD_TOKEN_WHY_BYTES 320U
typedef struct wd_token_verdict {
    const char *rule; /* "bind", "revoked", ...; static */
    wd_reason reason; /* 0: passed */
    char why[WD_TOKEN_WHY_BYTES];
} wd_token_verdict;
void wd_token_explain(const wd_token *token, const wd_token_proof *proof,
                      wd_token_verdict ret_verdicts[WD_TOKEN_RULES]);

/* For rows about refusals: the id that a token names, if it reads as a token at all,
 * whether it is known or not. */
bool wd_token_claimed_id(const char *text, char ret_id[WD_TOKEN_ID_CHARS + 1]);

typedef enum wd_revoked {
    WD_REVOKED_NOW,     /* was live */
    WD_REVOKED_ALREADY, /* had been revoked, or has expired */
    WD_REVOKED_UNKNOWN, /* no such token */
} wd_revoked;

/* From the return on, no check passes with this token, nor with what was issued with it
 * unless another generation of its family holds. */
wd_revoked wd_token_table_revoke(wd_token_table *table, const char *id,
                                 const char *reason, int64_t now_ms);

/* The same, of a token that was found. */
wd_revoked wd_token_revoke_now(wd_token *token, const char *reason, int64_t now_ms);

size_t wd_token_table_count(wd_token_table *table);

/* A count of the token with this id, or NULL. */
wd_token *wd_token_table_find(wd_token_table *table, const char *id);

/* Visits every token, oldest first, without holding the table's lock: those that come in
 * the meantime are visited too, or not. */
void wd_token_table_each(wd_token_table *table,
                         void (*visit)(void *arg, wd_token *token), void *arg);

/* All scopes with one space between. From malloc; NULL without memory. */
char *wd_token_scopes_text(const char *const *scopes, size_t n);

/* --- a token among the others of its table ---------------------------------------- */

wd_token *wd_token_newest(const wd_token *token); /* counted; NULL: only wraps */
void wd_token_successor(const wd_token *token,    /* id of the next generation, or "" */
                        char ret_id[WD_TOKEN_ID_CHARS + 1]);
int64_t wd_token_parent_ends_ms(const wd_token *token); /* INT64_MAX: no parent */
int64_t wd_token_uses(const wd_token *token);           /* of the family, spent */
uint32_t wd_token_running(const wd_token *token);       /* of family and children */

/* Whether `token` was issued with a generation of `ancestor`, or with one that was ... */
bool wd_token_descends(const wd_token *token, const wd_token *ancestor);
unsigned wd_token_depth(const wd_token *token); /* 0: it has no parent */

#endif
