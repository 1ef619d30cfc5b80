/* Request bytes through a real socket: charged when announced, given back once. */
#include <string.h>

#include "check.h"
#include "gate_fixture.h"
#include "proto/tls/binding.h"
#include "raw_peer.h"

enum { BUDGET = 4000, SHARE = BUDGET / 4, MOST = 100000 };

typedef struct fixture {
    gate_fixture gate;
    wd_pem_pair pair;
} fixture;

static void start(fixture *f, wd_tls_options options)
{
    options.request_bytes = BUDGET;
    options.frame_bytes = MOST;
    gate_start(&f->gate, options, NULL);
    assert_int_equal(nng_socket_set_size(f->gate.rep, NNG_OPT_RECVMAXSZ, MOST), 0);
    good_issue(f->gate.ca, TEST_CLIENT, &f->pair);
}

static void stop(fixture *f)
{
    wd_pem_pair_done(&f->pair);
    gate_stop(&f->gate);
}

static uint64_t charged(fixture *f)
{
    wd_tls_stats stats;

    wd_tls_binding_stats(f->gate.binding, &stats);
    return stats.request_bytes;
}

/* Until the budget has exactly so many charged; 5 s at most. */
static void wait_charged(fixture *f, uint64_t bytes)
{
    int64_t until_ms = wd_now_ms() + 5000;

    while (charged(f) != bytes && wd_now_ms() < until_ms)
        nng_msleep(1);
    assert_int_equal(charged(f), bytes);
}

static void greet(fixture *f, raw_peer *peer)
{
    assert_int_equal(raw_connect(peer, f->gate.port, &f->pair), 0);
    raw_write(peer, "\0SP\0\0\x30\0\0", 8);
}

/* A length, and so much of the message: its number, then zeros. */
static void announce(raw_peer *peer, uint32_t length, size_t sent)
{
    uint8_t bytes[8 + MOST] = {0};

    for (int i = 0; i < 4; i++)
        bytes[7 - i] = (uint8_t)(length >> (8 * i));
    bytes[8] = 0x80;
    bytes[11] = 1;
    raw_write(peer, bytes, 8 + sent);
}

static nng_msg *receive(fixture *f)
{
    nng_msg *msg = NULL;

    assert_int_equal(nng_recvmsg(f->gate.rep, &msg, 0), 0);
    return msg;
}

static void a_share_is_refused_to_the_byte(void **state)
{
    static const struct {
        uint32_t length;
        bool refused;
    } cases[] = {{SHARE - 1, false}, {SHARE, false}, {SHARE + 1, true}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        raw_peer peer;
        start(&f, (wd_tls_options){0});
        greet(&f, &peer);
        announce(&peer, cases[i].length, 0);
        if (cases[i].refused) {
            assert_int_equal(log_wait_reject(&f.gate.log, 1).cause,
                             WD_TLS_REQUEST_SHARE);
            assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
        } else {
            wait_charged(&f, cases[i].length);
            assert_int_equal(log_rejects(&f.gate.log), 0);
        }
        raw_close(&peer);
        wait_charged(&f, 0);
        stop(&f);
    }
}

enum { MANY = WD_SHARES + 1, LAST = MANY - 1 };

/* Four principals use it up, and a fifth comes with `bytes` more. */
static void crowd(fixture *f, raw_peer peers[MANY], uint32_t bytes)
{
    start(f, (wd_tls_options){0});
    for (int i = 0; i < MANY; i++) {
        char uri[128];
        (void)snprintf(uri, sizeof uri, "%s-%d", TEST_CLIENT, i);
        wd_pem_pair_done(&f->pair);
        good_issue(f->gate.ca, uri, &f->pair);
        greet(f, &peers[i]);
        announce(&peers[i], i < LAST ? SHARE : bytes, 0);
        if (i < LAST)
            wait_charged(f, (uint64_t)SHARE * (uint64_t)(i + 1));
    }
}

static void disperse(fixture *f, raw_peer peers[MANY])
{
    for (int i = 0; i < MANY; i++)
        raw_close(&peers[i]);
    wait_charged(f, 0);
    stop(f);
}

