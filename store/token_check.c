/* Does a token hold, here, now, for this peer: a table of rules, in the order in which a
 * caller is told. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/token_family.h"
#include "store/token_table.h"

#define GLOB_FLAGS (FNM_PATHNAME | FNM_NOESCAPE)

bool wd_token_claimed_id(const char *text, char ret_id[WD_TOKEN_ID_CHARS + 1])
{
    wd_token_name name;
    if (!wd_token_parse(text, &name))
        return false;
    memcpy(ret_id, name.id, sizeof(name.id));
    return true;
}

/* An unknown id costs the same digest and the same comparison as a known one. */
static bool secret_right(const wd_token *token, wd_token_kind kind, const char *text)
{
    static const uint8_t dummy[WD_TOKEN_DIGEST_BYTES] = {0};
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    wd_token_digest(text, digest);
    const uint8_t *kept = token != NULL ? wd_token_const_body_of(token)->digest : dummy;
    bool equal = wd_equal_ct(digest, kept, sizeof(digest));
    return equal && token != NULL && token->kind == kind;
}

bool wd_token_is_secret(const wd_token *token, const char *text)
{
    wd_token_name name;
    return wd_token_parse(text, &name) && secret_right(token, name.kind, text);
}

/* --- the rules -------------------------------------------------------------------- */

static bool is_digest(const char *hex, const uint8_t *digest)
{
    char text[WD_SHA256_HEX_BYTES];
    if (digest == NULL)
        return false;
    wd_hex((wd_span){digest, WD_SHA256_BYTES}, text);
    return strcmp(hex, text) == 0;
}

static bool bound_to(const wd_token *token, const wd_token_proof *proof)
{
    const char *bind = token->bind;
    if (strcmp(bind, "unbound") == 0)
        return true;
    if (strncmp(bind, "uri:", 4) == 0)
        return proof->peer_uri != NULL && strcmp(bind + 4, proof->peer_uri) == 0;
    if (strncmp(bind, "key:", 4) == 0)
        return is_digest(bind + 4, proof->peer_key);
    return strncmp(bind, "cert:", 5) == 0 && is_digest(bind + 5, proof->peer_cert);
}

static wd_status check_bind(const wd_token *token, const wd_token_proof *proof,
                            wd_error *err)
{
    if (bound_to(token, proof))
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_NOT_YOURS,
                     "token %s is bound to another client's %s: use the profile it was "
                     "issued for",
                     token->id,
                     strncmp(token->bind, "key:", 4) == 0 ? "key" : "certificate");
}

static wd_status check_revoked(const wd_token *token, const wd_token_proof *proof,
                               wd_error *err)
{
    (void)proof;
    if (wd_token_revoked_ms(token) == 0)
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_REVOKED,
                     "token %s was revoked: ask for a new one", token->id);
}

static wd_status check_retired(const wd_token *token, const wd_token_proof *proof,
                               wd_error *err)
{
    int64_t retires = wd_token_retires_ms(token);
    if (retires == 0 || proof->now_ms < retires)
        return WD_OK;
    return wd_refuse(
        err, WD_REASON_TOKEN_RETIRED,
        "token %s was rotated, and its overlap ended %lld ms ago: read the "
        "token file again, the new one is there",
        token->id, (long long)(proof->now_ms - retires));
}

static wd_status check_expires(const wd_token *token, const wd_token_proof *proof,
                               wd_error *err)
{
    int64_t late = proof->now_ms - wd_token_expires_ms(token);
    if (late < 0)
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_EXPIRED,
                     "token %s expired %lld ms ago: ask for a new one", token->id,
                     (long long)late);
}

static wd_status check_idle(const wd_token *token, const wd_token_proof *proof,
                            wd_error *err)
{
    int64_t since = wd_token_last_used_ms(token);
    if (since < token->not_before_ms)
        since = token->not_before_ms;
    if (token->idle_ms == 0 || proof->now_ms - since < token->idle_ms)
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_EXPIRED,
                     "token %s has not been used for %lld ms, and ends after %lld ms "
                     "without use: ask for a new one",
                     token->id, (long long)(proof->now_ms - since),
                     (long long)token->idle_ms);
}

static wd_status check_not_before(const wd_token *token, const wd_token_proof *proof,
                                  wd_error *err)
{
    int64_t early = token->not_before_ms - proof->now_ms;
    if (early <= WD_TOKEN_LEEWAY_MS)
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_NOT_YET, "token %s holds in %lld ms",
                     token->id, (long long)early);
}

/* The nearest of the line above that holds no more; NULL: all do. */
static const wd_family *ended_parent(const wd_family *family, int64_t now_ms)
{
    for (; family != NULL && family->child; family = family->parent) {
        if (family->parent == NULL || !wd_family_holds(family->parent, now_ms))
            return family;
    }
    return NULL;
}

static wd_status check_parent(const wd_token *token, const wd_token_proof *proof,
                              wd_error *err)
{
    const wd_family *family =
        ended_parent(wd_token_const_body_of(token)->family, proof->now_ms);
    if (family == NULL)
        return WD_OK;
    const wd_token_body *newest =
        family->parent != NULL ? atomic_load(&family->parent->newest) : NULL;
    bool revoked = newest == NULL || wd_token_revoked_ms(&newest->token) != 0;
    return wd_refuse(err, revoked ? WD_REASON_TOKEN_REVOKED : WD_REASON_TOKEN_EXPIRED,
                     "token %s ended with token %s, %s: ask for a new one", token->id,
                     family->first->parent,
                     revoked ? "which was revoked"
                             : "which expired or was not used for too long");
}

