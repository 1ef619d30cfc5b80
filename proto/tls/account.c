#include "proto/tls/account.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024U /* a power of two */

/* What is charged, each kind within the budget by itself: whoever does not read replies
 * takes no room from requests. */
typedef enum kind { REQUESTS = 0, REPLIES, KINDS } kind;

typedef struct share { /* of one principal; lives while it has accounts */
    struct share *next;
    uint64_t used[KINDS];
    size_t n_accounts;
    char uri[];
} share;

struct wd_tls_account {
    wd_tls_ledger *ledger;
    share *share;
    struct wd_tls_account *next; /* of its bucket, until closed */
    uint64_t id;
    uint64_t held[KINDS]; /* by the connection */
    uint64_t used[KINDS]; /* that, and what the messages' owners have taken */
    size_t refs;
    bool closed;
    atomic_bool stuck; /* written by the engine, without the lock */
    atomic_bool cut;   /* by who receives the messages, likewise */
};

struct wd_tls_ledger {
    pthread_mutex_t lock;
    uint64_t budget, last_id;
    uint64_t used[KINDS];
    size_t refs; /* its owner's and each account's */
    share *shares[BUCKETS];
    wd_tls_account *accounts[BUCKETS];
};

static void lock(wd_tls_ledger *ledger)
{
    (void)pthread_mutex_lock(&ledger->lock);
}

static void unlock(wd_tls_ledger *ledger)
{
    (void)pthread_mutex_unlock(&ledger->lock);
}

/* Under the lock, which is let go of. */
static void drop_ledger(wd_tls_ledger *ledger)
{
    bool last = --ledger->refs == 0;

    unlock(ledger);
    if (!last)
        return;
    (void)pthread_mutex_destroy(&ledger->lock);
    free(ledger);
}

wd_tls_ledger *wd_tls_ledger_new(uint64_t budget_bytes)
{
    wd_tls_ledger *ledger = calloc(1, sizeof(*ledger));

    if (ledger == NULL)
        return NULL;
    (void)pthread_mutex_init(&ledger->lock, NULL);
    ledger->budget = budget_bytes;
    ledger->refs = 1;
    return ledger;
}

void wd_tls_ledger_free(wd_tls_ledger *ledger)
{
    if (ledger == NULL)
        return;
    lock(ledger);
    drop_ledger(ledger);
}

static uint64_t used(wd_tls_ledger *ledger, kind which)
{
    lock(ledger);
    uint64_t bytes = ledger->used[which];
    unlock(ledger);
    return bytes;
}

uint64_t wd_tls_ledger_used(wd_tls_ledger *ledger)
{
    return used(ledger, REQUESTS);
}

uint64_t wd_tls_ledger_replies(wd_tls_ledger *ledger)
{
    return used(ledger, REPLIES);
}

/* --- shares, under the lock ---------------------------------------------------------- */

static share **place_of(wd_tls_ledger *ledger, const char *uri)
{
    uint32_t hash = 2166136261U; /* FNV-1a; the names are our CA's */

    for (const char *c = uri; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619U;
    share **at = &ledger->shares[hash & (BUCKETS - 1)];
    while (*at != NULL && strcmp((*at)->uri, uri) != 0)
        at = &(*at)->next;
    return at;
}

static share *join_share(wd_tls_ledger *ledger, const char *uri)
{
    share **at = place_of(ledger, uri);

    if (*at == NULL) {
        size_t size = strlen(uri) + 1;
        *at = calloc(1, sizeof(**at) + size);
        if (*at == NULL)
            return NULL;
        memcpy((*at)->uri, uri, size);
    }
    (*at)->n_accounts++;
    return *at;
}

static void leave_share(wd_tls_ledger *ledger, share *gone)
{
    if (--gone->n_accounts > 0)
        return;
    share **at = place_of(ledger, gone->uri);
    *at = gone->next;
    free(gone);
}

static void add(wd_tls_account *account, kind which, uint64_t bytes)
{
    account->used[which] += bytes;
    account->ledger->used[which] += bytes;
    account->share->used[which] += bytes;
}

static void subtract(wd_tls_account *account, kind which, uint64_t bytes)
{
    WD_ASSERT(bytes <= account->share->used[which]);
    WD_ASSERT(bytes <= account->ledger->used[which]);
    WD_ASSERT(bytes <= account->used[which]);
    account->used[which] -= bytes;
    account->ledger->used[which] -= bytes;
    account->share->used[which] -= bytes;
}

/* The connection does not hold them any more. */
static void let_go(wd_tls_account *account, kind which, uint64_t bytes)
{
    WD_ASSERT(bytes <= account->held[which]);
    account->held[which] -= bytes;
    subtract(account, which, bytes);
}

/* --- accounts ------------------------------------------------------------------------ */

static wd_tls_account **bucket_of(wd_tls_ledger *ledger, uint64_t id)
{
    return &ledger->accounts[id & (BUCKETS - 1)];
}

wd_tls_account *wd_tls_account_open(wd_tls_ledger *ledger, const char *uri)
{
    wd_tls_account *account = calloc(1, sizeof(*account));

    if (account == NULL)
        return NULL;
    lock(ledger);
    account->share = join_share(ledger, uri);
    if (account->share == NULL) {
        unlock(ledger);
        free(account);
        return NULL;
    }
    account->ledger = ledger;
    account->id = ++ledger->last_id;
    account->refs = 1;
    account->next = *bucket_of(ledger, account->id);
    *bucket_of(ledger, account->id) = account;
    ledger->refs++;
    unlock(ledger);
    return account;
}

uint64_t wd_tls_account_id(const wd_tls_account *account)
{
    return account->id;
}

wd_tls_account *wd_tls_account_find(wd_tls_ledger *ledger, uint64_t id)
{
    if (ledger == NULL)
        return NULL;
    lock(ledger);
    wd_tls_account *found = *bucket_of(ledger, id);
    while (found != NULL && found->id != id)
        found = found->next;
    if (found != NULL)
        found->refs++;
    unlock(ledger);
    return found;
}

wd_tls_account *wd_tls_account_ref(wd_tls_account *account)
{
    if (account == NULL)
        return NULL;
    lock(account->ledger);
    account->refs++;
    unlock(account->ledger);
    return account;
}

/* Under the lock, which is let go of. */
static void drop_account(wd_tls_account *account)
{
    wd_tls_ledger *ledger = account->ledger;

    if (--account->refs > 0) {
        unlock(ledger);
        return;
    }
    leave_share(ledger, account->share);
    free(account);
    drop_ledger(ledger);
}

void wd_tls_account_free(wd_tls_account *account)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    drop_account(account);
}

