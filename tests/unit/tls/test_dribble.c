/* Peers that say a little now and then: that prolongs neither handshake nor greeting.
 * Limits are short here; the real ones are waited for in
 * tests/integration/test_strangers.py. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "gate_fixture.h"
#include "raw_peer.h"

enum { LIMIT_MS = 400, ROOM = 512 };

typedef struct dribble {
    const uint8_t *bytes;
    size_t size, step;
    int64_t pause_ms;
} dribble;

/* Until the other end closes. All of it takes many times the limit: whoever has said
 * all was never closed. */
static void until_closed(int fd, const dribble *d)
{
    for (size_t at = 0; at < d->size; at += d->step) {
        size_t n = d->size - at < d->step ? d->size - at : d->step;
        if (send(fd, d->bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n ||
            tcp_wait_closed(fd, d->pause_ms) >= 0)
            return;
    }
    fail_msg("a peer that says %zu bytes each %lld ms was not closed", d->step,
             (long long)d->pause_ms);
}

static void expect_cause(gate_fixture *g, wd_tls_cause cause)
{
    wd_tls_reject reject = log_wait_reject(&g->log, 1);

    assert_int_equal(reject.cause, cause);
    assert_true(reject.application_bytes < 8);
}

static void claim_03_a_byte_now_and_then_prolongs_no_handshake(void **state)
{
    /* a ClientHello of 196 bytes, in its record */
    static const uint8_t hello[205] = {0x16, 0x03, 0x01, 0x00, 0xc8,
                                       0x01, 0x00, 0x00, 0xc4};
    const dribble bytes = {hello, sizeof hello, 1, 40};
    gate_fixture g;
    int fd;

    (void)state;
    gate_start(&g, (wd_tls_options){.handshake_ms = LIMIT_MS}, NULL);
    fd = tcp_connect(g.port);
    until_closed(fd, &bytes);
    expect_cause(&g, WD_TLS_HANDSHAKE_TIMEOUT);
    (void)close(fd);
    gate_stop(&g);
}

typedef struct sink {
    uint8_t bytes[ROOM];
    size_t n;
} sink;

static int keep(void *arg, const unsigned char *data, size_t size)
{
    sink *to = arg;

    assert_true(size <= ROOM - to->n);
    memcpy(to->bytes + to->n, data, size);
    to->n += size;
    return (int)size;
}

/* One peer with its handshake behind it says `records` of TLS with `each` bytes of
 * application data, in steps of a record or of a byte. */
static void expect_no_longer_greeting(size_t records, size_t each, bool by_record)
{
    static const uint8_t said[ROOM / 2] = {0, 'S', 'P'};
    wd_pem_pair pair;
    gate_fixture g;
    raw_peer peer;
    sink out = {.n = 0};

    gate_start(&g, (wd_tls_options){.greeting_ms = LIMIT_MS}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    assert_int_equal(raw_connect(&peer, g.port, &pair), 0);
    mbedtls_ssl_set_bio(&peer.ssl, &out, keep, NULL, NULL);
    for (size_t i = 0; i < records; i++)
        raw_write(&peer, said + i * each, each);
    const dribble d = {out.bytes, out.n, by_record ? out.n / records : 1,
                       by_record ? LIMIT_MS * 3 / 5 : 40};
    until_closed(peer.net.fd, &d);
    expect_cause(&g, WD_TLS_GREETING_TIMEOUT);
    raw_close(&peer);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

static void claim_03_a_byte_now_and_then_prolongs_no_greeting(void **state)
{
    (void)state;
    expect_no_longer_greeting(1, 200, false); /* of a record */
    expect_no_longer_greeting(7, 1, true);    /* of the greeting's eight */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_03_a_byte_now_and_then_prolongs_no_handshake),
        cmocka_unit_test(claim_03_a_byte_now_and_then_prolongs_no_greeting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
