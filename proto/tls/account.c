#include "proto/tls/account.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024U /* a power of two */

typedef struct share { /* of one principal; lives while it has accounts */
    struct share *next;
    uint64_t used;
    size_t n_accounts;
    char uri[];
} share;

struct wd_tls_account {
    wd_tls_ledger *ledger;
    share *share;
    struct wd_tls_account *next; /* of its bucket, until closed */
    uint64_t id;
    uint64_t held; /* by the connection */
    size_t refs;
    bool closed;
};

struct wd_tls_ledger {
    pthread_mutex_t lock;
    uint64_t budget, used, last_id;
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

uint64_t wd_tls_ledger_used(wd_tls_ledger *ledger)
{
    lock(ledger);
    uint64_t used = ledger->used;
    unlock(ledger);
    return used;
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

static void add(wd_tls_account *account, uint64_t bytes)
{
    account->ledger->used += bytes;
    account->share->used += bytes;
}

static void subtract(wd_tls_account *account, uint64_t bytes)
{
    WD_ASSERT(bytes <= account->share->used && bytes <= account->ledger->used);
    account->ledger->used -= bytes;
    account->share->used -= bytes;
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
    subtract(account, account->held);
    account->held = 0;
    drop_account(account);
}

/* Without overflow, as no budget is that large. */
static bool fits(uint64_t used, uint64_t bytes, uint64_t most)
{
    return used <= most && bytes <= most - used;
}

wd_tls_charge wd_tls_account_charge(wd_tls_account *account, uint64_t bytes)
{
    wd_tls_ledger *ledger = account->ledger;
    wd_tls_charge answer = WD_TLS_CHARGED;

    lock(ledger);
    if (!fits(account->share->used, bytes, ledger->budget / WD_SHARES)) {
        answer = WD_TLS_OVER_SHARE;
    } else if (!fits(ledger->used, bytes, ledger->budget)) {
        answer = WD_TLS_OVER_BUDGET;
    } else {
        add(account, bytes);
        account->held += bytes;
    }
    unlock(ledger);
    return answer;
}

void wd_tls_account_give_back(wd_tls_account *account, uint64_t bytes)
{
    lock(account->ledger);
    WD_ASSERT(bytes <= account->held);
    account->held -= bytes;
    subtract(account, bytes);
    unlock(account->ledger);
}

/* A connection may end between its last byte and this: then the bytes, given back
 * already, are charged again, whatever the budget says, for they are there. */
void wd_tls_account_take(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    if (account->closed) {
        add(account, bytes);
    } else {
        WD_ASSERT(bytes <= account->held);
        account->held -= bytes;
    }
    unlock(account->ledger);
}

void wd_tls_account_release(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    lock(account->ledger);
    subtract(account, bytes);
    unlock(account->ledger);
}
