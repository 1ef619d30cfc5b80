/* share.h - what each principal holds of a budget, and whose turn it is to yield.
 *
 * A share counts two kinds of bytes. Its *holders* are the connections that could give
 * bytes of a kind back by being closed (an unfinished message, a reply that waits), the
 * oldest first.
 *
 * Private to proto/tls.  Threads: the ledger's lock is held.
 * Owns:    a share for each principal that has connections, or bytes of theirs. */
#ifndef WD_SHARE_H
#define WD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_SHARE_BUCKETS 1024U /* a power of two */

/* Each within the budget by itself: whoever does not read replies takes no room from
 * requests. */
typedef enum wd_kind { WD_REQUESTS = 0, WD_REPLIES, WD_KINDS } wd_kind;

/* Within a connection's account, one for each kind; zeroed: it holds nothing. */
typedef struct wd_holder {
    struct wd_holder *prev, *next;
    uint64_t bytes; /* that it holds, listed or not */
    bool listed;
} wd_holder;

typedef struct wd_share {
    struct wd_share *next; /* of its bucket */
    uint64_t used[WD_KINDS];
    uint64_t yields[WD_KINDS]; /* of these, what all its holders could give back */
    wd_holder *oldest[WD_KINDS], *newest[WD_KINDS];
    size_t n_accounts;
    char uri[];
} wd_share;

/* Zeroed: nobody. */
typedef struct wd_shares {
    wd_share *buckets[WD_SHARE_BUCKETS];
} wd_shares;

/* One account more, or less, of the principal `uri`. NULL: no memory. */
wd_share *wd_shares_join(wd_shares *all, const char *uri);
void wd_shares_leave(wd_shares *all, wd_share *share);

/* The connection holds so much more, or less. */
void wd_share_hold(wd_share *share, wd_kind kind, wd_holder *holder, uint64_t bytes);
void wd_share_let_go(wd_share *share, wd_kind kind, wd_holder *holder, uint64_t bytes);

/* From now on the newest of its share, unless it is there already; or not any more. */
void wd_share_enlist(wd_share *share, wd_kind kind, wd_holder *holder);
void wd_share_unlist(wd_share *share, wd_kind kind, wd_holder *holder);

/* Could those who hold more than `above` give `wanted` bytes back, each by its holders in
 * turn and none when it holds no more than that any longer? */
bool wd_shares_could_yield(const wd_shares *all, wd_kind kind, uint64_t above,
                           uint64_t wanted);

/* Of those who hold more than `above` and have a holder, the one that could give most
 * back; NULL: there is none. */
wd_share *wd_shares_most(const wd_shares *all, wd_kind kind, uint64_t above);

#endif
