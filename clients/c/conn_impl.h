/* conn_impl.h - a connection as conn.c, dial.c and exchange.c share it.
 *
 * Private to clients/c.  Threads: the lock guards what stands below it. */
#ifndef WD_CLIENT_CONN_IMPL_H
#define WD_CLIENT_CONN_IMPL_H

#include <nng/nng.h>
#include <pthread.h>
#include <stdatomic.h>

#include "clients/c/conn.h"
#include "clients/c/refused.h"
#include "proto/tls/engine.h"

/* A request that NNG has not yet taken. */
typedef struct wd_sending {
    nng_aio *aio;
    struct wd_sending *prev, *next;
} wd_sending;

struct wd_conn {
    atomic_uint refs;
    const wd_credentials *credentials; /* a reference */
    wd_server server;
    wd_tls_binding *tls;
    nng_socket socket;
    bool has_socket;
    char gate[WD_URI_BYTES + 1]; /* written while it is dialled, then read-only */

    pthread_mutex_t lock; /* the fields below */
    nng_dialer dialer;
    nng_aio *timer; /* of the dialling */
    bool has_dialer, aborted, late, alive, dead;
    wd_phase phase;
    wd_refusal refusal; /* what the engine told of a handshake that failed */
    wd_sending *first;
};

#endif