void wd_tls_account_close(wd_tls_account *account)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    WD_ASSERT(!account->closed);
    wd_tls_account **at = bucket_of(account->ledger, account->id);
    while (*at != account)
        at = &(*at)->next;
    *at = account->next;
    account->closed = true;
    let_go(account, REQUESTS, account->held[REQUESTS]);
    let_go(account, REPLIES, account->held[REPLIES]);
    drop_account(account);
}

/* Without overflow, as no budget is that large. */
static bool fits(uint64_t used, uint64_t bytes, uint64_t most)
{
    return used <= most && bytes <= most - used;
}

/* Under the lock. */
static wd_tls_charge charge(wd_tls_account *account, kind which, uint64_t bytes)
{
    const wd_tls_ledger *ledger = account->ledger;

    if (!fits(account->share->used[which], bytes, ledger->budget / WD_SHARES))
        return WD_TLS_OVER_SHARE;
    if (!fits(ledger->used[which], bytes, ledger->budget))
        return WD_TLS_OVER_BUDGET;
    add(account, which, bytes);
    account->held[which] += bytes;
    return WD_TLS_CHARGED;
}

wd_tls_charge wd_tls_account_charge(wd_tls_account *account, uint64_t bytes)
{
    lock(account->ledger);
    wd_tls_charge answer = charge(account, REQUESTS, bytes);
    unlock(account->ledger);
    return answer;
}

void wd_tls_account_give_back(wd_tls_account *account, uint64_t bytes)
{
    lock(account->ledger);
    let_go(account, REQUESTS, bytes);
    unlock(account->ledger);
}

void wd_tls_account_set_stuck(wd_tls_account *account, bool stuck)
{
    if (account != NULL)
        atomic_store(&account->stuck, stuck);
}

bool wd_tls_account_stuck(const wd_tls_account *account)
{
    return account != NULL && atomic_load(&account->stuck);
}

bool wd_tls_account_cut(wd_tls_account *account)
{
    return account != NULL && !atomic_exchange(&account->cut, true);
}

bool wd_tls_account_is_cut(const wd_tls_account *account)
{
    return account != NULL && atomic_load(&account->cut);
}

/* A connection may end between its last byte and this: then the bytes, given back
 * already, are charged again, whatever the budget says, for they are there. */
void wd_tls_account_take(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    if (account->closed) {
        add(account, REQUESTS, bytes);
    } else {
        WD_ASSERT(bytes <= account->held[REQUESTS]);
        account->held[REQUESTS] -= bytes;
    }
    unlock(account->ledger);
}

wd_tls_charge wd_tls_account_grow(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return WD_TLS_CHARGED;
    lock(account->ledger);
    wd_tls_charge answer = charge(account, REQUESTS, bytes);
    if (answer == WD_TLS_CHARGED)
        account->held[REQUESTS] -= bytes; /* the caller's, be the connection gone */
    unlock(account->ledger);
    return answer;
}

void wd_tls_account_release(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    subtract(account, REQUESTS, bytes);
    unlock(account->ledger);
}

void wd_tls_account_used(const wd_tls_account *account, uint64_t *ret_requests,
                         uint64_t *ret_replies)
{
    *ret_requests = *ret_replies = 0;
    if (account == NULL)
        return;
    lock(account->ledger);
    *ret_requests = account->used[REQUESTS];
    *ret_replies = account->used[REPLIES];
    unlock(account->ledger);
}

/* --- replies ------------------------------------------------------------------------- */

/* To a connection that is gone NNG sends nothing, and frees the message at once. */
wd_tls_charge wd_tls_account_charge_reply(wd_tls_account *account, uint64_t bytes)
{
    wd_tls_charge answer = WD_TLS_CHARGED;

    if (account == NULL || bytes <= WD_FREE_REPLY_BYTES)
        return answer;
    lock(account->ledger);
    if (!account->closed)
        answer = charge(account, REPLIES, bytes);
    unlock(account->ledger);
    return answer;
}

void wd_tls_account_reply_gone(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL || bytes <= WD_FREE_REPLY_BYTES)
        return;
    lock(account->ledger);
    if (bytes <= account->held[REPLIES]) /* else closed, or nobody had charged it */
        let_go(account, REPLIES, bytes);
    unlock(account->ledger);
}
