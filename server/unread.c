#include "server/unread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef TAILQ_HEAD(replies, wd_unread_reply) replies;

struct wd_unread {
    pthread_mutex_t lock;
    replies replies; /* oldest first */
};

wd_unread *wd_unread_new(void)
{
    wd_unread *unread = calloc(1, sizeof(*unread));

    if (unread == NULL)
        return NULL;
    TAILQ_INIT(&unread->replies);
    (void)pthread_mutex_init(&unread->lock, NULL);
    return unread;
}

void wd_unread_free(wd_unread *unread)
{
    if (unread == NULL)
        return;
    WD_ASSERT(TAILQ_EMPTY(&unread->replies));
    (void)pthread_mutex_destroy(&unread->lock);
    free(unread);
}

void wd_unread_add(wd_unread *unread, wd_unread_reply *reply, const wd_peer *peer,
                   int64_t mono_ms)
{
    reply->peer = peer;
    reply->since_ms = mono_ms;
    (void)pthread_mutex_lock(&unread->lock);
    TAILQ_INSERT_TAIL(&unread->replies, reply, all);
    (void)pthread_mutex_unlock(&unread->lock);
}

void wd_unread_remove(wd_unread *unread, wd_unread_reply *reply)
{
    (void)pthread_mutex_lock(&unread->lock);
    TAILQ_REMOVE(&unread->replies, reply, all);
    (void)pthread_mutex_unlock(&unread->lock);
}

/* --- who must yield, under the lock ------------------------------------------------------- */

/* About to go; one without an account is gone already. */
static bool leaves(const wd_unread_reply *reply)
{
    const wd_tls_account *account = reply->peer->account;

    return account == NULL || wd_tls_account_is_cut(account);
}

static bool is_overdue(const wd_unread_reply *reply, int64_t mono_ms)
{
    int64_t least_ms = mono_ms - WD_GATE_OVERDUE_MS;

    return !leaves(reply) && reply->since_ms <= least_ms &&
           wd_tls_account_took_ms(reply->peer->account) <= least_ms;
}

static wd_unread_reply *next(wd_unread_reply *reply)
{
    return TAILQ_NEXT(reply, all);
}

static size_t count_leaving(const replies *of)
{
    size_t n = 0;

    for (wd_unread_reply *at = TAILQ_FIRST(of); at != NULL; at = next(at))
        n += leaves(at);
    return n;
}

/* How many replies of each principal wait, and are overdue; how many the most wait. */
static size_t count_all(const replies *of, int64_t mono_ms)
{
    size_t most = 0;

    for (wd_unread_reply *at = TAILQ_FIRST(of); at != NULL; at = next(at))
        *wd_principal_unread(at->peer->principal) = (wd_unread_count){0, 0};
    for (wd_unread_reply *at = TAILQ_FIRST(of); at != NULL; at = next(at)) {
        wd_unread_count *n = wd_principal_unread(at->peer->principal);
        n->overdue += is_overdue(at, mono_ms);
        n->waiting += !leaves(at);
        if (n->waiting > most)
            most = n->waiting;
    }
    return most;
}

/* The principal that has most overdue replies, of those that must yield; NULL: none. Where
 * another holds twice as much the crowd is not his. */
static wd_principal *who_has_most(const replies *of, int64_t mono_ms)
{
    const size_t least_waiting = count_all(of, mono_ms) / 2;
    wd_principal *most = NULL;
    size_t overdue = WD_GATE_OVERDUE - 1;

    for (wd_unread_reply *at = TAILQ_FIRST(of); at != NULL; at = next(at)) {
        const wd_unread_count *n = wd_principal_unread(at->peer->principal);
        if (n->overdue <= overdue || n->waiting < least_waiting)
            continue;
        most = at->peer->principal;
        overdue = n->overdue;
    }
    return most;
}

/* Who has most loses connections, until `wanted` replies more are about to go. False:
 * there is nobody. */
static bool relieve(const replies *of, size_t wanted, int64_t mono_ms,
                    wd_unread_cut *cut, void *arg)
{
    const wd_principal *most = who_has_most(of, mono_ms);

    if (most == NULL)
        return false;
    for (wd_unread_reply *at = TAILQ_FIRST(of); at != NULL && wanted > 0;
         at = next(at)) {
        if (at->peer->principal != most)
            continue;
        if (is_overdue(at, mono_ms))
            cut(arg, at->peer, wd_principal_unread(at->peer->principal)->overdue);
        wanted -= leaves(at);
    }
    return true;
}

void wd_unread_relieve(wd_unread *unread, size_t wanted, int64_t mono_ms,
                       wd_unread_cut *cut, void *arg)
{
    size_t leaving;

    (void)pthread_mutex_lock(&unread->lock);
    do
        leaving = count_leaving(&unread->replies);
    while (leaving < wanted &&
           relieve(&unread->replies, wanted - leaving, mono_ms, cut, arg));
    (void)pthread_mutex_unlock(&unread->lock);
}
