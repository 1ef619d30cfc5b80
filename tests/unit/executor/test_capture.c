#include "server/executor/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint8_t at(size_t i)
{
    return (uint8_t)(i % 251);
}

/* Feeds `size` bytes in pieces and checks what is kept against the definition. */
static void check(size_t limit, size_t size, size_t piece)
{
    wd_capture capture;
    wd_capture_init(&capture, limit);
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = at(i);
    for (size_t done = 0; done < size; done += piece) {
        size_t part = size - done < piece ? size - done : piece;
        assert_true(wd_capture_add(&capture, (wd_span){bytes + done, part}));
    }
    free(bytes);
    wd_captured end = wd_capture_end(&capture);
    assert_int_equal(end.original_bytes, size);
    assert_int_equal(end.data.size, end.head_bytes + end.tail_bytes);
    assert_int_equal(end.data.size, size < limit ? size : limit);
    if (size <= limit)
        assert_int_equal(end.tail_bytes, 0);
    for (size_t i = 0; i < end.head_bytes; i++)
        assert_int_equal(end.data.data[i], at(i));
    for (size_t i = 0; i < end.tail_bytes; i++)
        assert_int_equal(end.data.data[end.head_bytes + i],
                         at(size - end.tail_bytes + i));
    wd_capture_done(&capture);
}

static void head_and_tail_are_kept_in_any_cut(void **state)
{
    (void)state;
    static const size_t limits[] = {1, 2, 3, 7, 8, 64};
    static const size_t pieces[] = {1, 2, 3, 5, 8, 64, 1000};
    for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++)
        for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++)
            for (size_t size = 0; size <= 3 * limits[l] + 2; size++)
                check(limits[l], size, pieces[p]);
}

static void large_pieces_skip_what_can_not_be_kept(void **state)
{
    (void)state;
    check(65536, 65535, 4096);
    check(65536, 65536, 65536);
    check(65536, 65537, 65537);
    check(1000, 1000000, 65536);
    check(1001, 999999, 1000000);
}

static void nothing_costs_nothing(void **state)
{
    (void)state;
    wd_capture capture;
    wd_capture_init(&capture, 1U << 20);
    assert_null(capture.kept.data);
    assert_int_equal(wd_capture_end(&capture).data.size, 0);
    wd_capture_done(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_and_tail_are_kept_in_any_cut),
        cmocka_unit_test(large_pieces_skip_what_can_not_be_kept),
        cmocka_unit_test(nothing_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
