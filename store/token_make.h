/* token_make.h - a token by somebody's wish: checked, drawn, not yet stored.
 *
 * Threads: any; pure but for the randomness.
 * Owns:    a wd_token_issued holds a count of its token and the secret. */
#ifndef WD_STORE_TOKEN_MAKE_H
#define WD_STORE_TOKEN_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/scope.h"
#include "store/token.h"

#define WD_TOKEN_NAME_BYTES      64U
#define WD_TOKEN_OWNER_BYTES     64U
#define WD_TOKEN_PURPOSE_BYTES   256U
#define WD_TOKEN_REASON_BYTES    256U
#define WD_TOKEN_TTL_DATA_MS     (60LL * 60 * 1000)
#define WD_TOKEN_TTL_ADMIN_MS    (15LL * 60 * 1000)
#define WD_TOKEN_TTL_MIN_MS      1000LL
#define WD_TOKEN_TTL_MAX_MS      (30LL * 24 * 60 * 60 * 1000)
#define WD_TOKEN_WRAP_MAX_MS     (24LL * 60 * 60 * 1000)
#define WD_TOKEN_OVERLAP_MS      (10LL * 60 * 1000)
#define WD_TOKEN_OVERLAP_MAX_MS  (7LL * 24 * 60 * 60 * 1000)
#define WD_TOKEN_IDLE_MIN_MS     60000LL
#define WD_TOKEN_LEEWAY_MS       5000 /* a not-before this near ahead counts as reached */
#define WD_TOKEN_USES_MAX        (1LL << 40)
#define WD_TOKEN_RATE_CALLS_MAX  1000000U
#define WD_TOKEN_RATE_MS_MIN     1000U
#define WD_TOKEN_RATE_MS_MAX     3600000U
#define WD_TOKEN_CONCURRENCY_MAX 4096U
#define WD_TOKEN_DEPTH           16U /* longest line of parents: a check walks it */

struct wd_token;

/* How much a family may do, its children included. 0: no such bound. */
typedef struct wd_token_limits {
    int64_t max_uses;     /* calls in all; up to WD_TOKEN_USES_MAX */
    uint32_t rate_calls;  /* calls ... */
    uint32_t rate_per_ms; /* ... in this span; both or none */
    uint32_t concurrency; /* calls at once */
} wd_token_limits;

/* What may be asked for. NULL or 0: the default that the comment gives. */
typedef struct wd_token_spec {
    wd_token_kind kind;        /* 0: data */
    const char *name;          /* 1..64 of [A-Za-z0-9._-] */
    const char *owner;         /* "" */
    const char *purpose;       /* "" */
    const char *audience;      /* glob over gate URIs; "": any gate */
    const char *const *scopes; /* 1..WD_SCOPES_COUNT */
    size_t n_scopes;
    const char
        *bind; /* "uri:<spiffe id>", "key:<64 hex>", "cert:<64 hex>", or "unbound"
                         with allow_unbound */
    bool allow_unbound;    /* somebody asked for it in so many words */
    int64_t ttl_ms;        /* from not_before on; 1 h (data), 15 min (admin) */
    int64_t not_before_ms; /* now */
    int64_t renewable_ms;  /* longest life with renewals; 30 d */
    int64_t idle_ms;       /* 0: no end by idleness */
    wd_token_limits limits;
    int64_t wrap_ttl_ms; /* make a one-time wrap of it that lives so long; 0: no wrap */
    const char *parent;  /* id of the token it is issued with; "": none */
} wd_token_spec;

/* A token just made, with its secret, which is told this once. */
typedef struct wd_token_issued {
    wd_token_text text;
    struct wd_token *token; /* counted */
} wd_token_issued;

/* Wipes the secret and lets the token go. */
void wd_token_issued_done(wd_token_issued *issued);
#define WD_AUTO_ISSUED __attribute__((cleanup(wd_token_issued_done))) wd_token_issued

/* Makes a token by `spec`. Nothing is stored yet.
 * Errors: INVALID_ARGUMENT  FIELD_INVALID: names the field, its fault, the bound */
WD_MUST_USE wd_status wd_token_make(const wd_token_spec *spec, int64_t now_ms,
                                    wd_token_issued *ret_issued, wd_error *err);

/* How the next generation of a family differs from the one before. 0: see there. */
typedef struct wd_token_next {
    int64_t ttl_ms;       /* as the old one was made for */
    int64_t renewable_ms; /* Unix ms that no renewal passes; as the old one's */
    int64_t overlap_ms;   /* WD_TOKEN_OVERLAP_MS */
    int64_t wrap_ttl_ms;  /* a wrap of it; 0: itself */
    bool retire_on_first_use;
} wd_token_next;

/* The generation after `old`: the same token with another secret. Of a wrap: what is
 * inside, for `generation`.  Errors: as wd_token_make. */
WD_MUST_USE wd_status wd_token_make_next(const struct wd_token *old,
                                         const wd_token_next *next, int64_t now_ms,
                                         wd_token_issued *ret_issued, wd_error *err);
WD_MUST_USE wd_status wd_token_make_unwrapped(const struct wd_token *wrap,
                                              uint32_t generation, int64_t now_ms,
                                              wd_token_issued *ret_issued,
                                              wd_error *err);

/* True when every gate that `asked` matches, `held` matches too. "" is any gate; `*`
 * stands for any part of one segment of a URI. */
bool wd_audience_covers(const char *held, const char *asked);

#endif
