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
        cmocka_unit_test(a_length_of_all_ones_stays_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
