#include <string.h>

#include "check.h"
#include "proto/tls/coalesce.h"

/* Feed bytes in pieces of `step`, write whole records; the sizes of the records that
 * come out, at most `room`. Returns how many. */
static size_t run(const uint8_t *data, size_t size, size_t step, size_t *ret_sizes,
                  size_t room)
{
    static const wd_coalesce empty;
    wd_coalesce c = empty;
    size_t n = 0, at = 0;

    while (at < size) {
        size_t piece = size - at < step ? size - at : step;
        at += wd_coalesce_take(&c, data + at, piece);
        if (!wd_coalesce_ready(&c))
            continue;
        assert_true(n < room);
        ret_sizes[n++] = c.size;
        wd_coalesce_drop(&c, c.size);
    }
    assert_int_equal(c.size, 0);
    return n;
}

/* The greeting, then messages of these sizes. Returns the bytes used. */
static size_t stream(uint8_t *out, const uint32_t *sizes, size_t n)
{
    static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};
    size_t at = sizeof greeting;

    memcpy(out, greeting, sizeof greeting);
    for (size_t i = 0; i < n; i++) {
        memset(out + at, 0, 8);
        for (unsigned k = 0; k < 4; k++)
            out[at + 7 - k] = (uint8_t)(sizes[i] >> (8 * k));
        at += 8;
        memset(out + at, (int)i, sizes[i]);
        at += sizes[i];
    }
    return at;
}

static void a_message_becomes_one_record(void **state)
{
    static uint8_t data[70000];
    const uint32_t messages[] = {4, 0, 200, 16312, 16313, 32000};
    const size_t expected[] = {8, 12, 8, 208, 16320, 16320, 1, 16320, 15688};
    const size_t steps[] = {1, 3, 8, 4096, 70000};
    size_t size = stream(data, messages, 6), sizes[16];

    (void)state;
    for (size_t s = 0; s < 5; s++) {
        size_t n = run(data, size, steps[s], sizes, 16);
        assert_int_equal(n, 9);
        assert_memory_equal(sizes, expected, sizeof expected);
    }
}

static void nothing_is_taken_while_a_record_waits(void **state)
{
    wd_coalesce c = {.greeted = false};

    (void)state;
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"\0SP\0\0\x30\0\0+", 9), 8);
    assert_true(wd_coalesce_ready(&c));
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"+", 1), 0);
    wd_coalesce_drop(&c, 3);
    assert_true(wd_coalesce_ready(&c));
    assert_int_equal(c.size, 5);
    wd_coalesce_drop(&c, 5);
    assert_false(wd_coalesce_ready(&c));
}

/* Take all, in steps that end where messages do. */
static void take_all(wd_coalesce *c, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t n = wd_coalesce_take(c, data + at, size - at);
        assert_true(n > 0);
        at += n;
    }
}

static void whole_messages_wait_together(void **state)
{
    static uint8_t data[1000];
    const uint32_t messages[] = {100, 0, 50};
    size_t size = stream(data, messages, 3) - 8;
    wd_coalesce c = {.greeted = true};

    (void)state;
    take_all(&c, data + 8, 116); /* two of them */
    assert_int_equal(wd_coalesce_ready(&c), 116);
    take_all(&c, data + 8 + 116, size - 116);
    assert_int_equal(wd_coalesce_ready(&c), size);
    assert_memory_equal(c.bytes, data + 8, size);
}

static void the_beginning_of_the_next_message_is_not_ready(void **state)
{
    static uint8_t data[1000];
    const uint32_t messages[] = {100, 50};
    wd_coalesce c = {.greeted = true};

    (void)state;
    (void)stream(data, messages, 2);
    const uint8_t *first = data + 8, *second = first + 108;
    assert_int_equal(wd_coalesce_take(&c, first, 8), 8);
    assert_int_equal(wd_coalesce_ready(&c), 0);
    assert_int_equal(wd_coalesce_take(&c, first + 8, 1000), 100);
    assert_int_equal(wd_coalesce_take(&c, second, 3), 3);
    assert_int_equal(wd_coalesce_ready(&c), 108);
    wd_coalesce_drop(&c, 60); /* a record may leave in parts */
    assert_int_equal(wd_coalesce_ready(&c), 48);
    wd_coalesce_drop(&c, 48);
    assert_int_equal(wd_coalesce_ready(&c), 0);
    assert_memory_equal(c.bytes, second, 3);
    assert_int_equal(wd_coalesce_take(&c, second + 3, 5), 5);
    assert_int_equal(wd_coalesce_take(&c, second + 8, 49), 49);
    assert_int_equal(wd_coalesce_ready(&c), 0);
    assert_int_equal(wd_coalesce_take(&c, second + 57, 1), 1);
    assert_int_equal(wd_coalesce_ready(&c), 58);
    assert_memory_equal(c.bytes, second, 58);
}

static void a_full_buffer_is_ready_wherever_a_message_ends(void **state)
{
    static uint8_t data[WD_RECORD_BYTES + 100];
    static wd_coalesce c = {.greeted = true};
    const uint32_t message = WD_RECORD_BYTES - 8 - 5; /* 5 bytes remain */

    (void)state;
    (void)stream(data, &message, 1);
    assert_int_equal(wd_coalesce_take(&c, data + 8, 8), 8);
    assert_int_equal(wd_coalesce_take(&c, data + 16, message), message);
    assert_int_equal(wd_coalesce_ready(&c), WD_RECORD_BYTES - 5);
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"\0\0\0\0\0\0\0\1", 8), 5);
    assert_int_equal(wd_coalesce_ready(&c), WD_RECORD_BYTES);
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"\0\0\1", 3), 0);
    wd_coalesce_drop(&c, WD_RECORD_BYTES);
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"\0\0\1", 3), 3);
    assert_int_equal(wd_coalesce_ready(&c), 0);
    assert_int_equal(wd_coalesce_take(&c, (const uint8_t *)"+", 1), 1);
    assert_int_equal(wd_coalesce_ready(&c), 4);
}

static void a_length_of_all_ones_stays_bounded(void **state)
{
    static uint8_t data[40000];
    wd_coalesce c = {.greeted = true};
    size_t at = 0, records = 0;

    (void)state;
    memset(data, 0xff, sizeof data);
    while (at < sizeof data) {
        at += wd_coalesce_take(&c, data + at, sizeof data - at);
        assert_true(c.size <= WD_RECORD_BYTES);
        if (wd_coalesce_ready(&c)) {
            records++;
            wd_coalesce_drop(&c, c.size);
        }
    }
    assert_int_equal(records, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_becomes_one_record),
        cmocka_unit_test(nothing_is_taken_while_a_record_waits),
        cmocka_unit_test(whole_messages_wait_together),
        cmocka_unit_test(the_beginning_of_the_next_message_is_not_ready),
        cmocka_unit_test(a_full_buffer_is_ready_wherever_a_message_ends),
        cmocka_unit_test(a_length_of_all_ones_stays_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
