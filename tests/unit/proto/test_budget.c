#include "proto/c/alloc.h"

#include <stdalign.h>

#include "proto/c/limits.h"
#include "tests/unit/proto/proto_test.h"

static void budget_is_base_plus_eight_times_the_input(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *empty = wd_budget_new(0);
    WD_AUTO(wd_budget) *kilobyte = wd_budget_new(1000);
    assert_int_equal(wd_budget_limit(empty), 1048576);
    assert_int_equal(wd_budget_limit(kilobyte), 1048576 + 8000);
}

static void an_input_that_overflows_has_the_largest_budget(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *huge = wd_budget_new(SIZE_MAX / 2);
    assert_true(wd_budget_limit(huge) == SIZE_MAX);
    assert_null(wd_budget_take(huge, SIZE_MAX));
    assert_null(wd_budget_take(huge, SIZE_MAX - 20));
    assert_null(wd_budget_text(huge, "", SIZE_MAX));
    assert_true(wd_budget_spent(huge));
}

static void the_last_byte_is_given_and_the_next_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t ask;
        bool given;
    } cases[] = {
        {"n-1", WD_DECODE_BASE_BYTES - 1, true},
        {"n", WD_DECODE_BASE_BYTES, true},
        {"n+1", WD_DECODE_BASE_BYTES + 1, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        WD_AUTO(wd_budget) *budget = wd_budget_new(0);
        uint8_t *memory = wd_budget_take(budget, cases[i].ask);
        assert_int_equal(memory != NULL, cases[i].given);
        assert_int_equal(wd_budget_spent(budget), !cases[i].given);
        if (memory != NULL)
            memset(memory, 0xA5, cases[i].ask);
    }
}

static void small_ones_add_up(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    size_t taken = 0;
    while (wd_budget_take(budget, 1024) != NULL)
        taken++;
    assert_int_equal(taken, WD_DECODE_BASE_BYTES / 1024);
    assert_int_equal(wd_budget_used(budget), WD_DECODE_BASE_BYTES);
    assert_true(wd_budget_spent(budget));
}

static void what_is_given_back_stays_counted(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    ProtobufCAllocator *allocator = wd_budget_allocator(budget);
    size_t rounds = 0;
    for (void *memory; (memory = allocator->alloc(allocator->allocator_data, 65536));) {
        allocator->free(allocator->allocator_data, memory);
        rounds++;
    }
    assert_int_equal(rounds, WD_DECODE_BASE_BYTES / 65536);
}

static void every_piece_is_aligned_and_its_own(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    uint8_t *pieces[300];
    for (size_t i = 0; i < COUNT(pieces); i++) {
        pieces[i] = wd_budget_take(budget, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)(i % 256), i);
    }
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(pieces[i][k], i % 256);
}

static void text_gets_its_nul(void **state)
{
    (void)state;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    assert_string_equal(wd_budget_text(budget, "abcdef", 3), "abc");
    assert_string_equal(wd_budget_text(budget, NULL, 0), "");
    wd_budget_free(NULL);
}

/* --- a purse ------------------------------------------------------------------------- */

enum { NO_MORE = 7 };

typedef struct purse {
    size_t most, charged;
} purse;

static int charge(void *arg, size_t bytes)
{
    purse *p = arg;
    if (bytes > p->most - p->charged)
        return NO_MORE;
    p->charged += bytes;
    return 0;
}

static void release(void *arg, size_t bytes)
{
    purse *p = arg;
    p->charged -= bytes;
}

static wd_budget *charged_budget(purse *p)
{
    wd_budget *budget = wd_budget_new(0);
    assert_non_null(budget);
    wd_budget_charge_to(budget, &(wd_budget_purse){charge, release, p});
    return budget;
}

/* What a budget takes for one piece of `size` bytes. */
static size_t price(size_t size)
{
    purse p = {.most = SIZE_MAX};
    WD_AUTO(wd_budget) *budget = charged_budget(&p);
    assert_non_null(wd_budget_take(budget, size));
    return p.charged;
}

static void a_purse_is_charged_for_all_that_is_kept(void **state)
{
    (void)state;
    purse p = {.most = SIZE_MAX};
    WD_AUTO(wd_budget) *budget = charged_budget(&p);
    assert_int_equal(p.charged, 0);
    for (size_t i = 0; i < 10000; i++)
        assert_non_null(wd_budget_take(budget, 1));
    assert_true(p.charged >= 10000 * alignof(max_align_t)); /* each is rounded up */
    wd_budget_free(WD_STEAL(budget));
    assert_int_equal(p.charged, 0);
}

static void a_purse_refuses_to_the_byte(void **state)
{
    (void)state;
    const size_t n = price(100000);
    static const struct {
        int more;
        bool given;
    } cases[] = {{-1, false}, {0, true}, {1, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        purse p = {.most = n + (size_t)cases[i].more};
        WD_AUTO(wd_budget) *budget = charged_budget(&p);
        assert_int_equal(wd_budget_take(budget, 100000) != NULL, cases[i].given);
        assert_int_equal(wd_budget_spent(budget), !cases[i].given);
        assert_int_equal(p.charged, cases[i].given ? n : 0);
        assert_int_equal(wd_budget_refused(budget), cases[i].given ? 0 : NO_MORE);
        assert_int_equal(wd_budget_wanted(budget), cases[i].given ? 0 : n);
    }
}

static void what_was_wanted_stays_told(void **state)
{
    (void)state;
    const size_t first = price(10000), more = price(50000);
    purse p = {.most = first + more - 1};
    WD_AUTO(wd_budget) *budget = charged_budget(&p);
    assert_non_null(wd_budget_take(budget, 10000));
    assert_null(wd_budget_take(budget, 50000));
    assert_int_equal(wd_budget_wanted(budget), first + more);
    assert_non_null(wd_budget_take(budget, 5000)); /* has room */
    assert_int_equal(wd_budget_refused(budget), NO_MORE);
    assert_int_equal(wd_budget_wanted(budget), first + more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_is_base_plus_eight_times_the_input),
        cmocka_unit_test(an_input_that_overflows_has_the_largest_budget),
        cmocka_unit_test(the_last_byte_is_given_and_the_next_refused),
        cmocka_unit_test(small_ones_add_up),
        cmocka_unit_test(what_is_given_back_stays_counted),
        cmocka_unit_test(every_piece_is_aligned_and_its_own),
        cmocka_unit_test(text_gets_its_nul),
        cmocka_unit_test(a_purse_is_charged_for_all_that_is_kept),
        cmocka_unit_test(a_purse_refuses_to_the_byte),
        cmocka_unit_test(what_was_wanted_stays_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
