#include "store/token_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"
#include "store/token_family.h"

#define SOME          256U  /* tokens copied under the lock at a time */
#define FIRST_BUCKETS 1024U /* a power of two; doubles when as many tokens are in */

struct wd_token_table {
    pthread_rwlock_t lock;
    wd_token **buckets; /* under the lock, with what follows */
    size_t n_buckets;
    wd_token **all; /* in the order in which they came; n_tokens of n_all */
    size_t n_tokens;
    size_t n_all;
    wd_family *families;
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
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the token table");
    }
    (void)pthread_rwlock_init(&table->lock, NULL);
    table->buckets = buckets;
    table->n_buckets = FIRST_BUCKETS;
    *ret_table = table;
    return WD_OK;
}

static void free_families(wd_token_table *table)
{
    while (table->families != NULL) {
        wd_family *family = table->families;
        table->families = family->next;
        free(family);
    }
}

void wd_token_table_free(wd_token_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->n_tokens; i++) {
        wd_token_body_of(table->all[i])->family = NULL; /* others may hold it on */
        wd_token_unref(table->all[i]);
    }
    free(table->all);
    free_families(table);
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

/* Under the lock. */
static wd_token *look_up(const wd_token_table *table, const char *id)
{
    wd_token *token = table->buckets[bucket_of(id, table->n_buckets)];
    while (token != NULL && strcmp(token->id, id) != 0)
        token = wd_token_body_of(token)->next_in_bucket;
    return token;
}

/* --- families --------------------------------------------------------------------- */

static wd_family *new_family(wd_token_table *table, const wd_token *first)
{
    wd_family *family = calloc(1, sizeof(*family));
    if (family == NULL)
        return NULL;
    family->first = first;
    family->limits = first->limits;
    family->child = first->parent[0] != '\0';
    if (family->child) {
        wd_token *parent = look_up(table, first->parent);
        family->parent = parent != NULL ? wd_token_body_of(parent)->family : NULL;
    }
    /* What was given away before a crash may have been spent. */
    atomic_store(&family->reserved, wd_token_const_body_of(first)->reserved);
    atomic_store(&family->spent, wd_token_const_body_of(first)->reserved);
    family->next = table->families;
    table->families = family;
    return family;
}

static wd_family *family_of(wd_token_table *table, wd_token *token)
{
    wd_token *first = look_up(table, token->family);
    if (first != NULL && first != token)
        return wd_token_body_of(first)->family;
    return new_family(table, token);
}

static void join(wd_family *family, wd_token_body *body)
{
    wd_token_body *newest = atomic_load(&family->newest);
    body->family = family;
    if (body->token.generation == 0)
        return;
    body->older = newest;
    atomic_store(&family->newest, body);
}

/* Room for one more in `all`. */
static bool make_room(wd_token_table *table)
{
    if (table->n_tokens < table->n_all)
        return true;
    size_t wider = table->n_all * 2 + FIRST_BUCKETS;
    wd_token **all = reallocarray(table->all, wider, sizeof(wd_token *));
    if (all == NULL)
        return false;
    table->all = all;
    table->n_all = wider;
    return true;
}

static bool add(wd_token_table *table, wd_token *token)
{
    if (!make_room(table))
        return false;
    wd_family *family = family_of(table, token);
    if (family == NULL)
        return false;
    join(family, wd_token_body_of(token));
    if (table->n_tokens >= table->n_buckets)
        grow(table);
    put(table->buckets, table->n_buckets, token);
    table->all[table->n_tokens++] = token;
    return true;
}

wd_status wd_token_table_add(wd_token_table *table, wd_token *token, wd_error *err)
{
    (void)pthread_rwlock_wrlock(&table->lock);
    bool added = add(table, token);
    (void)pthread_rwlock_unlock(&table->lock);
    if (!added)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    return WD_OK;
}

wd_token *wd_token_table_find(wd_token_table *table, const char *id)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    wd_token *token = look_up(table, id);
    if (token != NULL)
        (void)wd_token_ref(token);
    (void)pthread_rwlock_unlock(&table->lock);
    return token;
}

wd_revoked wd_token_table_revoke(wd_token_table *table, const char *id,
                                 const char *reason, int64_t now_ms)
{
    WD_AUTO(wd_token) *token = wd_token_table_find(table, id);
    if (token == NULL)
        return WD_REVOKED_UNKNOWN;
    return wd_token_revoke_now(token, reason, now_ms);
}

wd_revoked wd_token_revoke_now(wd_token *token, const char *reason, int64_t now_ms)
{
    int64_t retires = wd_token_retires_ms(token);
    bool over = now_ms >= wd_token_expires_ms(token) ||
                (retires != 0 && now_ms >= retires) ||
                wd_token_unwrapped(token)[0] != '\0';
    int64_t never = 0;
    if (wd_token_revoked_ms(token) == 0)
        wd_token_keep_reason(token, reason);
    bool first = atomic_compare_exchange_strong(&wd_token_body_of(token)->revoked_ms,
                                                &never, now_ms);
    return first && !over ? WD_REVOKED_NOW : WD_REVOKED_ALREADY;
}

void wd_token_table_each_family(wd_token_table *table,
                                void (*visit)(void *arg, wd_family *family), void *arg)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    for (wd_family *family = table->families; family != NULL; family = family->next)
        visit(arg, family);
    (void)pthread_rwlock_unlock(&table->lock);
}

size_t wd_token_table_count(wd_token_table *table)
{
    (void)pthread_rwlock_rdlock(&table->lock);
    size_t n = table->n_tokens;
    (void)pthread_rwlock_unlock(&table->lock);
    return n;
}

/* Copies what came at `from` and after; how many. */
static size_t copy_some(wd_token_table *table, size_t from, wd_token **some)
{
    size_t n = 0;
    (void)pthread_rwlock_rdlock(&table->lock);
    while (n < SOME && from + n < table->n_tokens) {
        some[n] = table->all[from + n];
        n++;
    }
    (void)pthread_rwlock_unlock(&table->lock);
    return n;
}

void wd_token_table_each(wd_token_table *table,
                         void (*visit)(void *arg, wd_token *token), void *arg)
{
    wd_token *some[SOME];
    size_t n = 0;
    for (size_t from = 0; (n = copy_some(table, from, some)) > 0; from += n) {
        for (size_t i = 0; i < n; i++)
            visit(arg, some[i]);
    }
}
