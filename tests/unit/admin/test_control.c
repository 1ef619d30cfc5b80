/* Control messages: what passes, and what a child that lies gets. */
#include "server/control.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

/* cmocka's fixtures share it. NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int ends[2];

static int make_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_pair(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
    return 0;
}

static void every_kind_arrives_as_sent(void **state)
{
    (void)state;
    const char kinds[] = "SHRKF";
    for (size_t i = 0; i < 5; i++) {
        wd_control_message m;
        wd_control_kind kind = (wd_control_kind)kinds[i];
        const char *text = kind == WD_CONTROL_FAILED ? "the cure" : NULL;
        assert_int_equal(wd_control_send(ends[0], kind, -1, text, NULL), WD_OK);
        assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
        assert_int_equal(m.kind, kind);
        assert_int_equal(m.fd, -1);
        assert_string_equal(m.text, text != NULL ? text : "");
    }
}

static void a_descriptor_travels_and_is_close_on_exec(void **state)
{
    (void)state;
    struct stat sent;
    struct stat got;
    wd_control_message m;
    WD_AUTO_FD int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(wd_control_send(ends[0], WD_CONTROL_CHANNEL, fd, NULL, NULL),
                     WD_OK);
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
    assert_int_equal(m.kind, WD_CONTROL_CHANNEL);
    assert_int_equal(fstat(fd, &sent), 0);
    assert_int_equal(fstat(m.fd, &got), 0);
    assert_int_equal(sent.st_rdev, got.st_rdev);
    assert_int_equal(fcntl(m.fd, F_GETFD), FD_CLOEXEC);
    (void)close(m.fd);
}

static void a_text_too_long_is_cut(void **state)
{
    (void)state;
    char text[WD_CONTROL_TEXT_BYTES * 2];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    wd_control_message m;
    assert_int_equal(wd_control_send(ends[0], WD_CONTROL_FAILED, -1, text, NULL),
                     WD_OK);
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
    assert_int_equal(strlen(m.text), WD_CONTROL_TEXT_BYTES);
}

static void an_unknown_kind_is_refused(void **state)
{
    (void)state;
    const char bytes[] = {'x', 'Q', 0, 127};
    for (size_t i = 0; i < sizeof(bytes); i++) {
        wd_control_message m;
        assert_int_equal(send(ends[0], &bytes[i], 1, 0), 1);
        assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_INVALID_ARGUMENT);
    }
}

static void a_channel_without_its_descriptor_is_refused(void **state)
{
    (void)state;
    wd_control_message m;
    assert_int_equal(send(ends[0], "X", 1, 0), 1);
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_INVALID_ARGUMENT);
}

static void a_descriptor_that_nobody_asked_for_is_closed(void **state)
{
    (void)state;
    WD_AUTO_FD int probe = dup(0);
    for (int i = 0; i < 100; i++) {
        wd_control_message m;
        assert_int_equal(wd_control_send(ends[0], WD_CONTROL_READY, probe, NULL, NULL),
                         WD_OK);
        assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_INVALID_ARGUMENT);
    }
    WD_AUTO_FD int next = dup(0);
    assert_true(next < probe + 3);
}

static void the_other_side_gone_is_the_end(void **state)
{
    (void)state;
    wd_control_message m;
    wd_error err = {0};
    (void)close(ends[0]);
    ends[0] = -1;
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
    assert_int_equal(m.kind, WD_CONTROL_END);
    assert_int_equal(wd_control_send(ends[1], WD_CONTROL_STOP, -1, NULL, &err),
                     WD_UNAVAILABLE);
}

static void last_words_arrive_from_one_that_had_not_listened(void **state)
{
    (void)state;
    wd_control_message m;
    assert_int_equal(wd_control_send(ends[1], WD_CONTROL_STOP, -1, NULL, NULL), WD_OK);
    assert_int_equal(wd_control_send(ends[0], WD_CONTROL_FAILED, -1, "why", NULL),
                     WD_OK);
    (void)close(ends[0]);
    ends[0] = -1;
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
    assert_int_equal(m.kind, WD_CONTROL_FAILED);
    assert_string_equal(m.text, "why");
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_OK);
    assert_int_equal(m.kind, WD_CONTROL_END);
}

static void nothing_there_is_not_the_end(void **state)
{
    (void)state;
    wd_control_message m;
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(wd_control_receive(ends[1], &m, NULL), WD_UNAVAILABLE);
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, make_pair, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PAIR(every_kind_arrives_as_sent),
        WITH_PAIR(a_descriptor_travels_and_is_close_on_exec),
        WITH_PAIR(a_text_too_long_is_cut),
        WITH_PAIR(an_unknown_kind_is_refused),
        WITH_PAIR(a_channel_without_its_descriptor_is_refused),
        WITH_PAIR(a_descriptor_that_nobody_asked_for_is_closed),
        WITH_PAIR(the_other_side_gone_is_the_end),
        WITH_PAIR(last_words_arrive_from_one_that_had_not_listened),
        WITH_PAIR(nothing_there_is_not_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
