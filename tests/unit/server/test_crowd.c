/* How many of the gate's places one principal may have, whatever others have. */
#include "tests/unit/proto/proto_test.h"

#include <stdbool.h>

#include "server/crowd.h"

enum { CALLS = 4096, CONTEXTS = CALLS + 256, QUARTER = CONTEXTS / 4, KEPT = 256 };

/* Every context holds a call that has a place. */
static wd_room judge(uint64_t placed, uint64_t own)
{
    const wd_crowd crowd = {CALLS, CONTEXTS, placed, placed, own, own};

    return wd_crowd_judge(&crowd);
}

static void a_call_has_room_as_the_table_says(void **state)
{
    static const struct {
        uint64_t placed, own;
        wd_room room;
    } cases[] = {
        {1, 1, WD_ROOM},
        {QUARTER, QUARTER - 1, WD_ROOM},
        {QUARTER, QUARTER, WD_ROOM},
        {QUARTER + 1, QUARTER + 1, WD_ROOM_QUOTA},
        /* as many as are free, without those that are kept */
        {CALLS - KEPT - 500, 499, WD_ROOM},
        {CALLS - KEPT - 500, 500, WD_ROOM},
        {CALLS - KEPT - 500, 501, WD_ROOM_SHARE},
        {CALLS - KEPT - 499, 500, WD_ROOM_SHARE},
        /* and a few in any case */
        {CALLS - KEPT, 15, WD_ROOM},
        {CALLS - KEPT, 16, WD_ROOM},
        {CALLS - KEPT, 17, WD_ROOM_SHARE},
        {CALLS - 1, 16, WD_ROOM},
        {CALLS, 16, WD_ROOM},
        {CALLS, 17, WD_ROOM_SHARE},
        {CALLS, QUARTER + 1, WD_ROOM_QUOTA},
        {CALLS + 1, 1, WD_ROOM_FULL},
        {CALLS + 1, QUARTER + 1, WD_ROOM_FULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %llu placed, %llu own\n", (unsigned long long)cases[i].placed,
                      (unsigned long long)cases[i].own);
        assert_int_equal(judge(cases[i].placed, cases[i].own), cases[i].room);
    }
}

/* Refusals that nobody reads hold contexts, and take no place from anybody. */
static void refusals_that_are_held_take_no_places(void **state)
{
    static const struct {
        uint64_t busy, own_busy, own_placed;
        wd_room room;
    } cases[] = {
        {CALLS - 1, 1, 1, WD_ROOM},
        {CALLS, 1, 1, WD_ROOM},
        {CALLS + 1, 1, 1, WD_ROOM},
        {CALLS, QUARTER, 1, WD_ROOM}, /* but a principal's are its contexts too */
        {CALLS, QUARTER + 1, 1, WD_ROOM_QUOTA},
        /* the last contexts are for who has few */
        {CONTEXTS - 16, 17, 1, WD_ROOM},
        {CONTEXTS - 15, 15, 1, WD_ROOM},
        {CONTEXTS - 15, 16, 16, WD_ROOM},
        {CONTEXTS - 15, 17, 1, WD_ROOM_LAST},
        {CONTEXTS, 16, 1, WD_ROOM},
        {CONTEXTS, 17, 1, WD_ROOM_LAST},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const wd_crowd crowd = {CALLS, CONTEXTS,          cases[i].busy,
                                1000,  cases[i].own_busy, cases[i].own_placed};
        print_message("  %llu busy, %llu own\n", (unsigned long long)cases[i].busy,
                      (unsigned long long)cases[i].own_busy);
        assert_int_equal(wd_crowd_judge(&crowd), cases[i].room);
    }
}

/* limits.in_flight was lowered: contexts are as many as before, places are not. */
static void what_a_reload_has_lowered_holds(void **state)
{
    const wd_crowd most = {100, CONTEXTS, 94, 94, 16, 16};
    const wd_crowd more = {100, CONTEXTS, 94, 94, 17, 17};
    const wd_crowd full = {100, CONTEXTS, 101, 101, 1, 1};

    (void)state;
    assert_int_equal(wd_crowd_quarter(100), 89);
    assert_int_equal(wd_crowd_judge(&most), WD_ROOM);
    assert_int_equal(wd_crowd_judge(&more), WD_ROOM_SHARE);
    assert_int_equal(wd_crowd_judge(&full), WD_ROOM_FULL);
}

/* Where limits.in_flight is small one principal may have all of it. */
static void a_few_places_are_one_principals(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= WD_GATE_FEW; n++) {
        const wd_crowd last = {n, n + WD_GATE_RESERVED, n, n, n, n};
        const wd_crowd full = {n, n + WD_GATE_RESERVED, n + 1, n + 1, n + 1, n + 1};
        assert_int_equal(wd_crowd_judge(&last), WD_ROOM);
        assert_int_equal(wd_crowd_judge(&full), WD_ROOM_FULL);
    }
}

/* One more, if the rule lets it in: true. */
static bool enter(uint64_t *placed, uint64_t *own)
{
    if (judge(*placed + 1, *own + 1) != WD_ROOM)
        return false;
    ++*placed;
    ++*own;
    return true;
}

static void those_who_all_want_all_leave_one_part_more(void **state)
{
    enum { MOST = 32 };

    (void)state;
    for (uint64_t n = 1; n <= MOST; n++) {
        uint64_t own[MOST] = {0}, placed = 0, friends = 0;
        for (size_t rounds = 0; rounds < QUARTER; rounds++)
            for (size_t i = 0; i < n; i++)
                (void)enter(&placed, &own[i]);
        uint64_t part = (CALLS - KEPT) / (n + 1), left = CALLS - KEPT - placed;
        print_message("  beside %llu: %llu\n", (unsigned long long)n,
                      (unsigned long long)left);
        assert_true(left >= part);
        while (enter(&placed, &friends))
            continue;
        assert_true(friends >= part / 2 || friends == QUARTER);
    }
}

/* The worst order: each has all that it gets before the next one comes. */
static void two_dozen_who_come_one_by_one_leave_a_few(void **state)
{
    enum { GREEDY = 24 };
    uint64_t placed = 0, friends = 0;

    (void)state;
    for (size_t i = 0; i < GREEDY; i++) {
        uint64_t own = 0;
        while (enter(&placed, &own))
            continue;
    }
    while (enter(&placed, &friends))
        continue;
    assert_int_equal(friends, WD_GATE_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_room_as_the_table_says),
        cmocka_unit_test(refusals_that_are_held_take_no_places),
        cmocka_unit_test(what_a_reload_has_lowered_holds),
        cmocka_unit_test(a_few_places_are_one_principals),
        cmocka_unit_test(those_who_all_want_all_leave_one_part_more),
        cmocka_unit_test(two_dozen_who_come_one_by_one_leave_a_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
