#include <stddef.h>

#include "proto/tls/account_impl.h"

/* --- bytes, under the lock ----------------------------------------------------------- */

static void add(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    account->used[which] += bytes;
    account->ledger->used[which] += bytes;
    account->share->used[which] += bytes;
}

static void subtract(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    WD_ASSERT(bytes <= account->share->used[which]);
    WD_ASSERT(bytes <= account->ledger->used[which]);
    WD_ASSERT(bytes <= account->used[which]);
    account->used[which] -= bytes;
    account->ledger->used[which] -= bytes;
    account->share->used[which] -= bytes;
}

/* Bytes that the connection holds count as its principal's again. */
static void stay(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    if (!account->yields)
        return;
    WD_ASSERT(bytes <= account->ledger->leaving[which]);
    account->ledger->leaving[which] -= bytes;
    account->share->used[which] += bytes;
}

/* The connection does not hold them any more; somebody else does. */
static void pass_on(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    wd_holder *holder = &account->held[which];

    WD_ASSERT(bytes <= holder->bytes);
    stay(account, which, bytes);
    wd_share_let_go(account->share, which, holder, bytes);
    if (which == WD_REPLIES && holder->bytes == 0)
        wd_share_unlist(account->share, which, holder);
}

/* Nobody does. */
static void let_go(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    pass_on(account, which, bytes);
    subtract(account, which, bytes);
}

void wd_account_let_go_all(wd_tls_account *account)
{
    wd_share_unlist(account->share, WD_REQUESTS, &account->held[WD_REQUESTS]);
    let_go(account, WD_REQUESTS, account->held[WD_REQUESTS].bytes);
    let_go(account, WD_REPLIES, account->held[WD_REPLIES].bytes);
}

/* --- requests ------------------------------------------------------------------------ */

/* Without overflow, as no budget is that large. */
static bool fits(uint64_t used, uint64_t bytes, uint64_t most)
{
    return used <= most && bytes <= most - used;
}

/* Its principal holds next to nothing, and it is small: the reserve is there for it. */
static bool is_little(const wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    return bytes <= WD_LITTLE_BYTES &&
           account->share->used[which] <= account->ledger->budget / WD_LITTLE_PART;
}

/* The connection is to be closed; until then the bytes are still in memory. */
static void have_yield(wd_tls_account *account, wd_tls_cause cause)
{
    wd_tls_ledger *ledger = account->ledger;
    int none = WD_TLS_NONE;

    (void)atomic_compare_exchange_strong(&account->cut, &none, (int)cause);
    account->yields = true;
    for (wd_kind which = WD_REQUESTS; which < WD_KINDS; which++) {
        wd_share_unlist(account->share, which, &account->held[which]);
        account->share->used[which] -= account->held[which].bytes;
        ledger->leaving[which] += account->held[which].bytes;
    }
    if (ledger->hurry != NULL)
        ledger->hurry(ledger->hurry_arg);
}

static wd_tls_account *account_of(wd_holder *holder, wd_kind which)
{
    char *at = (char *)(holder - which) - offsetof(wd_tls_account, held);

    return (wd_tls_account *)(void *)at;
}

static bool has_room(const wd_tls_ledger *ledger, wd_kind which, uint64_t bytes,
                     uint64_t most)
{
    return fits(ledger->used[which] - ledger->leaving[which], bytes, most);
}

/* Nobody yields to who would then hold as much, nor in vain. */
static bool make_room(wd_tls_account *account, wd_kind which, uint64_t bytes,
                      uint64_t most)
{
    static const wd_tls_cause causes[] = {WD_TLS_REQUEST_YIELDED, WD_TLS_REPLY_YIELDED};
    wd_tls_ledger *ledger = account->ledger;
    uint64_t staying = ledger->used[which] - ledger->leaving[which];
    uint64_t would_hold = account->share->used[which] + bytes;

    if (has_room(ledger, which, bytes, most))
        return true;
    if (!wd_shares_could_yield(&ledger->shares, which, would_hold,
                               staying + bytes - most))
        return false;
    while (!has_room(ledger, which, bytes, most)) {
        wd_share *share = wd_shares_most(&ledger->shares, which, would_hold);
        WD_ASSERT(share != NULL);
        have_yield(account_of(share->oldest[which], which), causes[which]);
    }
    return true;
}

/* Under the lock. What is about to go may lie beside the budget for a moment, up to a
 * share of it. */
