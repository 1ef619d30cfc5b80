/* listener.h - the gate's door: TLS connections in; the calls on them are contexts.h's.
 *
 * The two files are all of the server that knows NNG.
 *
 * Threads: open, start, shut, reload: one; the rest: any.
 * Owns:    the socket, its contexts, the TLS binding.
 * Source:  NNG 1.10 nng_listener, nng_pipe_notify; docs/architecture.md, "Admission". */
#ifndef WD_SERVER_LISTENER_H
#define WD_SERVER_LISTENER_H

#include "proto/c/status.h"
#include "proto/tls/credentials.h"

#include <stdbool.h>

struct wd_gate;

typedef struct wd_listener wd_listener;

typedef struct wd_listener_options {
    struct wd_gate *gate;                       /* borrowed; outlives the listener */
    wd_tls_credentials *credentials;            /* a reference of its own is taken */
    const struct wd_keepalive *keepalive;       /* NULL: as limits.h says */
    void (*vanished)(void *arg, uint32_t pipe); /* a connection is gone; only queue */
    void *arg;
} wd_listener_options;

/* Bind and make everything ready; nothing is received yet.
 * Errors: FAILED_PRECONDITION the TLS engine is not ours; the address can't be bound
 *         INVALID_ARGUMENT    the url */
WD_MUST_USE wd_status wd_listener_open(const wd_listener_options *options,
                                       wd_listener **ret_listener, wd_error *err);

/* Take calls from now on. *ret_address (of WD_ADDRESS_BYTES) is where it listens.
 * Errors: FAILED_PRECONDITION the address can't be bound; no keepalive */
WD_MUST_USE wd_status wd_listener_start(wd_listener *listener, char *ret_address,
                                        wd_error *err);

/* Close the socket: nothing comes in any more, replies go nowhere. */
void wd_listener_shut(wd_listener *listener);

/* Shut and free; wd_listener_busy must be 0. NULL is fine. */
void wd_listener_free(wd_listener *listener);

/* Connections from now on are judged by these. */
void wd_listener_reload(wd_listener *listener, wd_tls_credentials *credentials);

/* Whether the deny list in force has this peer; asked for each call. */
bool wd_listener_denies(wd_listener *listener, const wd_identity *peer);

/* Contexts that hold a call or a reply that was not taken yet. */
uint64_t wd_listener_busy(const wd_listener *listener);

#endif
