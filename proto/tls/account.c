#include <stdlib.h>
#include <string.h>

#include "proto/tls/account_impl.h"

/* Under the lock, which is let go of. */
static void drop_ledger(wd_tls_ledger *ledger)
{
    bool last = --ledger->refs == 0;

    wd_ledger_unlock(ledger);
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
    wd_ledger_lock(ledger);
    drop_ledger(ledger);
}

void wd_tls_ledger_on_yield(wd_tls_ledger *ledger, void (*hurry)(void *arg), void *arg)
{
    ledger->hurry = hurry;
    ledger->hurry_arg = arg;
}

static uint64_t used(wd_tls_ledger *ledger, wd_kind which)
{
    wd_ledger_lock(ledger);
    uint64_t bytes = ledger->used[which];
    wd_ledger_unlock(ledger);
    return bytes;
}

uint64_t wd_tls_ledger_used(wd_tls_ledger *ledger)
{
    return used(ledger, WD_REQUESTS);
}

uint64_t wd_tls_ledger_replies(wd_tls_ledger *ledger)
{
    return used(ledger, WD_REPLIES);
}

/* --- accounts ------------------------------------------------------------------------ */

static wd_tls_account **bucket_of(wd_tls_ledger *ledger, uint64_t id)
{
    return &ledger->accounts[id & (WD_ACCOUNT_BUCKETS - 1)];
}

wd_tls_account *wd_tls_account_open(wd_tls_ledger *ledger, const char *uri)
{
    wd_tls_account *account = calloc(1, sizeof(*account));

    if (account == NULL)
        return NULL;
    wd_ledger_lock(ledger);
    account->share = wd_shares_join(&ledger->shares, uri);
    if (account->share == NULL) {
        wd_ledger_unlock(ledger);
        free(account);
        return NULL;
    }
    account->ledger = ledger;
    account->id = ++ledger->last_id;
    account->refs = 1;
    account->next = *bucket_of(ledger, account->id);
    *bucket_of(ledger, account->id) = account;
    ledger->refs++;
    wd_ledger_unlock(ledger);
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
    wd_ledger_lock(ledger);
    wd_tls_account *found = *bucket_of(ledger, id);
    while (found != NULL && found->id != id)
        found = found->next;
    if (found != NULL)
        found->refs++;
    wd_ledger_unlock(ledger);
    return found;
}

wd_tls_account *wd_tls_account_ref(wd_tls_account *account)
{
    if (account == NULL)
        return NULL;
    wd_ledger_lock(account->ledger);
    account->refs++;
    wd_ledger_unlock(account->ledger);
    return account;
}

/* Under the lock, which is let go of. */
static void drop_account(wd_tls_account *account)
{
    wd_tls_ledger *ledger = account->ledger;

    if (--account->refs > 0) {
        wd_ledger_unlock(ledger);
        return;
    }
    wd_shares_leave(&ledger->shares, account->share);
    free(account);
    drop_ledger(ledger);
}

void wd_tls_account_free(wd_tls_account *account)
{
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    drop_account(account);
}

void wd_tls_account_close(wd_tls_account *account)
{
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    WD_ASSERT(!account->closed);
    wd_tls_account **at = bucket_of(account->ledger, account->id);
    while (*at != account)
        at = &(*at)->next;
    *at = account->next;
    account->closed = true;
    wd_account_let_go_all(account);
    drop_account(account);
}

void wd_tls_account_used(const wd_tls_account *account, uint64_t *ret_requests,
                         uint64_t *ret_replies)
{
    *ret_requests = *ret_replies = 0;
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    *ret_requests = account->used[WD_REQUESTS];
    *ret_replies = account->used[WD_REPLIES];
    wd_ledger_unlock(account->ledger);
}
