#include "clients/c/link.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "proto/c/clock.h"

#define LOOK_AT_FILES_MS 1000

struct wd_link {
    wd_profile *profile;
    pthread_mutex_t lock; /* the fields below */
    pthread_cond_t changed;
    wd_conn *conn;    /* in force; NULL: none */
    wd_conn *dialled; /* the one that the thread is at; NULL: none */
    pthread_t thread;
    bool has_thread; /* to be joined */
    bool dialling, closing;
    uint64_t attempts;  /* that have ended */
    wd_failure failure; /* of the last one; code 0: it had none */
    int64_t looked_ms;
};

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

wd_link *wd_link_new(wd_profile *profile)
{
    pthread_condattr_t monotonic;
    wd_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return NULL;
    link->profile = profile;
    pthread_mutex_init(&link->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&link->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return link;
}

void wd_link_free(wd_link *link)
{
    if (link == NULL)
        return;
    pthread_mutex_lock(&link->lock);
    link->closing = true;
    WD_AUTO(wd_conn) *dialled =
        link->dialled != NULL ? wd_conn_ref(link->dialled) : NULL;
    pthread_mutex_unlock(&link->lock);
    if (dialled != NULL)
        wd_conn_abort(dialled);
    if (link->has_thread)
        pthread_join(link->thread, NULL);
    wd_conn_free(link->conn);
    pthread_cond_destroy(&link->changed);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

/* --- the thread -------------------------------------------------------------------------- */

/* False: the link is closing. */
static bool announce(wd_link *link, wd_conn *conn)
{
    pthread_mutex_lock(&link->lock);
    link->dialled = conn;
    bool go = !link->closing;
    pthread_mutex_unlock(&link->lock);
    return go;
}

static wd_status dial_one(wd_link *link, const wd_server *server, wd_conn **ret,
                          wd_failure *why)
{
    const wd_credentials *credentials = NULL;
    WD_AUTO(wd_conn) *conn = NULL;
    WD_TRY(wd_profile_credentials(link->profile, &credentials, why));
    WD_TRY(wd_conn_new(credentials, server, &conn, why));
    wd_status status = WD_CANCELLED;
    if (announce(link, conn))
        status = wd_conn_dial(conn, why);
    else
        (void)wd_failure_unreachable(why, WD_PHASE_CONNECT, "the channel is closing");
    (void)announce(link, NULL);
    if (status == WD_OK)
        *ret = WD_STEAL(conn);
    return status;
}

/* The first of the profile's servers that can be reached; any other refusal is final. */
static wd_status dial_first(wd_link *link, wd_conn **ret, wd_failure *why)
{
    const wd_credentials *credentials = NULL;
    WD_TRY(wd_profile_credentials(link->profile, &credentials, why));
    wd_servers servers = credentials->servers;
    wd_credentials_free(credentials);
    wd_status status = WD_INTERNAL;
    for (size_t i = 0; i < servers.n; i++) {
        status = dial_one(link, &servers.server[i], ret, why);
        if (status == WD_OK || why->reason != WD_REASON_UNREACHABLE)
            return status;
    }
    return status;
}

static void *run(void *arg)
{
    wd_link *link = arg;
    wd_failure why = {0};
    wd_conn *conn = NULL;
    bool ok = dial_first(link, &conn, &why) == WD_OK;
    pthread_mutex_lock(&link->lock);
    if (ok) {
        link->conn = conn;
        link->failure = (wd_failure){0};
    } else {
        link->failure = why;
    }
    link->dialling = false;
    link->attempts++;
    link->looked_ms = now_ms();
    pthread_cond_broadcast(&link->changed);
    pthread_mutex_unlock(&link->lock);
    return NULL;
}

/* With the lock held. Signals are for the program's own threads. */
static wd_status start_thread(wd_link *link, wd_failure *why)
{
    sigset_t all, before;
    if (link->has_thread)
        pthread_join(link->thread, NULL); /* it has ended: dialling is false */
    link->has_thread = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&link->thread, NULL, run, link);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return wd_failure_unreachable(why, WD_PHASE_CONNECT, "no thread to dial with");
    link->has_thread = true;
    link->dialling = true;
    return WD_OK;
}

/* --- taking a connection ------------------------------------------------------------------- */

/* With the lock held: the connection in force, unless it has ended or gone stale, which
 * goes to *ret_left for its reference to be given back without the lock. */
static wd_conn *usable(wd_link *link, wd_conn **ret_left)
{
    if (link->conn == NULL)
        return NULL;
    int64_t now = now_ms();
    bool stale = false;
    if (now - link->looked_ms >= LOOK_AT_FILES_MS) {
        link->looked_ms = now;
        stale = wd_profile_changed(link->profile);
    }
    if (!stale && wd_conn_alive(link->conn))
        return link->conn;
    wd_conn_free(*ret_left); /* it happens twice while a gate comes and goes */
    *ret_left = WD_STEAL(link->conn);
    return NULL;
}

static bool wait_until(wd_link *link, int64_t until_ms)
{
    const struct timespec at = {.tv_sec = until_ms / 1000,
                                .tv_nsec = until_ms % 1000 * 1000000};
    return pthread_cond_timedwait(&link->changed, &link->lock, &at) == 0 ||
           now_ms() < until_ms;
}

static wd_status too_late(wd_link *link, wd_failure *why)
{
    wd_phase phase =
        link->dialled != NULL ? wd_conn_phase(link->dialled) : WD_PHASE_CONNECT;
    return wd_failure_make(
        why, phase, WD_REASON_QUEUE_TIMEOUT,
        "no connection before the deadline; not sent, safe to retry");
}

/* With the lock held. */
static wd_status take(wd_link *link, int64_t until_ms, wd_conn **ret,
                      wd_conn **ret_left, wd_failure *why)
{
    const uint64_t before = link->attempts;
    for (;;) {
        wd_conn *conn = usable(link, ret_left);
        if (conn != NULL) {
            *ret = wd_conn_ref(conn);
            return WD_OK;
        }
        if (link->attempts != before && link->failure.code != 0) {
            *why = link->failure;
            return (wd_status)why->code;
        }
        if (!link->dialling)
            WD_TRY(start_thread(link, why));
        if (!wait_until(link, until_ms))
            return too_late(link, why);
    }
}

wd_status wd_link_take(wd_link *link, int64_t until_ms, wd_conn **ret, wd_failure *why)
{
    WD_AUTO(wd_conn) *left = NULL;
    pthread_mutex_lock(&link->lock);
    wd_status status = take(link, until_ms, ret, &left, why);
    pthread_mutex_unlock(&link->lock);
    return status;
}

void wd_link_leave(wd_link *link, const wd_conn *conn)
{
    wd_conn *left = NULL;
    pthread_mutex_lock(&link->lock);
    if (link->conn == conn)
        left = WD_STEAL(link->conn);
    pthread_mutex_unlock(&link->lock);
    wd_conn_free(left);
}
