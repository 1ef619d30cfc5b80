/* tokens.h - what the store knows of tokens: made, kept, listed, taken back.
 *
 * Threads: wd_tokens_insert, wd_tokens_revoke: inside a job's apply (store/writer.h). A
 *          wd_token: any thread; it never changes but for the two times that are read
 *          through functions. Checking one is store/token_table.h's.
 * Owns:    a wd_token is counted: each *ret_token is one more, wd_token_unref one less.
 * Source:  docs/protocol.md section 6; RFC 8705 for the idea of binding. */
#ifndef WD_STORE_TOKENS_H
#define WD_STORE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/reader.h"
#include "store/scope.h"
#include "store/store.h"
#include "store/token.h"

#define WD_TOKEN_NAME_BYTES    64U
#define WD_TOKEN_OWNER_BYTES   64U
#define WD_TOKEN_PURPOSE_BYTES 256U
#define WD_TOKEN_REASON_BYTES  256U
#define WD_TOKEN_TTL_DATA_MS   (60LL * 60 * 1000)
#define WD_TOKEN_TTL_ADMIN_MS  (15LL * 60 * 1000)
#define WD_TOKEN_TTL_MIN_MS    1000LL
#define WD_TOKEN_TTL_MAX_MS    (30LL * 24 * 60 * 60 * 1000)
#define WD_TOKEN_LEEWAY_MS     5000 /* a not-before this near ahead counts as reached */

typedef enum wd_token_state {
    WD_TOKEN_ACTIVE,
    WD_TOKEN_NOT_YET,
    WD_TOKEN_EXPIRED,
    WD_TOKEN_REVOKED,
} wd_token_state;

/* What may be asked for. NULL or 0: the default that the comment gives. */
typedef struct wd_token_spec {
    wd_token_kind kind;        /* 0: data */
    const char *name;          /* 1..64 of [A-Za-z0-9._-] */
    const char *owner;         /* "" */
    const char *purpose;       /* "" */
    const char *audience;      /* glob over gate URIs; "": any gate */
    const char *const *scopes; /* 1..WD_SCOPES_COUNT */
    size_t n_scopes;
    const char *bind;      /* "uri:<spiffe id>", or "unbound" with allow_unbound */
    bool allow_unbound;    /* somebody asked for it in so many words */
    int64_t ttl_ms;        /* from not_before on; 1 h (data), 15 min (admin) */
    int64_t not_before_ms; /* now */
    const char *parent;    /* id of the token it is issued with; "": none */
} wd_token_spec;

/* A token as it is kept: everything but its secret. Read only. */
typedef struct wd_token {
    char id[WD_TOKEN_ID_CHARS + 1];
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
    int64_t expires_ms;
    const char *revoked_reason; /* as read from the database; "" in the table */
} wd_token;

wd_token *wd_token_ref(wd_token *token);
void wd_token_unref(wd_token *token); /* NULL is fine */
WD_DEFINE_AUTO(wd_token, wd_token_unref)

int64_t wd_token_revoked_ms(const wd_token *token);   /* 0: not revoked */
int64_t wd_token_last_used_ms(const wd_token *token); /* 0: never */
wd_token_state wd_token_state_at(const wd_token *token, int64_t now_ms);
const char *wd_token_state_name(wd_token_state state); /* "active", "not_yet", ... */

/* A token just made, with its secret, which is told this once. */
typedef struct wd_token_issued {
    wd_token_text text;
    wd_token *token; /* counted */
} wd_token_issued;

/* Wipes the secret and lets the token go. */
void wd_token_issued_done(wd_token_issued *issued);
#define WD_AUTO_ISSUED __attribute__((cleanup(wd_token_issued_done))) wd_token_issued

/* Makes a token by `spec`. Nothing is stored yet.
 * Errors: INVALID_ARGUMENT  FIELD_INVALID: names the field, its fault, the bound */
WD_MUST_USE wd_status wd_token_make(const wd_token_spec *spec, int64_t now_ms,
                                    wd_token_issued *ret_issued, wd_error *err);

/* Stores a token. After the commit the table knows it.
 * Errors: UNAVAILABLE AUDIT_UNWRITABLE */
WD_MUST_USE wd_status wd_tokens_insert(wd_store *store, wd_token *token, wd_error *err);

/* Makes a revocation durable. Call wd_token_table_revoke first: that is what holds at
 * once. A token that is revoked already keeps its first time and reason.
 * Errors: NOT_FOUND TOKEN_ID_UNKNOWN, UNAVAILABLE AUDIT_UNWRITABLE */
WD_MUST_USE wd_status wd_tokens_revoke(wd_store *store, const char *id,
                                       const char *reason, wd_error *err);

/* Whom a revocation concerns, and what the record says of it. */
typedef struct wd_token_revocation {
    const char *id;
    const char *reason;    /* for people, up to WD_TOKEN_REASON_BYTES; "" */
    const char *principal; /* who takes it back: "local:<uid>" */
} wd_token_revocation;

/* Issue and revoke in programs without a writer thread (init, profile new, tokctl):
 * with the audit row (token.issue, token.revoke) in one commit. `principal`:
 * "local:<uid>". *ret_was_live: whether the token was still good until now. */
WD_MUST_USE wd_status wd_tokens_issue_now(wd_store *store, const wd_token_spec *spec,
                                          const char *principal,
                                          wd_token_issued *ret_issued, wd_error *err);
WD_MUST_USE wd_status wd_tokens_revoke_now(wd_store *store,
                                           const wd_token_revocation *revocation,
                                           bool *ret_was_live, wd_error *err);

/* The `detail` of token.issue and token.revoke rows, JSON: never the secret. What it
 * says of a token is what the tokens table must say for ever: store/token_trail.h. From
 * malloc; NULL without memory. */
char *wd_token_issue_detail(const wd_token *token);
char *wd_token_revoke_detail(const char *reason);

/* Called for each token, oldest first; borrowed. false: enough. */
typedef bool wd_token_each(void *arg, const wd_token *token);
WD_MUST_USE wd_status wd_tokens_list(wd_reader *reader, wd_token_each *each, void *arg,
                                     wd_error *err);
/* Errors: NOT_FOUND TOKEN_ID_UNKNOWN */
WD_MUST_USE wd_status wd_tokens_find(wd_reader *reader, const char *id,
                                     wd_token **ret_token, wd_error *err);

#endif
