/* What is told of a failure that comes again and again. */
#include "server/repeats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *name;
    int64_t at_ms;
    bool told;
} cases[] = {
    {"the first", 1000, true},
    {"a second later", 2000, false},
    {"a ms before the minute", 60999, false},
    {"at the minute", 61000, true},
    {"at once again", 61000, false},
    {"a minute from the line before", 121000, true},
    {"an hour later", 3721000, true},
};

static void a_failure_is_told_when_it_begins_and_once_a_minute(void **state)
{
    wd_repeats repeats = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        assert_int_equal(wd_repeats_again(&repeats, cases[i].at_ms), cases[i].told);
        assert_int_equal(repeats.times, i + 1);
    }
}

static void its_end_is_told_once_with_how_often_it_came(void **state)
{
    wd_repeats repeats = {0};
    (void)state;
    assert_int_equal(wd_repeats_over(&repeats), 0);
    for (int i = 0; i < 3; i++)
        (void)wd_repeats_again(&repeats, i);
    assert_int_equal(wd_repeats_over(&repeats), 3);
    assert_int_equal(wd_repeats_over(&repeats), 0);
}

static void what_comes_and_goes_is_two_lines_a_minute(void **state)
{
    wd_repeats repeats = {0};
    size_t lines = 0;
    (void)state;
    for (int64_t ms = 1; ms <= 10 * WD_REPEATS_MS; ms += 100) {
        lines += wd_repeats_again(&repeats, ms);
        lines += wd_repeats_over(&repeats) > 0;
    }
    assert_int_equal(lines, 20);
}

static void what_was_not_told_counts_in_the_next_line(void **state)
{
    wd_repeats repeats = {0};
    (void)state;
    assert_true(wd_repeats_again(&repeats, 1));
    assert_int_equal(wd_repeats_over(&repeats), 1);
    for (int i = 0; i < 3; i++) {
        assert_false(wd_repeats_again(&repeats, WD_REPEATS_MS));
        assert_int_equal(wd_repeats_over(&repeats), 0);
    }
    assert_true(wd_repeats_again(&repeats, WD_REPEATS_MS + 1));
    assert_int_equal(repeats.times, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_told_when_it_begins_and_once_a_minute),
        cmocka_unit_test(its_end_is_told_once_with_how_often_it_came),
        cmocka_unit_test(what_comes_and_goes_is_two_lines_a_minute),
        cmocka_unit_test(what_was_not_told_counts_in_the_next_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
