/* token_table.h - all tokens in memory: a call's token is checked here, never by SQL.
 *
 * Threads: any. Lookups share a lock that only a change takes alone.
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

/* Who shows a token, where and when. All borrowed. */
typedef struct wd_token_proof {
    const char *token;    /* as it came: anything at all; NULL or "": missing */
    const char *peer_uri; /* the certificate's URI, which has been verified */
    const char *gate_uri; /* this gate's; NULL: any audience passes */
    int64_t now_ms;       /* wall clock; wd_store_now_ms */
} wd_token_proof;

/* Decides whether the token holds, and keeps the time as its last use. A reason finer
 * than TOKEN_UNKNOWN is told only to who had the secret right.
 * Errors: UNAUTHENTICATED TOKEN_MISSING, _MALFORMED, _UNKNOWN, _NOT_YOURS, _REVOKED,
 *         _EXPIRED, _NOT_YET, _AUDIENCE, in this order */
WD_MUST_USE wd_status wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                                     wd_token **ret_token, wd_error *err);

/* For rows about refusals: the id that a token names, if it reads as a token at all,
 * whether it is known or not. */
bool wd_token_claimed_id(const char *text, char ret_id[WD_TOKEN_ID_CHARS + 1]);

typedef enum wd_revoked {
    WD_REVOKED_NOW,     /* was live */
    WD_REVOKED_ALREADY, /* had been revoked, or has expired */
    WD_REVOKED_UNKNOWN, /* no such token */
} wd_revoked;

/* From the return on, no check passes with this token. */
wd_revoked wd_token_table_revoke(wd_token_table *table, const char *id, int64_t now_ms);

size_t wd_token_table_count(wd_token_table *table);

#endif
