/* account_impl.h - what account.c and account_charge.c share.
 *
 * Private to proto/tls.  Threads: as account.h has it. */
#ifndef WD_ACCOUNT_IMPL_H
#define WD_ACCOUNT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "proto/tls/account.h"
#include "proto/tls/share.h"

#define WD_ACCOUNT_BUCKETS 1024U /* a power of two */

struct wd_tls_account {
    wd_tls_ledger *ledger;
    wd_share *share;
    struct wd_tls_account *next; /* of its bucket, until closed */
    uint64_t id;
    wd_holder held[WD_KINDS]; /* by the connection */
    uint64_t used[WD_KINDS];  /* that, and what the messages' owners have taken */
    size_t refs;
    bool closed;
    bool yields;    /* what it holds is the ledger's, and no longer its share's */
    atomic_int cut; /* a wd_tls_cause; by the ledger, or who receives the messages */
    atomic_int_fast64_t took_ms; /* written by the engine, without the lock */
};

struct wd_tls_ledger {
    pthread_mutex_t lock;
    uint64_t budget, last_id;
    uint64_t used[WD_KINDS];
    uint64_t leaving[WD_KINDS]; /* of these, held by those who yield */
    size_t refs;                /* its owner's and each account's */
    void (*hurry)(void *arg);
    void *hurry_arg;
    wd_shares shares;
    wd_tls_account *accounts[WD_ACCOUNT_BUCKETS];
};

static inline void wd_ledger_lock(wd_tls_ledger *ledger)
{
    (void)pthread_mutex_lock(&ledger->lock);
}

static inline void wd_ledger_unlock(wd_tls_ledger *ledger)
{
    (void)pthread_mutex_unlock(&ledger->lock);
}

/* Its connection is gone, and with it what it holds. Under the lock. */
void wd_account_let_go_all(wd_tls_account *account);

#endif
