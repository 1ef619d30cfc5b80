#include "proto/tls/binding.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "proto/tls/peer_uid.h"

enum { STALL_MS = 10000, FRAME_MS = 10000 };

/* How long a new connection waits for those about to go. */
enum { ROOM_MS = 100 };

int64_t wd_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

wd_tls_binding *wd_binding_ref(wd_tls_binding *binding)
{
    atomic_fetch_add(&binding->refs, 1);
    return binding;
}

void wd_binding_unref(wd_tls_binding *binding)
{
    if (atomic_fetch_sub(&binding->refs, 1) != 1)
        return;
    wd_tls_credentials_free(binding->credentials);
    wd_tls_ledger_free(binding->ledger);
    (void)pthread_cond_destroy(&binding->changed);
    (void)pthread_mutex_destroy(&binding->lock);
    free(binding);
}

bool wd_binding_call_begin(wd_tls_binding *binding)
{
    bool allowed;

    (void)pthread_mutex_lock(&binding->lock);
    allowed = !binding->stopping;
    binding->n_calling += allowed ? 1 : 0;
    (void)pthread_mutex_unlock(&binding->lock);
    return allowed;
}

void wd_binding_call_end(wd_tls_binding *binding)
{
    (void)pthread_mutex_lock(&binding->lock);
    binding->n_calling--;
    (void)pthread_cond_broadcast(&binding->changed);
    (void)pthread_mutex_unlock(&binding->lock);
}

void wd_tls_binding_free(wd_tls_binding *binding)
{
    if (binding == NULL)
        return;
    wd_sweeper_stop(binding);
    (void)pthread_mutex_lock(&binding->lock);
    while (binding->n_calling > 0)
        (void)pthread_cond_wait(&binding->changed, &binding->lock);
    (void)pthread_mutex_unlock(&binding->lock);
    wd_binding_unref(binding);
}

static wd_tls_binding *new_binding(const wd_tls_options *options)
{
    wd_tls_binding *b = calloc(1, sizeof *b);
    pthread_condattr_t monotonic;

    if (b == NULL)
        return NULL;
    atomic_init(&b->refs, 1);
    b->options = *options;
    if (b->options.handshake_ms == 0)
        b->options.handshake_ms = WD_HANDSHAKE_MS;
    if (b->options.greeting_ms == 0)
        b->options.greeting_ms = WD_GREETING_MS;
    if (b->options.stall_ms == 0)
        b->options.stall_ms = STALL_MS;
    if (b->options.frame_ms == 0)
        b->options.frame_ms = FRAME_MS;
    if (b->options.half_open_per_address == 0)
        b->options.half_open_per_address = WD_HALF_OPEN_HOST;
    if (b->options.half_open_all == 0)
        b->options.half_open_all = WD_HALF_OPEN_ALL;
    if (b->options.half_open_leaving == 0)
        b->options.half_open_leaving = WD_HALF_OPEN_LEAVING;
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&b->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return b;
}

/* Order: the ledger's lock, then the binding's. Who yields is not closed yet, and holds
 * the binding. */
static void hurry(void *arg)
{
    wd_tls_binding *b = arg;

    (void)pthread_mutex_lock(&b->lock);
    b->hurry = true;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
}

