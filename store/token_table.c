#include "store/token_table.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/internal.h"
#include "store/token_body.h"

#define FIRST_BUCKETS 1024U /* a power of two; doubles when as many tokens are in */

struct wd_token_table {
    pthread_rwlock_t lock;
    wd_token **buckets; /* under the lock, with what follows */
    size_t n_buckets;
    size_t n_tokens;
};

/* FNV-1a. Ids are drawn by us, so nobody chooses where they fall. */
static size_t bucket_of(const char *id, size_t n_buckets)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (; *id != '\0'; id++)
        hash = (hash ^ (uint8_t)*id) * 0x100000001b3U;
    return (size_t)hash & (n_buckets - 1);
}

wd_status wd_token_table_new(wd_token_table **ret_table, wd_error *err)
{
    wd_token_table *table = calloc(1, sizeof(*table));
    wd_token **buckets = calloc(FIRST_BUCKETS, sizeof(wd_token *));
    if (table == NULL || buckets == NULL) {
        free(table);
        free(buckets);
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the token table");
    }
    (void)pthread_rwlock_init(&table->lock, NULL);
    table->buckets = buckets;
    table->n_buckets = FIRST_BUCKETS;
    *ret_table = table;
    return WD_OK;
}

void wd_token_table_free(wd_token_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->n_buckets; i++) {
        while (table->buckets[i] != NULL) {
            wd_token *token = table->buckets[i];
            table->buckets[i] = wd_token_body_of(token)->next_in_bucket;
            wd_token_unref(token);
        }
    }
    (void)pthread_rwlock_destroy(&table->lock);
    free(table->buckets);
    free(table);
}

static void put(wd_token **buckets, size_t n_buckets, wd_token *token)
{
    wd_token **bucket = &buckets[bucket_of(token->id, n_buckets)];
    wd_token_body_of(token)->next_in_bucket = *bucket;
    *bucket = token;
}

/* Without memory for more buckets the chains grow longer, no more. */
static void grow(wd_token_table *table)
{
    size_t wider = table->n_buckets * 2;
    wd_token **buckets = calloc(wider, sizeof(wd_token *));
    if (buckets == NULL)
        return;
    for (size_t i = 0; i < table->n_buckets; i++) {
        while (table->buckets[i] != NULL) {
            wd_token *token = table->buckets[i];
            table->buckets[i] = wd_token_body_of(token)->next_in_bucket;
            put(buckets, wider, token);
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->n_buckets = wider;
}

void wd_token_table_add(wd_token_table *table, wd_token *token)
{
    (void)pthread_rwlock_wrlock(&table->lock);
    if (table->n_tokens >= table->n_buckets)
        grow(table);
    put(table->buckets, table->n_buckets, token);
    table->n_tokens++;
    (void)pthread_rwlock_unlock(&table->lock);
}

wd_token *wd_token_table_find(wd_token_table *table, const char *id)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    wd_token *token = table->buckets[bucket_of(id, table->n_buckets)];
    while (token != NULL && strcmp(token->id, id) != 0)
        token = wd_token_body_of(token)->next_in_bucket;
    if (token != NULL)
        (void)wd_token_ref(token);
    (void)pthread_rwlock_unlock(&table->lock);
    return token;
}

size_t wd_token_table_count(wd_token_table *table)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    size_t n = table->n_tokens;
    (void)pthread_rwlock_unlock(&table->lock);
    return n;
}

void wd_token_table_each(wd_token_table *table,
                         void (*visit)(void *arg, wd_token *token), void *arg)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    for (size_t i = 0; i < table->n_buckets; i++) {
        for (wd_token *token = table->buckets[i]; token != NULL;
             token = wd_token_body_of(token)->next_in_bucket)
            visit(arg, token);
    }
    (void)pthread_rwlock_unlock(&table->lock);
}

/* --- checking --------------------------------------------------------------------- */

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

static bool bound_to(const wd_token *token, const char *peer_uri)
{
    if (strcmp(token->bind, "unbound") == 0)
        return true;
    return strncmp(token->bind, "uri:", 4) == 0 && peer_uri != NULL &&
           strcmp(token->bind + 4, peer_uri) == 0;
}

static bool for_gate(const wd_token *token, const char *gate_uri)
{
    return token->audience[0] == '\0' || gate_uri == NULL ||
           fnmatch(token->audience, gate_uri, FNM_PATHNAME | FNM_NOESCAPE) == 0;
}

static wd_status check_state(const wd_token *token, int64_t now_ms, wd_error *err)
{
    switch (wd_token_state_at(token, now_ms)) {
    case WD_TOKEN_REVOKED:
        return wd_refuse(err, WD_REASON_TOKEN_REVOKED,
                         "token %s was revoked: ask for a new one", token->id);
    case WD_TOKEN_EXPIRED:
        return wd_refuse(err, WD_REASON_TOKEN_EXPIRED,
                         "token %s expired %lld ms ago: ask for a new one", token->id,
                         (long long)(now_ms - token->expires_ms));
    case WD_TOKEN_NOT_YET:
        return wd_refuse(err, WD_REASON_TOKEN_NOT_YET, "token %s holds in %lld ms",
                         token->id, (long long)(token->not_before_ms - now_ms));
    case WD_TOKEN_ACTIVE:
        return WD_OK;
    }
    return wd_refuse(err, WD_REASON_BUG, "token %s is in an unknown state", token->id);
}

static wd_status check_use(const wd_token *token, const wd_token_proof *proof,
                           wd_error *err)
{
    if (!bound_to(token, proof->peer_uri))
        return wd_refuse(err, WD_REASON_TOKEN_NOT_YOURS,
                         "token %s is bound to another client's certificate: use the "
                         "profile it was issued for",
                         token->id);
    WD_TRY(check_state(token, proof->now_ms, err));
    if (!for_gate(token, proof->gate_uri))
        return wd_refuse(err, WD_REASON_TOKEN_AUDIENCE, "token %s is for gates like %s",
                         token->id, token->audience);
    return WD_OK;
}

static void note_use(wd_token *token, int64_t now_ms)
{
    _Atomic int64_t *last = &wd_token_body_of(token)->last_used_ms;
    if (atomic_load_explicit(last, memory_order_relaxed) != now_ms)
        atomic_store_explicit(last, now_ms, memory_order_relaxed);
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
    if (!secret_right(token, name.kind, proof->token))
        return wd_refuse(err, WD_REASON_TOKEN_UNKNOWN, "this gate knows no such token");
    WD_TRY(check_use(token, proof, err));
    note_use(token, proof->now_ms);
    *ret_token = WD_STEAL(token);
    return WD_OK;
}

wd_revoked wd_token_table_revoke(wd_token_table *table, const char *id, int64_t now_ms)
{
    WD_AUTO(wd_token) *token = wd_token_table_find(table, id);
    if (token == NULL)
        return WD_REVOKED_UNKNOWN;
    bool expired = now_ms >= token->expires_ms;
    int64_t never = 0;
    bool first = atomic_compare_exchange_strong(&wd_token_body_of(token)->revoked_ms,
                                                &never, now_ms);
    return first && !expired ? WD_REVOKED_NOW : WD_REVOKED_ALREADY;
}
