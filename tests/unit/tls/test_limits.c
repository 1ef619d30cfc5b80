/* Peers that take a place and do nothing with it. Limits are short here; the real 5 s
 * and 10 s are waited for in tests/integration/test_tls_engine.py. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "gate_fixture.h"
#include "proto/tls/binding.h"
#include "raw_peer.h"

/* The first bytes of a ClientHello: enough to begin, not to go on. */
static const uint8_t hello[] = {0x16, 0x03, 0x01, 0x00, 0xc8, 0x01, 0x00, 0x00, 0xc4};

static void expect_half_open_closed(size_t sent, int64_t limit_ms)
{
    gate_fixture g;
    wd_tls_reject reject;
    int64_t took_ms;
    int fd;

    gate_start(&g, (wd_tls_options){.handshake_ms = limit_ms}, NULL);
    fd = tcp_connect(g.port);
    assert_int_equal(write(fd, hello, sent), (ssize_t)sent);
    took_ms = tcp_wait_closed(fd, limit_ms + 5000);
    assert_true(took_ms >= limit_ms - limit_ms / 5);
    reject = log_wait_reject(&g.log, 1);
    assert_int_equal(reject.cause, WD_TLS_HANDSHAKE_TIMEOUT);
    assert_int_equal(reject.application_bytes, 0);
    (void)close(fd);
    gate_stop(&g);
}

static void claim_04_half_open_connections_are_closed(void **state)
{
    (void)state;
    expect_half_open_closed(0, 200);
    expect_half_open_closed(3, 200);
    expect_half_open_closed(sizeof hello, 200);
}

static void claim_04_many_half_open_ones_harm_nobody(void **state)
{
    enum { MANY = 40 };
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    WD_AUTO(wd_tls_binding) *binding = NULL;
    const wd_tls_options none = {0};
    gate_fixture g;
    nng_socket req;
    int fd[MANY];
    wd_error err;

    (void)state;
    gate_start(&g, (wd_tls_options){.handshake_ms = 300}, NULL);
    for (int i = 0; i < MANY; i++)
        fd[i] = tcp_connect(g.port);
    credentials = client_credentials(g.ca, TEST_CLIENT);
    OK(wd_tls_binding_new(&none, credentials, &binding, &err), err);
    assert_int_equal(client_dial(binding, g.port, &req), 0);
    echo_once(req, g.rep, 100);
    for (int i = 0; i < MANY; i++) {
        assert_true(tcp_wait_closed(fd[i], 5000) >= 0);
        (void)close(fd[i]);
    }
    (void)log_wait_reject(&g.log, MANY);
    echo_once(req, g.rep, 100);
    assert_int_equal(nng_close(req), 0);
    gate_stop(&g);
}

static void claim_04_connections_without_a_greeting_are_closed(void **state)
{
    static const char *const sent[] = {"", "\0SP\0"};
    wd_pem_pair pair;
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){.greeting_ms = 200}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    for (size_t i = 0; i < 2; i++) {
        raw_peer peer;
        wd_tls_reject reject;
        int64_t took_ms, from_ms;

        assert_int_equal(raw_connect(&peer, g.port, &pair), 0);
        from_ms = wd_now_ms();
        if (i == 1)
            raw_write(&peer, sent[i], 4);
        took_ms = tcp_wait_closed(peer.net.fd, 5000);
        assert_true(took_ms >= 0 && wd_now_ms() - from_ms >= 150);
        reject = log_wait_reject(&g.log, i + 1);
        assert_int_equal(reject.cause, WD_TLS_GREETING_TIMEOUT);
        raw_close(&peer);
    }
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

/* One asks, and is being sent 8 MiB. */
static void send_much(gate_fixture *g, raw_peer *peer)
{
    enum { BIG = 8 << 20 };
    static const uint8_t ask[] = "\0SP\0\0\x30\0\0"
                                 "\0\0\0\0\0\0\0\x05\x80\0\0\x01x";
    wd_pem_pair pair;
    nng_msg *msg = NULL;

    good_issue(g->ca, TEST_CLIENT, &pair);
    assert_int_equal(raw_connect(peer, g->port, &pair), 0);
    wd_pem_pair_done(&pair);
    raw_write(peer, ask, sizeof ask - 1);
    assert_int_equal(nng_recvmsg(g->rep, &msg, 0), 0);
    nng_msg_free(msg);
    assert_int_equal(nng_msg_alloc(&msg, BIG), 0);
    assert_int_equal(nng_sendmsg(g->rep, msg, 0), 0);
}

static void a_peer_that_does_not_read_is_closed(void **state)
{
    gate_fixture g;
    raw_peer peer;

    (void)state;
    gate_start(&g, (wd_tls_options){.stall_ms = 300}, NULL);
    send_much(&g, &peer);
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_SEND_STALLED);
    assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
    raw_close(&peer);
    gate_stop(&g);
}

static atomic_int asked;