wd_status wd_tls_binding_new(const wd_tls_options *options,
                             wd_tls_credentials *credentials, wd_tls_binding **ret,
                             wd_error *err)
{
    WD_AUTO(wd_tls_binding) *binding = NULL;

    WD_TRY(wd_tls_registered(err));
    if (options->uid_count > 0)
        WD_TRY(wd_peer_probe(err));
    binding = new_binding(options);
    if (binding == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a TLS binding");
    binding->credentials = wd_tls_credentials_ref(credentials);
    if (options->request_bytes > 0)
        binding->ledger = wd_tls_ledger_new(options->request_bytes);
    if (options->request_bytes > 0 && binding->ledger == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a TLS binding");
    if (binding->ledger != NULL)
        wd_tls_ledger_on_yield(binding->ledger, hurry, binding);
    WD_TRY(wd_sweeper_start(binding, err));
    *ret = WD_STEAL(binding);
    return WD_OK;
}

void wd_tls_binding_swap(wd_tls_binding *binding, wd_tls_credentials *credentials)
{
    wd_tls_credentials *old;

    wd_tls_credentials_ref(credentials);
    (void)pthread_mutex_lock(&binding->lock);
    old = binding->credentials;
    binding->credentials = credentials;
    (void)pthread_mutex_unlock(&binding->lock);
    wd_tls_credentials_free(old);
}

wd_tls_credentials *wd_tls_binding_credentials(wd_tls_binding *binding)
{
    wd_tls_credentials *credentials;

    (void)pthread_mutex_lock(&binding->lock);
    credentials = wd_tls_credentials_ref(binding->credentials);
    (void)pthread_mutex_unlock(&binding->lock);
    return credentials;
}

bool wd_tls_denied(wd_tls_binding *binding, const wd_identity *peer)
{
    WD_AUTO(wd_tls_credentials) *credentials = wd_tls_binding_credentials(binding);

    return wd_tls_credentials_deny(credentials, peer);
}

void wd_tls_binding_stats(wd_tls_binding *binding, wd_tls_stats *ret)
{
    (void)pthread_mutex_lock(&binding->lock);
    *ret = (wd_tls_stats){.live = binding->n_live, .half_open = binding->n_half_open};
    (void)pthread_mutex_unlock(&binding->lock);
    ret->accepted = atomic_load(&binding->accepted);
    ret->refused = atomic_load(&binding->refused);
    ret->bytes_read = atomic_load(&binding->bytes_read);
    ret->bytes_written = atomic_load(&binding->bytes_written);
    ret->records_written = atomic_load(&binding->records_written);
    ret->refused_bytes_read = atomic_load(&binding->refused_bytes_read);
    if (binding->ledger != NULL)
        ret->request_bytes = wd_tls_ledger_used(binding->ledger);
}

/* --- the list, under the lock --------------------------------------------------------- */

static void evict(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    wd_half_open_remove(&b->half_open, &c->link.among);
    c->link.evicted = true;
    c->link.evicted_next = NULL;
    c->link.evicted_prev = b->last_evicted;
    if (b->last_evicted != NULL)
        b->last_evicted->link.evicted_next = c;
    else
        b->first_evicted = c;
    b->last_evicted = c;
}

static void unlist_evicted(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    if (!c->link.evicted)
        return;
    if (c->link.evicted_prev != NULL)
        c->link.evicted_prev->link.evicted_next = c->link.evicted_next;
    else
        b->first_evicted = c->link.evicted_next;
    if (c->link.evicted_next != NULL)
        c->link.evicted_next->link.evicted_prev = c->link.evicted_prev;
    else
        b->last_evicted = c->link.evicted_prev;
    c->link.evicted = false;
}

nng_tls_engine_conn *wd_binding_pop_evicted(wd_tls_binding *b)
{
    nng_tls_engine_conn *c = b->first_evicted;

    if (c != NULL)
        unlist_evicted(b, c);
    return c;
}

static nng_tls_engine_conn *conn_of(wd_half_open_link *link)
{
    char *at = (char *)link - offsetof(nng_tls_engine_conn, link.among);

    return (nng_tls_engine_conn *)(void *)at;
}

/* A dialer's own connections are not counted against anyone. */
static bool enter_half_open(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    const wd_half_open_most most = {b->options.half_open_per_address,
                                    b->options.half_open_all};
    wd_half_open_link *excess;

    if (!c->server)
        return true;
    if (!wd_half_open_add(&b->half_open, &c->link.among, c->link.host))
        return false;
    excess = wd_half_open_excess(&b->half_open, &c->link.among, most);
    if (excess != NULL)
        evict(b, conn_of(excess));
    return true;
}

static void enlist(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    c->credentials = wd_tls_credentials_ref(b->credentials);
    c->link.since_ms = wd_now_ms();
    c->link.listed = c->link.half_open = true;
    c->link.next = b->head;
    if (b->head != NULL)
        b->head->link.prev = c;
    b->head = c;
    b->n_live++;
    b->n_half_open++;
    (void)pthread_cond_broadcast(&b->changed);
}

static void unlist(wd_tls_binding *b, nng_tls_engine_conn *c)
{
    if (c->link.prev != NULL)
        c->link.prev->link.next = c->link.next;
    else
        b->head = c->link.next;
    if (c->link.next != NULL)
        c->link.next->link.prev = c->link.prev;
    b->n_live--;
    b->n_half_open -= c->link.half_open ? 1 : 0;
    c->link.listed = c->link.half_open = false;
    if (b->n_waiting > 0)
        (void)pthread_cond_broadcast(&b->changed);
}

/* --- and who may be on it -------------------------------------------------------------- */

/* Who gave his place up holds his memory until NNG has let go of it: nobody is accepted
 * faster than they go. A thread of NNG's waits here, so not for long. */
static void wait_for_room(wd_tls_binding *b)
{
    const uint64_t most =
        (uint64_t)b->options.half_open_all + b->options.half_open_leaving;
    struct timespec until;

    if (b->n_half_open < most)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ROOM_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    b->n_waiting++;
    while (b->n_half_open >= most &&
           pthread_cond_timedwait(&b->changed, &b->lock, &until) == 0)
        continue;
    b->n_waiting--;
}

bool wd_binding_add(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    bool entered;

    (void)pthread_mutex_lock(&binding->lock);
    if (c->server)
        wait_for_room(binding);
    entered = enter_half_open(binding, c);
    if (entered)
        enlist(binding, c);
    (void)pthread_mutex_unlock(&binding->lock);
    return entered;
}

void wd_binding_spoke(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    (void)pthread_mutex_lock(&binding->lock);
    wd_half_open_spoke(&c->link.among);
    (void)pthread_mutex_unlock(&binding->lock);
}

/* Under the lock. */
static void leave_half_open(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    wd_half_open_remove(&binding->half_open, &c->link.among);
    unlist_evicted(binding, c); /* it was quicker */
    if (c->link.half_open)
        binding->n_half_open--;
    c->link.half_open = false;
}

void wd_binding_opened(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    (void)pthread_mutex_lock(&binding->lock);
    if (!c->server)
        leave_half_open(binding, c);
    c->link.opened = true;
    c->link.since_ms = wd_now_ms();
    (void)pthread_mutex_unlock(&binding->lock);
}

void wd_binding_greeted(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    (void)pthread_mutex_lock(&binding->lock);
    leave_half_open(binding, c);
    (void)pthread_mutex_unlock(&binding->lock);
}

void wd_binding_remove(wd_tls_binding *binding, nng_tls_engine_conn *c)
{
    (void)pthread_mutex_lock(&binding->lock);
    while (c->link.poking)
        (void)pthread_cond_wait(&binding->changed, &binding->lock);
    wd_half_open_remove(&binding->half_open, &c->link.among);
    unlist_evicted(binding, c);
    if (c->link.listed)
        unlist(binding, c);
    (void)pthread_mutex_unlock(&binding->lock);
}