/* It is told that it was not its own share. */
static void over_the_budget_is_its_own_cause(void **state)
{
    fixture f;
    raw_peer peers[MANY];
    wd_tls_reject reject;

    (void)state;
    crowd(&f, peers, SHARE);
    reject = log_wait_reject(&f.gate.log, 1);
    assert_int_equal(reject.cause, WD_TLS_REQUEST_BYTES);
    assert_string_equal(reject.detail,
                        "the budget of 4000 request bytes has no room for 1000 more");
    disperse(&f, peers);
}

static void who_holds_most_yields_and_is_closed_at_once(void **state)
{
    fixture f;
    raw_peer peers[MANY];

    (void)state;
    crowd(&f, peers, SHARE - 1);
    assert_int_equal(log_wait_reject(&f.gate.log, 1).cause, WD_TLS_REQUEST_YIELDED);
    wait_charged(&f, BUDGET - 1); /* one has gone */
    assert_int_equal(tcp_wait_closed(peers[LAST].net.fd, 0), -1);
    assert_int_equal(log_rejects(&f.gate.log), 1);
    disperse(&f, peers);
}

static void from_the_reserve_nobody_has_to_yield(void **state)
{
    fixture f;
    raw_peer peers[MANY];

    (void)state;
    crowd(&f, peers, BUDGET / WD_RESERVE_PART);
    wait_charged(&f, BUDGET + BUDGET / WD_RESERVE_PART);
    assert_int_equal(log_rejects(&f.gate.log), 0);
    disperse(&f, peers);
}

static void what_nng_refuses_is_left_to_it(void **state)
{
    fixture f;
    raw_peer peer;

    (void)state;
    start(&f, (wd_tls_options){0});
    greet(&f, &peer);
    announce(&peer, MOST + 1, 0);
    assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
    assert_int_equal(log_rejects(&f.gate.log), 0);
    raw_close(&peer);
    wait_charged(&f, 0);
    stop(&f);
}

static void half_a_message_is_given_back_with_its_connection(void **state)
{
    fixture f;
    raw_peer peer;

    (void)state;
    start(&f, (wd_tls_options){0});
    greet(&f, &peer);
    announce(&peer, 500, 100);
    wait_charged(&f, 500 - 4); /* its number is not the body's */
    raw_close(&peer);
    wait_charged(&f, 0);
    stop(&f);
}

static void a_message_counts_until_its_owner_frees_it(void **state)
{
    fixture f;
    raw_peer peer;
    nng_msg *msg;
    wd_tls_account *account;

    (void)state;
    start(&f, (wd_tls_options){0});
    greet(&f, &peer);
    announce(&peer, 500, 500);
    msg = receive(&f);
    account = wd_tls_pipe_account(f.gate.binding, nng_msg_get_pipe(msg));
    assert_non_null(account);
    wd_tls_account_take(account, nng_msg_len(msg));
    assert_int_equal(charged(&f), 496);
    raw_close(&peer);
    wd_tls_account_release(account, nng_msg_len(msg));
    wd_tls_account_free(account);
    nng_msg_free(msg);
    wait_charged(&f, 0);
    stop(&f);
}

static void who_is_cut_off_is_closed_and_its_owner_hears_no_cause(void **state)
{
    fixture f;
    raw_peer peer;
    wd_tls_account *account;
    nng_msg *msg;

    (void)state;
    start(&f, (wd_tls_options){0});
    greet(&f, &peer);
    announce(&peer, 100, 100);
    msg = receive(&f);
    account = wd_tls_pipe_account(f.gate.binding, nng_msg_get_pipe(msg));
    nng_msg_free(msg);
    assert_true(wd_tls_account_cut(account));
    assert_false(wd_tls_account_cut(account)); /* the same connection: told once */
    wd_tls_account_free(account);
    assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
    raw_close(&peer);
    wait_charged(&f, 0);
    assert_int_equal(log_rejects(&f.gate.log), 0);
    stop(&f);
}