static void count(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&asked, 1);
}

static void claim_03_the_owner_is_asked_while_there_are_connections(void **state)
{
    gate_fixture g;
    raw_peer peer;

    (void)state;
    gate_start(&g, (wd_tls_options){.stall_ms = 300, .on_tick = count}, NULL);
    assert_int_equal(atomic_load(&asked), 0);
    send_much(&g, &peer);
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_SEND_STALLED);
    assert_true(atomic_load(&asked) > 3); /* a look every tenth of that time */
    raw_close(&peer);
    gate_stop(&g);
}

/* Every millisecond 64 bytes, from a small window, so that they are acknowledged often:
 * sending goes on and on, but it would take minutes. */
static void a_peer_that_reads_a_little_now_and_then_is_closed(void **state)
{
    const int window = 4096;
    int64_t until_ms = wd_now_ms() + 20000;
    uint8_t bytes[64];
    gate_fixture g;
    raw_peer peer;

    (void)state;
    gate_start(&g, (wd_tls_options){.stall_ms = 1000}, NULL);
    send_much(&g, &peer);
    assert_int_equal(
        setsockopt(peer.net.fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window), 0);
    while (log_rejects(&g.log) == 0 && wd_now_ms() < until_ms) {
        (void)recv(peer.net.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        nng_msleep(1);
    }
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_SEND_STALLED);
    raw_close(&peer);
    gate_stop(&g);
}

static void a_peer_that_reads_all_stays(void **state)
{
    gate_fixture g;
    raw_peer peer;
    static uint8_t bytes[64 << 10];
    size_t total = 0;
    int n;

    (void)state;
    gate_start(&g, (wd_tls_options){.stall_ms = 200}, NULL);
    send_much(&g, &peer);
    while ((n = raw_read(&peer, bytes, sizeof bytes, 5000)) > 0 && total < 8U << 20)
        total += (size_t)n;
    assert_int_equal(raw_read(&peer, bytes, sizeof bytes, 1000), -1); /* still there */
    assert_int_equal(log_rejects(&g.log), 0);
    raw_close(&peer);
    gate_stop(&g);
}

static void one_address_gets_so_many_half_open_ones(void **state)
{
    enum { MOST = 3 };
    gate_fixture g;
    int fd[MOST + 1];

    (void)state;
    gate_start(&g,
               (wd_tls_options){.handshake_ms = 5000, .half_open_per_address = MOST},
               NULL);
    for (int i = 0; i <= MOST; i++)
        fd[i] = tcp_connect(g.port);
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_HALF_OPEN_LIMIT);
    assert_true(tcp_wait_closed(fd[0], 3000) >= 0); /* the oldest, at once */
    for (int i = 1; i <= MOST; i++)
        assert_int_equal(tcp_wait_closed(fd[i], 20), -1);
    for (int i = 0; i <= MOST; i++)
        (void)close(fd[i]);
    (void)log_wait_reject(&g.log, MOST + 1);
    for (size_t i = 1; i <= MOST; i++)
        assert_int_equal(g.log.rejects[i].cause, WD_TLS_DISCONNECTED);
    gate_stop(&g);
}

/* Strangers at eight addresses, each with fewer than one may have, fill the limit on
 * all and renew what they lose; a friend gets in each time. */