static wd_status check_audience(const wd_token *token, const wd_token_proof *proof,
                                wd_error *err)
{
    if (token->audience[0] == '\0' || proof->gate_uri == NULL ||
        fnmatch(token->audience, proof->gate_uri, GLOB_FLAGS) == 0)
        return WD_OK;
    return wd_refuse(err, WD_REASON_TOKEN_AUDIENCE, "token %s is for gates like %s",
                     token->id, token->audience);
}

typedef struct rule {
    const char *name;
    wd_status (*check)(const wd_token *token, const wd_token_proof *proof,
                       wd_error *err);
} rule;

static const rule rules[WD_TOKEN_RULES] = {
    {"bind", check_bind},       {"revoked", check_revoked},
    {"retired", check_retired}, {"expires", check_expires},
    {"idle", check_idle},       {"not_before", check_not_before},
    {"parent", check_parent},   {"audience", check_audience},
};

/* --- all of them ------------------------------------------------------------------ */

static void note_use(wd_token *token, const wd_token_proof *proof)
{
    _Atomic int64_t *last = &wd_token_body_of(token)->last_used_ms;
    if (atomic_load_explicit(last, memory_order_relaxed) != proof->now_ms)
        atomic_store_explicit(last, proof->now_ms, memory_order_relaxed);
    if (proof->peer_address != NULL)
        wd_token_note_peer(token, proof->peer_uri, proof->peer_address, proof->now_ms);
}

/* Of many tokens hardly one is in the processor's cache: what the rules will read is on its
 * way while the digest is made. */
static void fetch(const wd_token *token)
{
    const wd_token_body *body = wd_token_const_body_of(token);
    __builtin_prefetch(token->bind);
    __builtin_prefetch(token->audience);
    __builtin_prefetch(body->family);
    __builtin_prefetch(body->digest);
    __builtin_prefetch(&body->expires_ms, 1);
    __builtin_prefetch(&body->last_used_ms, 1);
}

wd_status wd_token_check(wd_token_table *table, const wd_token_proof *proof,
                         wd_token **ret_token, wd_error *err)
{
    wd_token_name name;
    if (proof->token == NULL || proof->token[0] == '\0')
        return wd_refuse(err, WD_REASON_TOKEN_MISSING, "the call carries no token");
    if (!wd_token_parse(proof->token, &name))
        return wd_refuse(
            err, WD_REASON_TOKEN_MALFORMED,
            "this is no token: 64 characters, starting with wdt1_ or wda1_, "
            "whose check digits fit");
    WD_AUTO(wd_token) *token = wd_token_table_find(table, name.id);
    if (token != NULL)
        fetch(token);
    if (!secret_right(token, name.kind, proof->token))
        return wd_refuse(err, WD_REASON_TOKEN_UNKNOWN, "this gate knows no such token");
    for (size_t i = 0; i < WD_TOKEN_RULES; i++)
        WD_TRY(rules[i].check(token, proof, err));
    note_use(token, proof);
    *ret_token = WD_STEAL(token);
    return WD_OK;
}

void wd_token_explain(const wd_token *token, const wd_token_proof *proof,
                      wd_token_verdict ret_verdicts[WD_TOKEN_RULES])
{
    for (size_t i = 0; i < WD_TOKEN_RULES; i++) {
        wd_error err = {0};
        wd_token_verdict *verdict = &ret_verdicts[i];
        bool ok = rules[i].check(token, proof, &err) == WD_OK;
        *verdict = (wd_token_verdict){.rule = rules[i].name,
                                      .reason = ok ? WD_REASON_NONE : err.reason};
        (void)snprintf(verdict->why, sizeof(verdict->why), "%.*s",
                       (int)sizeof(verdict->why) - 1, ok ? "passes" : err.msg);
    }
}

/* --- audiences -------------------------------------------------------------------- */

static bool is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* One segment of a URI glob against that of another at the same place. */
static bool segment_covers(const char *held, const char *asked)
{
    if (strcmp(held, "*") == 0 || strcmp(held, asked) == 0)
        return true;
    return !is_glob(asked) && fnmatch(held, asked, FNM_NOESCAPE) == 0;
}

static void cut_segment(const char **at, char *segment, size_t size)
{
    size_t length = strcspn(*at, "/");
    (void)snprintf(segment, size, "%.*s", (int)length, *at);
    *at += length;
}

bool wd_audience_covers(const char *held, const char *asked)
{
    char h[WD_URI_BYTES + 1];
    char a[WD_URI_BYTES + 1];
    if (held[0] == '\0')
        return true;
    if (asked[0] == '\0')
        return false;
    for (;;) {
        cut_segment(&held, h, sizeof(h));
        cut_segment(&asked, a, sizeof(a));
        if (!segment_covers(h, a))
            return false;
        if (*held == '\0' || *asked == '\0')
            return *held == *asked;
        held++;
        asked++;
    }
}
