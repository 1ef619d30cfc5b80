/* Where an SP stream stands, however it is cut. */
#include <string.h>

#include "check.h"
#include "proto/tls/frames.h"

#define GREETING "\0SP\0\0\x30\0\0"

typedef struct trace {
    wd_frame_event events[16];
    uint64_t lengths[16];
    size_t n;
} trace;

/* In pieces of at most `step` bytes. */
static void feed(wd_frames *f, const char *data, size_t size, size_t step, trace *ret)
{
    for (size_t at = 0; at < size;) {
        size_t end = size - at < step ? size : at + step;
        wd_frame_event event;
        do {
            at += wd_frames_take(f, (const uint8_t *)data + at, end - at, &event);
            if (event == WD_FRAME_MORE)
                continue;
            assert_true(ret->n < 16);
            ret->lengths[ret->n] = event == WD_FRAME_TRACED ? f->words : f->length;
            ret->events[ret->n++] = event;
        } while (event != WD_FRAME_MORE);
        assert_int_equal(at, end);
    }
}

static void expect(const trace *seen, size_t i, wd_frame_event event, uint64_t number)
{
    assert_true(i < seen->n);
    assert_int_equal(seen->events[i], event);
    assert_int_equal(seen->lengths[i], number);
}

static void messages_are_followed_however_they_are_cut(void **state)
{
    static const char stream[] = GREETING "\0\0\0\0\0\0\0\x05\x80\0\0\1x"
                                          "\0\0\0\0\0\0\0\x0a\0\0\0\2\x80\0\0\1yy";

    (void)state;
    for (size_t step = 1; step < sizeof stream; step++) {
        wd_frames f = {0};
        trace seen = {.n = 0};
        feed(&f, stream, sizeof stream - 1, step, &seen);
        assert_int_equal(seen.n, 6);
        expect(&seen, 0, WD_FRAME_LENGTH, 5);
        expect(&seen, 1, WD_FRAME_TRACED, 1);
        expect(&seen, 2, WD_FRAME_END, 5);
        expect(&seen, 3, WD_FRAME_LENGTH, 10);
        expect(&seen, 4, WD_FRAME_TRACED, 2);
        expect(&seen, 5, WD_FRAME_END, 10);
        assert_false(wd_frames_inside(&f));
    }
}

static void an_empty_message_ends_at_once(void **state)
{
    wd_frames f = {0};
    trace seen = {.n = 0};

    (void)state;
    feed(&f, GREETING "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, 24, &seen);
    assert_int_equal(seen.n, 4);
    expect(&seen, 1, WD_FRAME_END, 0);
    expect(&seen, 3, WD_FRAME_END, 0);
    assert_false(f.traced);
}

static void a_body_that_is_all_hops_is_never_traced(void **state)
{
    char stream[8 + 8 + 40] = GREETING "\0\0\0\0\0\0\0\x28";
    wd_frames f = {0};
    trace seen = {.n = 0};

    (void)state;
    stream[8 + 8 + 32] = (char)0x80; /* the ninth word: too late for REP */
    feed(&f, stream, sizeof stream, 7, &seen);
    assert_int_equal(seen.n, 2);
    expect(&seen, 1, WD_FRAME_END, 40);
    assert_false(f.traced);
}

static void a_part_of_a_message_is_inside(void **state)
{
    static const char stream[] = GREETING "\0\0\0\0\0\0\0\x05\x80\0\0\1x";
    trace seen = {.n = 0};
    wd_frames f = {0};

    (void)state;
    for (size_t i = 0; i < sizeof stream - 1; i++) {
        assert_int_equal(wd_frames_inside(&f), i > 8);
        feed(&f, stream + i, 1, 1, &seen);
    }
    assert_false(wd_frames_inside(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_followed_however_they_are_cut),
        cmocka_unit_test(an_empty_message_ends_at_once),
        cmocka_unit_test(a_body_that_is_all_hops_is_never_traced),
        cmocka_unit_test(a_part_of_a_message_is_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
