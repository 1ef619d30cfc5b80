#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>

#include "proto/tls/binding.h"

/* Replies wait for each other up to this: what more of them saves is little. */
#define HOLD_BYTES 4096U

static bool want_io(int rv)
{
    return rv == MBEDTLS_ERR_SSL_WANT_READ || rv == MBEDTLS_ERR_SSL_WANT_WRITE;
}

/* Into NNG's ring of 16,384 bytes. That it takes nothing is the one sign of a peer that
 * does not read. */
static int write_ring(void *arg, const unsigned char *data, size_t size)
{
    nng_tls_engine_conn *c = arg;
    size_t n = size;

    switch (nng_tls_engine_send(c->tls, data, &n)) {
    case 0:
        wd_conn_note_drained(c, n);
        return (int)n;
    case NNG_EAGAIN:
        wd_conn_note_stuck(c);
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    default:
        return MBEDTLS_ERR_NET_SEND_FAILED;
    }
}

static int read_ring(void *arg, unsigned char *data, size_t size)
{
    nng_tls_engine_conn *c = arg;
    size_t n = size;

    switch (nng_tls_engine_recv(c->tls, data, &n)) {
    case 0:
        return (int)n;
    case NNG_EAGAIN:
        return MBEDTLS_ERR_SSL_WANT_READ;
    default:
        return MBEDTLS_ERR_NET_RECV_FAILED;
    }
}

void wd_conn_set_bio(nng_tls_engine_conn *c)
{
    mbedtls_ssl_set_bio(&c->ssl, c, write_ring, read_ring, NULL);
}

/* One record. 0, NNG_EAGAIN or a failure; *size is what was written. */
static int write_record(nng_tls_engine_conn *c, const uint8_t *data, size_t *size)
{
    int rv = mbedtls_ssl_write(&c->ssl, data, *size);

    if (want_io(rv))
        return wd_conn_again(c);
    if (rv < 0)
        return wd_conn_fail_mbedtls(c, rv);
    *size = (size_t)rv;
    if (c->binding != NULL) {
        atomic_fetch_add(&c->binding->bytes_written, (uint64_t)rv);
        atomic_fetch_add(&c->binding->records_written, 1);
    }
    return 0;
}

/* What is ready. After EAGAIN mbedTLS has a record of `writing` bytes, and answers for
 * that many only when it is asked with as many again. */
static int flush(nng_tls_engine_conn *c)
{
    while (c->writing > 0 || wd_coalesce_ready(&c->out) > 0) {
        if (c->writing == 0)
            c->writing = wd_coalesce_ready(&c->out);
        size_t n = c->writing;
        int rv = write_record(c, c->out.bytes, &n);
        if (rv != 0)
            return rv;
        c->writing = 0;
        wd_coalesce_drop(&c->out, n);
    }
    return 0;
}

int wd_conn_flush(nng_tls_engine_conn *c)
{
    return c->binding != NULL && c->server ? flush(c) : 0;
}

/* A reply may wait for the next one while requests lie here that NNG has not taken yet:
 * it takes them at once, and wd_conn_recv writes when there are none. */
static bool may_wait(const nng_tls_engine_conn *c)
{
    return c->server && c->writing == 0 && c->out.size < HOLD_BYTES &&
           mbedtls_ssl_get_bytes_avail(&c->ssl) > 0;
}

/* A client greets second: before the server has, it may still be refused, and then no
 * byte must have followed the handshake. */
static bool must_wait(const nng_tls_engine_conn *c)
{
    return !c->server && atomic_load(&c->bytes_read) == 0;
}

/* NNG asks again with the same bytes after EAGAIN, but part of them may be gathered
 * already: `chunk` remembers how many to answer for. */
static int send_coalesced(nng_tls_engine_conn *c, const uint8_t *data, size_t *size)
{
    int rv;

    if (!c->chunk_taken) {
        c->chunk = wd_coalesce_take(&c->out, data, *size);
        c->chunk_taken = true;
        c->held = wd_coalesce_ready(&c->out) > 0 && must_wait(c);
    }
    if (!c->held && !may_wait(c)) {
        rv = flush(c);
        if (rv != 0)
            return rv;
    }
    *size = c->chunk;
    c->chunk_taken = false;
    wd_conn_account_sent(c, data, c->chunk);
    return 0;
}

int wd_conn_send(nng_tls_engine_conn *c, const uint8_t *data, size_t *size)
{
    int rv = wd_conn_handshake(c);

    if (rv != 0)
        return rv;
    if (c->binding == NULL)
        return write_record(c, data, size);
    if (c->held && !must_wait(c))
        c->held = false;
    if (c->held) /* only the greeting can be there; NNG sends no more before it reads */
        return wd_conn_again(c);
    return send_coalesced(c, data, size);
}

static int account_read(nng_tls_engine_conn *c, const uint8_t *data, size_t n)
{
    const uint64_t before = atomic_fetch_add(&c->bytes_read, n);
    int rv;

    if (c->binding != NULL && c->server && before < WD_GREETING_BYTES &&
        before + n >= WD_GREETING_BYTES)
        wd_binding_greeted(c->binding, c);
    if (c->binding != NULL)
        atomic_fetch_add(&c->binding->bytes_read, n);
    if (c->binding != NULL && c->server)
        return wd_conn_account_read(c, data, n);
    if (!c->held)
        return 0;
    c->held = false;
    rv = flush(c);
    return rv == NNG_EAGAIN ? 0 : rv; /* what was read is NNG's all the same */
}

/* Nothing to read, now or ever again; replies that waited for others wait no more. */
static int stop_reading(nng_tls_engine_conn *c, int rv)
{
    int flushed = wd_conn_flush(c);

    if (!want_io(rv))
        return wd_conn_fail_mbedtls(c, rv == 0 ? MBEDTLS_ERR_SSL_CONN_EOF : rv);
    return flushed == 0 || flushed == NNG_EAGAIN ? wd_conn_again(c) : flushed;
}

int wd_conn_recv(nng_tls_engine_conn *c, uint8_t *data, size_t *size)
{
    int rv = wd_conn_handshake(c);

    if (rv != 0)
        return rv;
    do
        rv = mbedtls_ssl_read(&c->ssl, data, *size);
    while (rv == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET);
    if (rv <= 0)
        return stop_reading(c, rv);
    *size = (size_t)rv;
    return account_read(c, data, (size_t)rv);
}