static void claim_03_all_addresses_together_get_so_many_half_open_ones(void **state)
{
    enum { ALL = 16, HOSTS = 8, HONEST = 30 };
    wd_pem_pair pair;
    gate_fixture g;
    int fd[ALL + 1];

    (void)state;
    gate_start(&g, (wd_tls_options){.half_open_all = ALL}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    for (int i = 0; i < ALL; i++)
        fd[i] = tcp_connect_from(g.port, (uint8_t)(2 + i % HOSTS));
    for (int i = 0; i < ALL; i++)
        assert_int_equal(tcp_wait_closed(fd[i], 10), -1);
    assert_int_equal(log_rejects(&g.log), 0);
    fd[ALL] = tcp_connect_from(g.port, 2 + HOSTS);
    assert_int_equal(log_wait_reject(&g.log, 1).cause, WD_TLS_HALF_OPEN_LIMIT);
    assert_true(tcp_wait_closed(fd[0], 3000) >= 0); /* 127.0.0.2 had two for longest */
    for (int i = 1; i <= ALL; i++)
        assert_int_equal(tcp_wait_closed(fd[i], 10), -1);
    for (int i = 0; i < HONEST; i++) {
        raw_peer peer;
        uint8_t greeting[8];
        assert_int_equal(raw_connect(&peer, g.port, &pair), 0);
        assert_int_equal(raw_read(&peer, greeting, sizeof greeting, 5000), 8);
        raw_close(&peer);
        (void)close(fd[i % ALL]);
        fd[i % ALL] = tcp_connect_from(g.port, (uint8_t)(2 + i % HOSTS));
    }
    for (int i = 0; i <= ALL; i++)
        (void)close(fd[i]);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

static void wait_half_open(gate_fixture *g, uint64_t least)
{
    wd_tls_stats stats;

    do {
        nng_msleep(1);
        wd_tls_binding_stats(g->binding, &stats);
    } while (stats.half_open < least);
}

/* Nobody is told of those who go while the test holds the log, so they can't go. */
static void claim_03_none_is_accepted_faster_than_others_go(void **state)
{
    enum { ALL = 4, MOST = ALL + WD_HALF_OPEN_LEAVING, MANY = MOST + 50 };
    wd_tls_stats stats = {.half_open = 0};
    gate_fixture g;
    int fd[MANY];
    int64_t from_ms, waits = 0;

    (void)state;
    gate_start(&g, (wd_tls_options){.half_open_all = ALL}, NULL);
    (void)pthread_mutex_lock(&g.log.lock);
    for (int i = 0; i < MOST; i++) {
        fd[i] = tcp_connect(g.port);
        wait_half_open(&g, (uint64_t)i + 1);
    }
    from_ms = wd_now_ms();
    for (int i = MOST; i < MANY; i++)
        fd[i] = tcp_connect(g.port);
    while (waits < 4) {
        wd_tls_binding_stats(g.binding, &stats);
        waits = (wd_now_ms() - from_ms) / 100;
        assert_true(stats.half_open <= MOST + 1 + (uint64_t)waits);
        nng_msleep(5);
    }
    (void)pthread_mutex_unlock(&g.log.lock);
    while (stats.half_open > ALL) {
        wd_tls_binding_stats(g.binding, &stats);
        nng_msleep(5);
    }
    for (int i = 0; i < MANY; i++)
        (void)close(fd[i]);
    gate_stop(&g);
}

/* Strangers hold more than the limit all the time; each honest handshake succeeds. */
static void strangers_at_the_same_address_lock_nobody_out(void **state)
{
    enum { MOST = 8, HELD = 32, HONEST = 100 };
    wd_pem_pair pair;
    wd_tls_stats stats;
    gate_fixture g;
    int fd[HELD];

    (void)state;
    gate_start(&g, (wd_tls_options){.half_open_per_address = MOST}, NULL);
    good_issue(g.ca, TEST_CLIENT, &pair);
    for (int i = 0; i < HELD; i++) {
        fd[i] = tcp_connect(g.port);
        if (i % 2 == 1) /* some begin to speak */
            assert_int_equal(write(fd[i], hello, sizeof hello), sizeof hello);
    }
    for (int i = 0; i < HONEST; i++) {
        raw_peer peer;
        uint8_t greeting[8];
        assert_int_equal(raw_connect(&peer, g.port, &pair), 0);
        assert_int_equal(raw_read(&peer, greeting, sizeof greeting, 5000), 8);
        raw_close(&peer);
        (void)close(fd[i % HELD]);
        fd[i % HELD] = tcp_connect(g.port);
    }
    wd_tls_binding_stats(g.binding, &stats);
    assert_int_equal(stats.accepted, HONEST);
    assert_true(stats.half_open <= HELD);
    for (int i = 0; i < HELD; i++)
        (void)close(fd[i]);
    wd_pem_pair_done(&pair);
    gate_stop(&g);
}

static void those_who_leave_are_forgotten(void **state)
{
    wd_tls_stats stats;
    gate_fixture g;

    (void)state;
    gate_start(&g, (wd_tls_options){0}, NULL);
    for (size_t i = 0; i < 20; i++) {
        int fd = tcp_connect(g.port);
        assert_int_equal(write(fd, hello, i % sizeof hello),
                         (ssize_t)(i % sizeof hello));
        (void)close(fd);
        (void)log_wait_reject(&g.log, i + 1);
    }
    wd_tls_binding_stats(g.binding, &stats);
    assert_int_equal(stats.live, 0);
    assert_int_equal(stats.half_open, 0);
    assert_int_equal(stats.refused, 20);
    gate_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_04_half_open_connections_are_closed),
        cmocka_unit_test(claim_04_many_half_open_ones_harm_nobody),
        cmocka_unit_test(claim_04_connections_without_a_greeting_are_closed),
        cmocka_unit_test(a_peer_that_does_not_read_is_closed),
        cmocka_unit_test(claim_03_the_owner_is_asked_while_there_are_connections),
        cmocka_unit_test(a_peer_that_reads_a_little_now_and_then_is_closed),
        cmocka_unit_test(a_peer_that_reads_all_stays),
        cmocka_unit_test(one_address_gets_so_many_half_open_ones),
        cmocka_unit_test(claim_03_all_addresses_together_get_so_many_half_open_ones),
        cmocka_unit_test(claim_03_none_is_accepted_faster_than_others_go),
        cmocka_unit_test(strangers_at_the_same_address_lock_nobody_out),
        cmocka_unit_test(those_who_leave_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