static wd_tls_charge admit(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    wd_tls_ledger *ledger = account->ledger;
    uint64_t share = ledger->budget / WD_SHARES, most = ledger->budget;

    if (account->yields)
        return WD_TLS_OVER_BUDGET;
    if (!fits(account->share->used[which], bytes, share))
        return WD_TLS_OVER_SHARE;
    if (is_little(account, which, bytes))
        most += ledger->budget / WD_RESERVE_PART;
    if (!fits(ledger->used[which], bytes, most + share) ||
        !make_room(account, which, bytes, most))
        return WD_TLS_OVER_BUDGET;
    add(account, which, bytes);
    return WD_TLS_CHARGED;
}

/* As admit; the connection holds them. */
static wd_tls_charge charge(wd_tls_account *account, wd_kind which, uint64_t bytes)
{
    wd_tls_charge answer = admit(account, which, bytes);

    if (answer != WD_TLS_CHARGED)
        return answer;
    wd_share_hold(account->share, which, &account->held[which], bytes);
    wd_share_enlist(account->share, which, &account->held[which]);
    return answer;
}

wd_tls_charge wd_tls_account_charge(wd_tls_account *account, uint64_t bytes)
{
    wd_ledger_lock(account->ledger);
    wd_tls_charge answer = charge(account, WD_REQUESTS, bytes);
    wd_ledger_unlock(account->ledger);
    return answer;
}

void wd_tls_account_give_back(wd_tls_account *account, uint64_t bytes)
{
    wd_ledger_lock(account->ledger);
    let_go(account, WD_REQUESTS, bytes);
    wd_ledger_unlock(account->ledger);
}

void wd_tls_account_whole(wd_tls_account *account)
{
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    wd_share_unlist(account->share, WD_REQUESTS, &account->held[WD_REQUESTS]);
    wd_ledger_unlock(account->ledger);
}

void wd_tls_account_set_took(wd_tls_account *account, int64_t mono_ms)
{
    if (account != NULL)
        atomic_store(&account->took_ms, mono_ms);
}

int64_t wd_tls_account_took_ms(const wd_tls_account *account)
{
    return account == NULL ? 0 : atomic_load(&account->took_ms);
}

bool wd_tls_account_cut(wd_tls_account *account)
{
    int none = WD_TLS_NONE;

    return account != NULL &&
           atomic_compare_exchange_strong(&account->cut, &none, (int)WD_TLS_CUT_OFF);
}

wd_tls_cause wd_tls_account_cause(const wd_tls_account *account)
{
    return account == NULL ? WD_TLS_NONE : (wd_tls_cause)atomic_load(&account->cut);
}

bool wd_tls_account_is_cut(const wd_tls_account *account)
{
    return wd_tls_account_cause(account) != WD_TLS_NONE;
}

/* A connection may end between its last byte and this: then the bytes, given back
 * already, are charged again, whatever the budget says, for they are there. */
void wd_tls_account_take(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    if (account->closed) {
        add(account, WD_REQUESTS, bytes);
    } else {
        pass_on(account, WD_REQUESTS, bytes);
    }
    wd_ledger_unlock(account->ledger);
}

wd_tls_charge wd_tls_account_grow(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return WD_TLS_CHARGED;
    wd_ledger_lock(account->ledger);
    wd_tls_charge answer = admit(account, WD_REQUESTS, bytes);
    wd_ledger_unlock(account->ledger);
    return answer;
}

void wd_tls_account_release(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL)
        return;
    wd_ledger_lock(account->ledger);
    subtract(account, WD_REQUESTS, bytes);
    wd_ledger_unlock(account->ledger);
}

/* --- replies ------------------------------------------------------------------------- */

/* To a connection that is gone NNG sends nothing, and frees the message at once; one that
 * yields is soon gone, and what it holds with it. */
wd_tls_charge wd_tls_account_charge_reply(wd_tls_account *account, uint64_t bytes)
{
    wd_tls_charge answer = WD_TLS_CHARGED;

    if (account == NULL || bytes <= WD_FREE_REPLY_BYTES)
        return answer;
    wd_ledger_lock(account->ledger);
    if (!account->closed && !account->yields)
        answer = charge(account, WD_REPLIES, bytes);
    wd_ledger_unlock(account->ledger);
    return answer;
}

void wd_tls_account_reply_gone(wd_tls_account *account, uint64_t bytes)
{
    if (account == NULL || bytes <= WD_FREE_REPLY_BYTES)
        return;
    wd_ledger_lock(account->ledger);
    if (!account->yields && bytes <= account->held[WD_REPLIES].bytes)
        let_go(account, WD_REPLIES, bytes);
    wd_ledger_unlock(account->ledger);
}
