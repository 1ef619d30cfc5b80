/* unread.h - replies that wait until their peers take them, and who loses his connection
 * when these hold too many contexts.
 *
 * A reply that has waited for WD_GATE_OVERDUE_MS is *overdue*, unless its connection has
 * taken WD_PROGRESS_BYTES in that time: who asks for much at once, or has a slow line, reads
 * what came before. Who reads nothing, or now and then a little, leaves all of them overdue.
 * In a crowd the principal that has most of these loses the connection whose reply has
 * waited longest, and the next, until there is room again or he has none left to lose; then
 * who has most now. But who has fewer than WD_GATE_OVERDUE, or for whom less than half as
 * many wait as for another, loses none: the crowd is not his.
 *
 * Threads: any; the list keeps its lock private.
 * Owns:    nothing but itself: each reply, and its peer, is its context's. */
#ifndef WD_SERVER_UNREAD_H
#define WD_SERVER_UNREAD_H

#include "proto/c/cleanup.h"
#include "server/peer.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define WD_GATE_OVERDUE    16U /* replies; fewer of a principal are nobody's fault */
#define WD_GATE_OVERDUE_MS 500 /* how long a reply may wait for who takes nothing */

typedef struct wd_unread wd_unread;

/* Within a context. */
typedef struct wd_unread_reply {
    TAILQ_ENTRY(wd_unread_reply) all;
    const wd_peer *peer; /* while it waits */
    int64_t since_ms;    /* monotonic */
} wd_unread_reply;

/* Has the connection's account cut (wd_tls_account_cut). `overdue`: its principal's. */
typedef void wd_unread_cut(void *arg, const wd_peer *peer, size_t overdue);

/* NULL: no memory. */
wd_unread *wd_unread_new(void);
void wd_unread_free(wd_unread *unread); /* no reply may wait; NULL is fine */
WD_DEFINE_AUTO(wd_unread, wd_unread_free)

/* The reply is NNG's from now on; or no more. Times are CLOCK_MONOTONIC's. */
void wd_unread_add(wd_unread *unread, wd_unread_reply *reply, const wd_peer *peer,
                   int64_t mono_ms);
void wd_unread_remove(wd_unread *unread, wd_unread_reply *reply);

/* Have connections closed until `wanted` replies are about to go, or nobody is left who
 * must yield. One thread at a time. `cut` is called under the lock: it may not come back
 * here. */
void wd_unread_relieve(wd_unread *unread, size_t wanted, int64_t mono_ms,
                       wd_unread_cut *cut, void *arg);

#endif
