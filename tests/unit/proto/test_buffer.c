#include "proto/c/buffer.h"

#include "tests/unit/proto/proto_test.h"

static void appended_bytes_stand_in_order(void **state)
{
    (void)state;
    WD_AUTO_BUFFER buffer = WD_BUFFER_INIT;
    for (unsigned i = 0; i < 5000; i++) {
        uint8_t byte = (uint8_t)(i % 251);
        assert_true(wd_buffer_append(&buffer, &byte, 1));
    }
    assert_int_equal(buffer.size, 5000);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(buffer.data[i], i % 251);
}

static void nothing_appended_needs_no_memory(void **state)
{
    (void)state;
    WD_AUTO_BUFFER buffer = WD_BUFFER_INIT;
    assert_true(wd_buffer_append(&buffer, NULL, 0));
    assert_null(buffer.data);
    assert_int_equal(wd_buffer_span(&buffer).size, 0);
}

static void a_size_that_overflows_is_refused_and_harmless(void **state)
{
    (void)state;
    WD_AUTO_BUFFER buffer = WD_BUFFER_INIT;
    assert_true(wd_buffer_append(&buffer, "abc", 3));
    assert_false(wd_buffer_reserve(&buffer, SIZE_MAX));
    assert_false(wd_buffer_reserve(&buffer, SIZE_MAX - 3));
    assert_int_equal(buffer.size, 3);
    assert_memory_equal(buffer.data, "abc", 3);
}

static void dropping_keeps_the_rest(void **state)
{
    (void)state;
    WD_AUTO_BUFFER buffer = WD_BUFFER_INIT;
    wd_buffer_drop(&buffer, 0);
    assert_true(wd_buffer_append(&buffer, "abcdef", 6));
    wd_buffer_drop(&buffer, 2);
    assert_int_equal(buffer.size, 4);
    assert_memory_equal(buffer.data, "cdef", 4);
    wd_buffer_drop(&buffer, 99);
    assert_int_equal(buffer.size, 0);
}

static void clearing_keeps_the_memory_and_done_does_not(void **state)
{
    (void)state;
    WD_AUTO_BUFFER buffer = WD_BUFFER_INIT;
    assert_true(wd_buffer_append(&buffer, "abc", 3));
    wd_buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_non_null(buffer.data);
    wd_buffer_wipe(&buffer);
    assert_null(buffer.data);
    wd_buffer_wipe(&buffer);
    wd_buffer_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_bytes_stand_in_order),
        cmocka_unit_test(nothing_appended_needs_no_memory),
        cmocka_unit_test(a_size_that_overflows_is_refused_and_harmless),
        cmocka_unit_test(dropping_keeps_the_rest),
        cmocka_unit_test(clearing_keeps_the_memory_and_done_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
