/* conn.h - one TLS connection of ours, as NNG holds it.
 *
 * Private to proto/tls.
 * Threads: NNG calls every operation under its lock of the connection, except init and
 *          fini (nobody else has it then). The sweeper reads and writes the atomics and
 *          the fields that binding.h lists, under the binding's lock.
 * Owns:    a reference on its credentials and its binding. */
#ifndef WD_CONN_H
#define WD_CONN_H

#include <mbedtls/ssl.h>
#include <nng/nng.h>
#include <nng/supplemental/tls/engine.h>
#include <stdatomic.h>

#include "proto/tls/account.h"
#include "proto/tls/coalesce.h"
#include "proto/tls/engine.h"
#include "proto/tls/frames.h"
#include "proto/tls/half_open.h"

typedef struct wd_stock wd_stock;

/* NNG allocates it, zeroed, with each nng_tls_config. */
struct nng_tls_engine_config {
    wd_tls_binding *binding; /* NULL: a configuration that wd_tls_config did not make */
    wd_stock *stock;         /* then this one holds what NNG's own engine would */
    bool server;
};

/* Where a connection stands; only ever goes forward. */
typedef enum wd_conn_phase {
    WD_CONN_NEW = 0, /* init did not run or did not succeed */
    WD_CONN_HANDSHAKE,
    WD_CONN_OPEN,
    WD_CONN_FAILED,
} wd_conn_phase;

#define WD_GREETING_BYTES 8U /* of SP over TCP */

/* What the binding's list needs to know; under the binding's lock. */
typedef struct wd_conn_link {
    struct nng_tls_engine_conn *prev, *next;
    int64_t since_ms; /* monotonic: begun (HANDSHAKE), then open */
    bool listed, poked, poking;
    bool opened;             /* its handshake is over */
    bool half_open;          /* it counts as such: a server's until it has greeted */
    uint8_t host[16];        /* the peer's address without its port; of IPv6 the /64 */
    wd_half_open_link among; /* accepted ones: with the others of that address */
    struct nng_tls_engine_conn *evicted_prev, *evicted_next;
    bool evicted; /* on the binding's list of those to be closed */
} wd_conn_link;

struct nng_tls_engine_conn {
    void *tls; /* NNG's half; also the nng_stream */
    wd_tls_binding *binding;
    wd_tls_credentials *credentials;
    mbedtls_ssl_context ssl;
    bool ssl_ready, server;
    bool spoken; /* its whole ClientHello has come */
    wd_conn_phase phase;
    int error;            /* FAILED: what every operation answers from now on */
    wd_tls_cause judged;  /* a client's verdict, found while mbedTLS verifies */
    uint32_t chain_flags; /* of all certificates of the chain together */
    wd_error why;         /* and its words */
    wd_identity *peer;    /* while the handshake runs, and for check_peer */
    char address[WD_TLS_ADDR_CHARS];
    wd_conn_link link;
    atomic_int timed_out;           /* a wd_tls_cause that the sweeper found; NONE */
    atomic_int_fast64_t stalled_ms; /* monotonic, since when sending is stuck; 0: not */
    uint64_t drained;               /* bytes sent since stalled_ms */
    uint64_t taken;                 /* and since WD_PROGRESS_BYTES were last taken */
    atomic_uint_fast64_t bytes_read; /* application data */
    wd_frames in;                    /* accepted ones: where the stream stands */
    wd_tls_account *account;         /* NULL: no budget, or not yet open */
    uint64_t charged;                /* for the message that is coming in */
    uint64_t moved;                  /* bytes of it since frame_ms */
    atomic_int_fast64_t
        frame_ms;   /* monotonic, of its last progress; 0: none comes in */
    wd_frames sent; /* where the stream of what goes out stands */
    wd_coalesce out;
    size_t writing;         /* bytes of `out` in a record that could not leave yet */
    size_t chunk;           /* of NNG's buffer, taken but not yet answered for */
    bool chunk_taken, held; /* held: a client's greeting waits for the server's */
};

/* conn.c */
int wd_conn_init(nng_tls_engine_conn *c, void *tls, nng_tls_engine_config *config);
void wd_conn_fini(nng_tls_engine_conn *c);
void wd_conn_close(nng_tls_engine_conn *c);
bool wd_conn_verified(nng_tls_engine_conn *c);

/* conn_handshake.c */
int wd_conn_handshake(nng_tls_engine_conn *c);

/* Clients: judge the certificate while mbedTLS verifies it. */
void wd_conn_judge_while_verifying(nng_tls_engine_conn *c);

/* Go to FAILED, tell the owner once, return the NNG error that stands for `cause`.
 * `alert` is what was sent or received, `detail` for people. */
int wd_conn_fail(nng_tls_engine_conn *c, wd_tls_cause cause, uint8_t alert,
                 const char *detail);

/* 0 while the connection may go on; else the error to answer. */
int wd_conn_state(nng_tls_engine_conn *c);

/* mbedTLS's error as cause and NNG error; also fails the connection. */
int wd_conn_fail_mbedtls(nng_tls_engine_conn *c, int code);

/* NNG_EAGAIN, or NNG_ECONNRESET when the TCP stream is dead: NNG would then never call
 * again, and the pipe would leak. */
int wd_conn_again(nng_tls_engine_conn *c);

/* conn_budget.c: `n` bytes at `data` have been read from an accepted connection. 0, or
 * the error to answer instead of handing them on. */
int wd_conn_account_read(nng_tls_engine_conn *c, const uint8_t *data, size_t n);

/* NNG need not keep these `n` bytes any longer. */
void wd_conn_account_sent(nng_tls_engine_conn *c, const uint8_t *data, size_t n);

/* The peer takes `n` bytes more of what waits for it, or none. */
void wd_conn_note_drained(nng_tls_engine_conn *c, size_t n);
void wd_conn_note_stuck(nng_tls_engine_conn *c);

/* conn_io.c */
int wd_conn_recv(nng_tls_engine_conn *c, uint8_t *data, size_t *size);
int wd_conn_send(nng_tls_engine_conn *c, const uint8_t *data, size_t *size);

/* Write the replies that wait for others to go with. 0, NNG_EAGAIN or a failure. */
int wd_conn_flush(nng_tls_engine_conn *c);
void wd_conn_set_bio(nng_tls_engine_conn *c);

#endif
