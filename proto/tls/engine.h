/* engine.h - NNG's TLS as Warded wants it: peers judged by us, with a reason each.
 *
 * A *binding* ties credentials, limits and callbacks to the nng_tls_config objects made
 * from it. Use:
 *
 *     WD_TRY(wd_tls_register(err));                       once, before any tls+tcp
 *     WD_TRY(wd_tls_binding_new(&options, creds, &tls, err));
 *     WD_TRY(wd_tls_config(tls, true, &config, err));     then NNG_OPT_TLS_CONFIG
 *     nng_tls_config_free(config);                        the listener holds it
 *
 * A server judges the certificate inside the handshake, before a byte of application
 * data is read, and sends an alert that OpenSSL can read. A client sends nothing after
 * its Finished until the server has greeted it.
 *
 * A message leaves as one TLS record. A server's replies to requests that came together
 * share one, up to 4 KiB: a reply waits while further requests lie decrypted here, and
 * they leave once REP has taken the last of them. So keep a receive posted always.
 *
 * Threads: functions any. Callbacks run on NNG's threads or on the binding's sweeper,
 *          under NNG's lock of that one connection: they may only note and queue; they
 *          must not call NNG, nor wait.
 * Owns:    a binding owns a thread (the sweeper) until wd_tls_binding_free.
 * Source:  NNG 1.10 nng/supplemental/tls/engine.h; docs/security.md. */
#ifndef WD_TLS_ENGINE_H
#define WD_TLS_ENGINE_H

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "proto/tls/account.h"
#include "proto/tls/credentials.h"
#include "proto/tls/identity.h"

#define WD_TLS_ENGINE_NAME "warded"
#define WD_TLS_ADDR_CHARS  64 /* "[2001:db8::1]:65535" with its NUL, and room */

typedef struct wd_tls_binding wd_tls_binding;

/* One connection turned away, or closed by the sweeper. Borrowed for the callback. */
typedef struct wd_tls_reject {
    wd_tls_cause cause;
    uint8_t alert;                   /* what was sent, or received; 0: none */
    uint32_t count;                  /* 1; for those who coalesce */
    char address[WD_TLS_ADDR_CHARS]; /* peer's "host:port"; "" unknown */
    char detail[128];                /* for people; holds nothing secret */
    uint64_t application_bytes;      /* read on this connection; 0 when refused */
} wd_tls_reject;

typedef struct wd_tls_options {
    int64_t handshake_ms; /* 0: WD_HANDSHAKE_MS */
    int64_t greeting_ms;  /* 0: WD_GREETING_MS; first 8 bytes after the handshake */
    int64_t stall_ms;     /* 0: 10,000; nothing could be sent for so long */
    int64_t frame_ms;     /* 0: 10,000; 64 KiB, or the rest of it, of a message */
    uint32_t half_open_per_address; /* 0: 1,024; see half_open.h */
    uint32_t half_open_all;         /* 0: 2,048; about 95 KiB each */
    uint32_t half_open_leaving;     /* 0: 256; so many more, about to go */
    uint64_t request_bytes; /* of all messages that REP receives; 0: no budget */
    uint64_t frame_bytes;   /* longer ones are left to NNG (RECVMAXSZ); 0: none is */
    uint32_t uid_base, uid_count; /* sandbox uids, refused; uid_count 0: no check */
    /* Each may be NULL. check_peer decides after all else was well: anything but WD_OK
     * refuses with DENIED and err's text as detail. */
    wd_status (*check_peer)(void *arg, const wd_identity *peer, wd_error *err);
    void (*on_accept)(void *arg, const wd_identity *peer, const char *address);
    void (*on_reject)(void *arg, const wd_tls_reject *reject);
    /* While there are connections, each time before the engine looks for those to close:
     * every 250 ms, sooner when one has to go at once. By the engine's own thread. */
    void (*on_tick)(void *arg);
    void *arg; /* borrowed until wd_tls_binding_free returns */
} wd_tls_options;

typedef struct wd_tls_stats {
    uint64_t accepted, refused;         /* handshakes, since the start */
    uint64_t live, half_open;           /* connections, now */
    uint64_t bytes_read, bytes_written; /* application data */
    uint64_t records_written;           /* with application data */
    uint64_t refused_bytes_read;        /* application data of refused peers: 0 */
    uint64_t request_bytes;             /* charged to the budget, now */
} wd_tls_stats;

/* Make our engine NNG's. May be called again.
 * Errors: FAILED_PRECONDITION when mbedTLS lacks threads, when NNG's engine interface is
 *         another, or when the engine that NNG then names is not ours. */
WD_MUST_USE wd_status wd_tls_register(wd_error *err);

/* Errors: FAILED_PRECONDITION when NNG's engine is not ours (any more). */
WD_MUST_USE wd_status wd_tls_registered(wd_error *err);

/* Holds a reference of its own on `credentials`; copies `options`.
 * Errors: FAILED_PRECONDITION as wd_tls_registered, or when uids are to be checked and
 *         the kernel does not answer sock_diag; RESOURCE_EXHAUSTED. */
WD_MUST_USE wd_status wd_tls_binding_new(const wd_tls_options *options,
                                         wd_tls_credentials *credentials,
                                         wd_tls_binding **ret, wd_error *err);

/* Ends the sweeper and lets go. Close the sockets that use it first; a connection that
 * NNG still reaps keeps what it needs. No callback runs once this has returned. NULL is
 * fine. */
void wd_tls_binding_free(wd_tls_binding *binding);
WD_DEFINE_AUTO(wd_tls_binding, wd_tls_binding_free)

/* Connections from now on use these; those that exist keep theirs. Takes a reference of
 * its own. Never fails. */
void wd_tls_binding_swap(wd_tls_binding *binding, wd_tls_credentials *credentials);

/* The credentials in force, with a reference for the caller. */
wd_tls_credentials *wd_tls_binding_credentials(wd_tls_binding *binding);

/* A configuration for a listener (server) or a dialer; free it with nng_tls_config_free
 * once it is set there.
 * Errors: FAILED_PRECONDITION as wd_tls_registered; RESOURCE_EXHAUSTED. */
WD_MUST_USE wd_status wd_tls_config(wd_tls_binding *binding, bool server,
                                    nng_tls_config **ret, wd_error *err);

/* On the deny list in force? Ask for every call. */
bool wd_tls_denied(wd_tls_binding *binding, const wd_identity *peer);

void wd_tls_binding_stats(wd_tls_binding *binding, wd_tls_stats *ret);

/* Where this pipe's messages are charged; the caller's reference. Call it at
 * NNG_PIPE_EV_ADD_PRE; then, for each message received from the pipe, _take and, once it
 * is freed, _release; for each that is sent, _charge_reply. NULL: there is no budget, or the pipe is gone. */
wd_tls_account *wd_tls_pipe_account(wd_tls_binding *binding, nng_pipe pipe);

/* "192.0.2.7:40112", "[::1]:40112"; "?" for an address of another kind. */
void wd_tls_format_address(const nng_sockaddr *addr, char text[WD_TLS_ADDR_CHARS]);

/* Whose pipe this is. Call it at NNG_PIPE_EV_ADD_PRE and keep the answer: once the pipe
 * is gone NNG knows nothing. Never from a callback of this header.
 * Errors: NOT_FOUND pipe gone, no TLS, or a configuration that is not ours. */
WD_MUST_USE wd_status wd_tls_pipe_identity(nng_pipe pipe, wd_identity *ret,
                                           wd_error *err);

#endif
