#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "proto/tls/binding.h"

enum { BATCH = 64 };

/* How long may pass between two looks, in ms: a tenth of the shortest limit. */
static int64_t tick_ms(const wd_tls_options *o)
{
    int64_t shortest = o->handshake_ms;

    if (o->greeting_ms < shortest)
        shortest = o->greeting_ms;
    if (o->stall_ms < shortest)
        shortest = o->stall_ms;
    if (o->frame_ms < shortest)
        shortest = o->frame_ms;
    if (shortest < 50)
        return 5;
    return shortest > 2500 ? 250 : shortest / 10;
}

/* Why this connection must end; NONE: it may go on. Under the lock. */
static wd_tls_cause overdue(const wd_tls_options *o, nng_tls_engine_conn *c,
                            int64_t now_ms)
{
    int64_t stalled_ms = atomic_load(&c->stalled_ms);
    int64_t frame_ms = atomic_load(&c->frame_ms);

    if (!c->link.opened)
        return now_ms - c->link.since_ms >= o->handshake_ms ? WD_TLS_HANDSHAKE_TIMEOUT
                                                            : WD_TLS_NONE;
    if (atomic_load(&c->bytes_read) < WD_GREETING_BYTES &&
        now_ms - c->link.since_ms >= o->greeting_ms)
        return WD_TLS_GREETING_TIMEOUT;
    if (wd_tls_account_is_cut(c->account))
        return wd_tls_account_cause(c->account);
    if (stalled_ms != 0 && now_ms - stalled_ms >= o->stall_ms)
        return WD_TLS_SEND_STALLED;
    if (frame_ms != 0 && now_ms - frame_ms >= o->frame_ms)
        return WD_TLS_FRAME_TIMEOUT;
    return WD_TLS_NONE;
}

/* Nobody frees it before `poking` is false again. Under the lock. */
static void claim(nng_tls_engine_conn *c, wd_tls_cause cause)
{
    c->link.poked = c->link.poking = true;
    atomic_store(&c->timed_out, (int)cause);
}

/* Those that gave their place up. Under the lock. */
static size_t claim_evicted(wd_tls_binding *b, nng_tls_engine_conn *some[BATCH])
{
    nng_tls_engine_conn *c;
    size_t n = 0;

    while (n < BATCH && (c = wd_binding_pop_evicted(b)) != NULL) {
        if (c->link.poked)
            continue;
        claim(c, WD_TLS_HALF_OPEN_LIMIT);
        some[n++] = c;
    }
    return n;
}

/* Those that have passed a limit. Under the lock. */
static size_t claim_overdue(wd_tls_binding *b, nng_tls_engine_conn *some[BATCH])
{
    int64_t now_ms = wd_now_ms();
    size_t n = 0;

    for (nng_tls_engine_conn *c = b->head; c != NULL && n < BATCH; c = c->link.next) {
        wd_tls_cause cause =
            c->link.poked ? WD_TLS_NONE : overdue(&b->options, c, now_ms);
        if (cause == WD_TLS_NONE)
            continue;
        claim(c, cause);
        some[n++] = c;
    }
    return n;
}

/* Make NNG ask the engine about this connection: with `timed_out` set the engine fails
 * whatever is queued, and ours after it, so this does not wait. (To close the stream
 * instead would cost the listener a pause of 100 ms: NNG takes ECLOSED for a fault of
 * its own.) Without a time limit: NNG's expiry would touch the connection after its
 * answer, when it may be gone. */
static void poke(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    uint8_t byte = 0;
    nng_iov iov = {.iov_buf = &byte, .iov_len = 1};
    nng_stream *stream = c->tls;

    nng_aio_set_timeout(b->poke, NNG_DURATION_INFINITE);
    (void)nng_aio_set_iov(b->poke, 1, &iov);
    nng_stream_send(stream, b->poke);
    nng_aio_wait(b->poke);
    (void)nng_aio_set_iov(b->poke, 1, &iov);
    nng_stream_recv(stream, b->poke);
    nng_aio_wait(b->poke);
}

/* Under the lock, which is let go of meanwhile. */
static void close_some(wd_tls_binding *b, nng_tls_engine_conn *some[BATCH], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)pthread_mutex_unlock(&b->lock);
        poke(b, some[i]);
        (void)pthread_mutex_lock(&b->lock);
        some[i]->link.poking = false;
        (void)pthread_cond_broadcast(&b->changed);
    }
}

/* However many give their place up, some of the others have their turn. */
static void close_due(wd_tls_binding *b)
{
    nng_tls_engine_conn *some[BATCH];
    size_t n;

    close_some(b, some, claim_evicted(b, some));
    n = claim_overdue(b, some);
    close_some(b, some, n);
    if (n == BATCH)
        b->hurry = true; /* there may be more */
}

/* Under the lock, which is let go of meanwhile. */
static void ask_owner(wd_tls_binding *b)
{
    if (b->options.on_tick == NULL)
        return;
    (void)pthread_mutex_unlock(&b->lock);
    b->options.on_tick(b->options.arg);
    (void)pthread_mutex_lock(&b->lock);
}

static void wait_a_tick(wd_tls_binding *b)
{
    int64_t at_ms = wd_now_ms() + tick_ms(&b->options);
    const struct timespec at = {.tv_sec = at_ms / 1000,
                                .tv_nsec = at_ms % 1000 * 1000000};

    while (!b->stopping && !b->hurry && b->first_evicted == NULL && wd_now_ms() < at_ms)
        if (pthread_cond_timedwait(&b->changed, &b->lock, &at) == ETIMEDOUT)
            return;
}

static void *sweep(void *arg)
{
    wd_tls_binding *b = arg;

    (void)pthread_mutex_lock(&b->lock);
    while (!b->stopping) {
        if (b->head == NULL) {
            (void)pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        b->hurry = false;
        ask_owner(b);
        close_due(b);
        wait_a_tick(b);
    }
    (void)pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Signals are for the process's main thread. */
wd_status wd_sweeper_start(wd_tls_binding *b, wd_error *err)
{
    sigset_t all, before;
    int rv;

    if (nng_aio_alloc(&b->poke, NULL, NULL) != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the TLS sweeper");
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = pthread_create(&b->sweeper, NULL, sweep, b);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rv != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no thread for the TLS sweeper: %s",
                       strerrordesc_np(rv));
    b->sweeping = true;
    return WD_OK;
}

void wd_sweeper_stop(wd_tls_binding *b)
{
    (void)pthread_mutex_lock(&b->lock);
    b->stopping = true;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
    if (b->sweeping)
        (void)pthread_join(b->sweeper, NULL);
    b->sweeping = false;
    nng_aio_free(b->poke);
    b->poke = NULL;
}
