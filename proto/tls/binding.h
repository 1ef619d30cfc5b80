/* binding.h - the list of a binding's connections, and who may be on it.
 *
 * Private to proto/tls.
 * Threads: any. The lock is held for list work only, never across NNG or a callback.
 *          Order: NNG's lock of a connection, then the binding's. The sweeper takes the
 *          binding's, lets go of it, and only then calls NNG; `poking` keeps the
 *          connection alive meanwhile (wd_binding_remove waits for it). */
#ifndef WD_BINDING_H
#define WD_BINDING_H

#include <pthread.h>

#include "proto/tls/conn.h"

struct wd_tls_binding {
    atomic_uint refs;
    wd_tls_options options; /* with the defaults filled in; read-only */
    pthread_mutex_t lock;   /* the fields up to the next blank line */
    pthread_cond_t changed;
    wd_tls_credentials *credentials;
    nng_tls_engine_conn *head;
    wd_half_open half_open;
    nng_tls_engine_conn *first_evicted, *last_evicted; /* the sweeper closes them */
    uint64_t n_live, n_half_open;
    unsigned n_calling; /* the owner's callbacks, now */
    unsigned n_waiting; /* to be added */
    bool stopping;
    bool hurry; /* somebody yields: the sweeper does not wait for its tick */

    bool sweeping; /* the thread runs; owner only */
    pthread_t sweeper;
    nng_aio *poke;         /* sweeper only */
    wd_tls_ledger *ledger; /* NULL: no budget; read-only */
    atomic_uint_fast64_t accepted, refused, bytes_read, bytes_written, records_written,
        refused_bytes_read;
};

wd_tls_binding *wd_binding_ref(wd_tls_binding *binding);
void wd_binding_unref(wd_tls_binding *binding);

/* Put a connection on the list and give it the credentials in force; when its address,
 * or all together, have too many half-open ones, another goes. False: no memory. */
bool wd_binding_add(wd_tls_binding *binding, nng_tls_engine_conn *c);

/* Its ClientHello has come. */
void wd_binding_spoke(wd_tls_binding *binding, nng_tls_engine_conn *c);

/* Take the first of those that gave their place up, or NULL. Under the lock. */
nng_tls_engine_conn *wd_binding_pop_evicted(wd_tls_binding *binding);

/* The handshake is over: from here the greeting's limit counts. A server's connection
 * stays among the half-open ones until it has greeted: nothing else counts it yet. */
void wd_binding_opened(wd_tls_binding *binding, nng_tls_engine_conn *c);

/* The greeting has come: from here its principal's connections count it. */
void wd_binding_greeted(wd_tls_binding *binding, nng_tls_engine_conn *c);

/* Take it off again; waits while the sweeper is at it. */
void wd_binding_remove(wd_tls_binding *binding, nng_tls_engine_conn *c);

/* Around each of the owner's callbacks. False: the owner has let go; do not call. */
bool wd_binding_call_begin(wd_tls_binding *binding);
void wd_binding_call_end(wd_tls_binding *binding);

/* Monotonic. */
int64_t wd_now_ms(void);

/* sweeper.c */
WD_MUST_USE wd_status wd_sweeper_start(wd_tls_binding *binding, wd_error *err);
void wd_sweeper_stop(wd_tls_binding *binding);

#endif
