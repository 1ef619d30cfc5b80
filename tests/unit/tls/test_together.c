/* Replies that go into one record, because their requests came in one. */
#include <nng/nng.h>
#include <poll.h>
#include <string.h>

#include "check.h"
#include "gate_fixture.h"
#include "raw_peer.h"

typedef struct fixture {
    gate_fixture gate;
    wd_pem_pair pair;
    raw_peer peer;
} fixture;

enum { ASKED = 8, FRAME = 8 + 4 + 20 };

/* One record with `n` requests, each told apart by its last byte. */
static void ask_at_once(raw_peer *peer, unsigned n)
{
    uint8_t bytes[ASKED * FRAME] = {0};

    for (unsigned i = 0; i < n; i++) {
        uint8_t *frame = bytes + (size_t)i * FRAME;
        frame[7] = FRAME - 8;
        frame[8] = 0x80;
        frame[FRAME - 1] = (uint8_t)i;
    }
    raw_write(peer, bytes, (size_t)n * FRAME);
}

/* Answer the next request with what it said. */
static void answer_one(nng_socket rep)
{
    nng_msg *message = NULL;

    assert_int_equal(nng_recvmsg(rep, &message, 0), 0);
    assert_int_equal(nng_sendmsg(rep, message, 0), 0);
}

/* What tells that a message could be sent. Ask before there is one: NNG makes the
 * descriptor at the first question, beside the threads that write to it. */
static struct pollfd can_send_of(nng_socket rep)
{
    struct pollfd can_send = {.events = POLLIN};

    assert_int_equal(nng_socket_get_int(rep, NNG_OPT_SENDFD, &can_send.fd), 0);
    return can_send;
}

/* Until the engine has the whole answer: then the next could be sent. */
static void wait_until_sent(nng_socket rep, struct pollfd *can_send)
{
    nng_msg *next = NULL;

    assert_int_equal(nng_recvmsg(rep, &next, 0), 0);
    nng_msg_free(next);
    assert_int_equal(poll(can_send, 1, 5000), 1);
}

static void read_answers(raw_peer *peer, unsigned n)
{
    uint8_t bytes[ASKED * FRAME];
    size_t at = 0;

    while (at < (size_t)n * FRAME) {
        int got = raw_read(peer, bytes + at, (size_t)n * FRAME - at, 5000);
        assert_true(got > 0);
        at += (size_t)got;
    }
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(bytes[(i + 1) * FRAME - 1], i);
}

static void start(fixture *f)
{
    uint8_t greeting[8];

    gate_start(&f->gate, (wd_tls_options){0}, NULL);
    good_issue(f->gate.ca, TEST_CLIENT, &f->pair);
    assert_int_equal(raw_connect(&f->peer, f->gate.port, &f->pair), 0);
    raw_write(&f->peer, "\0SP\0\0\x30\0\0", 8);
    assert_int_equal(raw_read(&f->peer, greeting, sizeof greeting, 5000), 8);
}

static void stop(fixture *f)
{
    raw_close(&f->peer);
    wd_pem_pair_done(&f->pair);
}

/* The peer may have a record before its writer has counted it. */
static uint64_t wait_records(fixture *f, uint64_t bytes)
{
    wd_tls_stats stats = {0};

    for (int i = 0; i < 5000 && stats.bytes_written < bytes; i++) {
        wd_tls_binding_stats(f->gate.binding, &stats);
        nng_msleep(1);
    }
    assert_int_equal(stats.bytes_written, bytes);
    return stats.records_written;
}

/* NNG reads one message ahead; while more of them lie behind that, a reply waits. */
static void replies_to_requests_of_one_record_share_records(void **state)
{
    fixture f;

    (void)state;
    start(&f);
    ask_at_once(&f.peer, ASKED);
    for (unsigned i = 0; i < ASKED; i++)
        answer_one(f.gate.rep);
    read_answers(&f.peer, ASKED);
    /* The greeting is one. The last three replies may be too late for the others. */
    assert_in_range(wait_records(&f, 8 + ASKED * FRAME), 2, 5);
    gate_stop(&f.gate);
    stop(&f);
}

static void a_reply_that_is_alone_waits_for_nothing(void **state)
{
    fixture f;

    (void)state;
    start(&f);
    for (unsigned i = 0; i < 3; i++) {
        ask_at_once(&f.peer, 1);
        answer_one(f.gate.rep);
        read_answers(&f.peer, 1);
    }
    assert_int_equal(wait_records(&f, 8 + 3 * FRAME), 4);
    gate_stop(&f.gate);
    stop(&f);
}

/* Nobody takes the other requests; the end of the connection must not take the reply. */
static void a_reply_that_waits_leaves_before_the_connection_ends(void **state)
{
    fixture f;

    (void)state;
    start(&f);
    struct pollfd can_send = can_send_of(f.gate.rep);
    ask_at_once(&f.peer, ASKED);
    answer_one(f.gate.rep);
    wait_until_sent(f.gate.rep, &can_send);
    gate_stop(&f.gate);
    read_answers(&f.peer, 1);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_to_requests_of_one_record_share_records),
        cmocka_unit_test(a_reply_that_is_alone_waits_for_nothing),
        cmocka_unit_test(a_reply_that_waits_leaves_before_the_connection_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