static void what_rep_drops_is_given_back(void **state)
{
    uint8_t hops[8 + 40] = {0, 0, 0, 0, 0, 0, 0, 40};
    fixture f;
    raw_peer peer;

    (void)state;
    start(&f, (wd_tls_options){0});
    greet(&f, &peer);
    for (int i = 0; i < 3; i++) {
        raw_write(&peer, hops, sizeof hops);
        announce(&peer, 100, 100);
        nng_msg_free(receive(&f));
        wait_charged(&f, 96 * (uint64_t)(i + 1)); /* not taken: the connection's */
    }
    raw_close(&peer);
    wait_charged(&f, 0);
    stop(&f);
}

static void a_message_that_does_not_go_on_is_closed(void **state)
{
    static const size_t sent[] = {4, 300};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        raw_peer peer;
        start(&f, (wd_tls_options){.frame_ms = 200});
        greet(&f, &peer);
        announce(&peer, 500, sent[i]);
        assert_int_equal(log_wait_reject(&f.gate.log, 1).cause, WD_TLS_FRAME_TIMEOUT);
        assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
        raw_close(&peer);
        wait_charged(&f, 0);
        stop(&f);
    }
}

static void part_of_a_length_is_a_message_too(void **state)
{
    fixture f;
    raw_peer peer;

    (void)state;
    start(&f, (wd_tls_options){.frame_ms = 200});
    greet(&f, &peer);
    raw_write(&peer, "\0\0\0", 3);
    assert_int_equal(log_wait_reject(&f.gate.log, 1).cause, WD_TLS_FRAME_TIMEOUT);
    assert_true(tcp_wait_closed(peer.net.fd, 5000) >= 0);
    raw_close(&peer);
    stop(&f);
}

static void a_byte_now_and_then_is_no_progress(void **state)
{
    fixture f;
    raw_peer peer;
    int64_t from_ms;

    (void)state;
    start(&f, (wd_tls_options){.frame_ms = 300});
    greet(&f, &peer);
    announce(&peer, 900, 4);
    from_ms = wd_now_ms();
    while (log_rejects(&f.gate.log) == 0 && wd_now_ms() - from_ms < 5000) {
        (void)mbedtls_ssl_write(&peer.ssl, (const uint8_t *)"x", 1);
        nng_msleep(20);
    }
    assert_int_equal(log_wait_reject(&f.gate.log, 1).cause, WD_TLS_FRAME_TIMEOUT);
    raw_close(&peer);
    stop(&f);
}

static void who_waits_between_messages_stays(void **state)
{
    fixture f;
    raw_peer peer;

    (void)state;
    start(&f, (wd_tls_options){.frame_ms = 50});
    greet(&f, &peer);
    announce(&peer, 100, 100);
    nng_msg_free(receive(&f));
    assert_int_equal(tcp_wait_closed(peer.net.fd, 300), -1);
    announce(&peer, 100, 100);
    nng_msg_free(receive(&f));
    assert_int_equal(log_rejects(&f.gate.log), 0);
    raw_close(&peer);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_refused_to_the_byte),
        cmocka_unit_test(over_the_budget_is_its_own_cause),
        cmocka_unit_test(who_holds_most_yields_and_is_closed_at_once),
        cmocka_unit_test(from_the_reserve_nobody_has_to_yield),
        cmocka_unit_test(what_nng_refuses_is_left_to_it),
        cmocka_unit_test(half_a_message_is_given_back_with_its_connection),
        cmocka_unit_test(a_message_counts_until_its_owner_frees_it),
        cmocka_unit_test(who_is_cut_off_is_closed_and_its_owner_hears_no_cause),
        cmocka_unit_test(what_rep_drops_is_given_back),
        cmocka_unit_test(a_message_that_does_not_go_on_is_closed),
        cmocka_unit_test(part_of_a_length_is_a_message_too),
        cmocka_unit_test(a_byte_now_and_then_is_no_progress),
        cmocka_unit_test(who_waits_between_messages_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
