/* account.h - whose requests and replies are in memory: a budget for all, a share for each.
 *
 * A connection's account is charged when a message announces its length, before NNG
 * allocates it. The bytes stay charged to the connection until the message's owner
 * *takes* them, then to the owner until it *releases* them; what a connection that ends
 * still holds is given back once.
 *
 *     wd_tls_account_take(account, size);      the request is here
 *     nng_msg_free(request);
 *     wd_tls_account_release(account, size);
 *
 * A reply is charged before it is given to NNG, which keeps it until its peer has read
 * enough: until then, or until the connection ends, it stays charged to the connection.
 *
 * Strangers cannot starve friends. Beside the budget there is a reserve of a sixteenth,
 * for what is small and of a principal that holds little. When there is no room, others
 * *yield*: of those who hold more than the asker would, the one that can give most back.
 * Of his connections the one with the oldest unfinished request, or unread reply, is
 * closed. Its bytes count no more, though they are in memory until it is gone: of these
 * there are at most a share beside the budget. Nobody yields when that would not do.
 *
 * Threads: any; the ledger keeps its lock private.
 * Owns:    a ledger lives as long as its last account. */
#ifndef WD_TLS_ACCOUNT_H
#define WD_TLS_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/limits.h"
#include "proto/c/status.h"
#include "proto/tls/cause.h"

/* The reserve is such a part of the budget; it takes so many bytes at a time, of who
 * holds no more than such a part of the budget. */
#define WD_RESERVE_PART 16U
#define WD_LITTLE_BYTES (64U << 10)
#define WD_LITTLE_PART  256U

#define WD_PROGRESS_BYTES                                                              \
    (64U << 10) /* of a message; less in its time is no progress */

#define WD_FREE_REPLY_BYTES 4096U /* not charged: the number of calls bounds them */

typedef struct wd_tls_ledger wd_tls_ledger;
typedef struct wd_tls_account wd_tls_account;

typedef enum wd_tls_charge {
    WD_TLS_CHARGED = 0,
    WD_TLS_OVER_SHARE,  /* of the principal; asked first, for it is its own doing */
    WD_TLS_OVER_BUDGET, /* of all */
} wd_tls_charge;

/* NULL: no memory. */
wd_tls_ledger *wd_tls_ledger_new(uint64_t budget_bytes);
void wd_tls_ledger_free(wd_tls_ledger *ledger); /* NULL is fine */
WD_DEFINE_AUTO(wd_tls_ledger, wd_tls_ledger_free)

/* Call `hurry` when a connection has to yield, under the ledger's lock: it may not come
 * back here. Before the first account. */
void wd_tls_ledger_on_yield(wd_tls_ledger *ledger, void (*hurry)(void *arg), void *arg);

/* Charged now, to whomever: of requests, and of replies that wait to be read. Each kind
 * may take the whole budget. */
uint64_t wd_tls_ledger_used(wd_tls_ledger *ledger);
uint64_t wd_tls_ledger_replies(wd_tls_ledger *ledger);

/* --- for the engine ------------------------------------------------------------------ */

/* A new connection of the principal `uri`; NULL: no memory. */
wd_tls_account *wd_tls_account_open(wd_tls_ledger *ledger, const char *uri);

/* Its number, by which wd_tls_account_find finds it until it is closed. */
uint64_t wd_tls_account_id(const wd_tls_account *account);

/* All or nothing. */
wd_tls_charge wd_tls_account_charge(wd_tls_account *account, uint64_t bytes);

/* The message that was charged last is whole: it does not yield any more. NULL is fine. */
void wd_tls_account_whole(wd_tls_account *account);

/* Why the connection must be closed: CUT_OFF, REQUEST_YIELDED, REPLY_YIELDED; NONE. */
wd_tls_cause wd_tls_account_cause(const wd_tls_account *account);

/* `bytes` of what the connection holds are not there after all. */
void wd_tls_account_give_back(wd_tls_account *account, uint64_t bytes);

/* The connection is gone: gives back what it holds, lets go of the account. NULL is fine. */
void wd_tls_account_close(wd_tls_account *account);

/* --- for who receives the messages: NULL, no budget, is fine everywhere -------------- */

/* With a reference for the caller; NULL: there is none (any more). */
wd_tls_account *wd_tls_account_find(wd_tls_ledger *ledger, uint64_t id);

/* One more holder; returns its argument. */
wd_tls_account *wd_tls_account_ref(wd_tls_account *account);
void wd_tls_account_free(wd_tls_account *account);
WD_DEFINE_AUTO(wd_tls_account, wd_tls_account_free)

/* When the peer had last taken another WD_PROGRESS_BYTES of what is sent to it, on
 * CLOCK_MONOTONIC; 0: never. The engine sets it. */
void wd_tls_account_set_took(wd_tls_account *account, int64_t mono_ms);
int64_t wd_tls_account_took_ms(const wd_tls_account *account);

/* Have the engine close the connection, within a tick of its sweeper; what is read and
 * written on it until then is for the caller to drop. The engine reports no cause: false
 * when the connection was cut off before, or yields. */
bool wd_tls_account_cut(wd_tls_account *account);

/* It is cut off, or yields. */
bool wd_tls_account_is_cut(const wd_tls_account *account);

/* A message with a body of `bytes` is the caller's now, be its connection gone or not. */
void wd_tls_account_take(wd_tls_account *account, uint64_t bytes);

/* What was made of such a message takes `bytes` more, the caller's as well. All or
 * nothing. */
WD_MUST_USE wd_tls_charge wd_tls_account_grow(wd_tls_account *account, uint64_t bytes);

/* And is freed. Once for each take and each growth, or for some together. */
void wd_tls_account_release(wd_tls_account *account, uint64_t bytes);

/* Charged by this account now: of requests, whether they come in or are taken, and of
 * replies that wait to be read. */
void wd_tls_account_used(const wd_tls_account *account, uint64_t *ret_requests,
                         uint64_t *ret_replies);

/* A reply with a body of `bytes` is about to be sent. All or nothing. */
WD_MUST_USE wd_tls_charge wd_tls_account_charge_reply(wd_tls_account *account,
                                                      uint64_t bytes);

/* The engine: TLS has taken the whole of it. Or it was never given to NNG. */
void wd_tls_account_reply_gone(wd_tls_account *account, uint64_t bytes);

#endif
