/* gate_fixture.h - a REP socket behind our engine on a free loopback port, and a log of
 * what the engine says about its peers.
 *
 * Threads: the log is locked; the rest is the test's.
 * Owns:    everything in it until gate_stop. */
#ifndef WD_TEST_GATE_FIXTURE_H
#define WD_TEST_GATE_FIXTURE_H

#include <nng/nng.h>
#include <pthread.h>

#include "odd_certs.h"
#include "proto/tls/engine.h"

enum { EVENTS = 64 };

typedef struct event_log {
    pthread_mutex_t lock;
    pthread_cond_t grown;
    wd_tls_reject rejects[EVENTS];
    wd_identity accepted; /* the last one */
    size_t n_rejects, n_accepts, n_pipes;
    wd_identity pipe_peer; /* read at ADD_PRE */
} event_log;

void log_open(event_log *log);
void log_close(event_log *log);
void log_on_reject(void *arg, const wd_tls_reject *reject);
void log_on_accept(void *arg, const wd_identity *peer, const char *address);

/* Numbers now. */
size_t log_rejects(event_log *log);
size_t log_accepts(event_log *log);
size_t log_pipes(event_log *log);

/* Wait (5 s at most) until there are `n` rejects; the n-th. Fails the test otherwise. */
wd_tls_reject log_wait_reject(event_log *log, size_t n);

typedef struct gate_fixture {
    wd_ca *ca;
    wd_pem_pair own;
    wd_tls_credentials *credentials;
    wd_tls_binding *binding;
    nng_socket rep;
    int port;
    event_log log;
} gate_fixture;

/* Its credentials, with a deny list as in deny.h, NULL: nobody. Borrowed from it. */
wd_tls_pem gate_pem(const gate_fixture *g, const char *deny);

/* `options`' callbacks and arg are set here. `deny` as above. */
void gate_start(gate_fixture *g, wd_tls_options options, const char *deny);
void gate_stop(gate_fixture *g);

/* Credentials under that CA. */
wd_tls_credentials *client_credentials(const wd_ca *ca, const char *uri);
wd_tls_credentials *gate_credentials(const wd_ca *ca);

/* A REQ socket that dials `port` through `binding`; NNG's answer to the dial. */
int client_dial(wd_tls_binding *binding, int port, nng_socket *ret);

/* Send `size` bytes from `req`, answer the same from `rep`, compare. */
void echo_once(nng_socket req, nng_socket rep, size_t size);

#endif
