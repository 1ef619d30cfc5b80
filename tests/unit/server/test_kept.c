/* What a call was answered is kept for who asks again, within its budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/kept.h"

#define LIMIT 100000U
#define SHARE (LIMIT / WD_KEPT_SHARES)

typedef struct world {
    wd_keeper *keeper;
    wd_kept_share mine, other;
    uint64_t empty; /* bytes of an answer without a payload */
} world;

static wd_answer *answer_of(size_t size, int64_t at_ms)
{
    wd_error good = {.status = WD_OK};
    wd_buffer payload = WD_BUFFER_INIT;

    assert_true(wd_buffer_reserve(&payload, size));
    memset(payload.data, 'k', size);
    payload.size = size;
    wd_answer *answer = wd_answer_new(&good, &payload, at_ms);
    assert_non_null(answer);
    assert_null(payload.data); /* taken */
    return answer;
}

static wd_kept *settle(world *w, wd_kept_share *share, size_t size, int64_t at_ms)
{
    wd_kept *kept = wd_kept_new();

    assert_non_null(kept);
    assert_null(wd_kept_settle(w->keeper, kept, answer_of(size, at_ms), share));
    return kept;
}

static bool is_there(world *w, const wd_kept *kept)
{
    WD_AUTO(wd_answer) *answer = wd_kept_answer(w->keeper, kept);
    return answer != NULL;
}

static int make_world(void **state)
{
    world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->keeper = wd_keeper_new(LIMIT);
    assert_non_null(w->keeper);
    wd_kept_share_init(&w->mine);
    wd_kept_share_init(&w->other);
    wd_kept_unref(settle(w, &w->mine, 1, 0));
    w->empty = wd_keeper_bytes(w->keeper) - 1;
    wd_keeper_expire(w->keeper, INT64_MAX);
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;

    wd_keeper_free(w->keeper);
    free(w);
    return 0;
}

static void claim_06_an_answer_is_what_the_call_was_told(void **state)
{
    world *w = *state;
    wd_error error;
    wd_buffer none = WD_BUFFER_INIT;
    WD_AUTO(wd_kept) *kept = wd_kept_new();

    (void)wd_refuse(&error, WD_REASON_RUN_TIMEOUT, "too slow");
    error.retry_after_ms = 7;
    wd_answer *made = wd_answer_new(&error, &none, 0);
    assert_null(wd_kept_settle(w->keeper, kept, made, &w->mine));
    WD_AUTO(wd_answer) *found = wd_kept_answer(w->keeper, kept);
    assert_ptr_equal(found, made);
    assert_int_equal(wd_answer_error(found)->reason, WD_REASON_RUN_TIMEOUT);
    assert_int_equal(wd_answer_error(found)->retry_after_ms, 7);
    assert_string_equal(wd_answer_error(found)->msg, "too slow");
    assert_int_equal(wd_answer_payload(found).size, 0);
}

static void claim_06_who_waits_comes_out_in_order_when_it_is_settled(void **state)
{
    world *w = *state;
    wd_task tasks[3] = {{.next = NULL}};
    WD_AUTO(wd_kept) *kept = wd_kept_new();

    for (size_t i = 0; i < 3; i++)
        assert_true(wd_kept_await(w->keeper, kept, &tasks[i]));
    assert_false(is_there(w, kept));
    wd_task *out = wd_kept_settle(w->keeper, kept, answer_of(5, 0), &w->mine);
    for (size_t i = 0; i < 3; i++, out = out->next)
        assert_ptr_equal(out, &tasks[i]);
    assert_null(out);
    assert_false(wd_kept_await(w->keeper, kept, &tasks[0]));
    assert_true(is_there(w, kept));
}

static void claim_06_what_could_not_be_kept_is_settled_all_the_same(void **state)
{
    world *w = *state;
    wd_task task = {.next = NULL};
    WD_AUTO(wd_kept) *kept = wd_kept_new();

    assert_true(wd_kept_await(w->keeper, kept, &task));
    assert_ptr_equal(wd_kept_settle(w->keeper, kept, NULL, &w->mine), &task);
    assert_false(wd_kept_await(w->keeper, kept, &task));
    assert_false(is_there(w, kept));
    assert_int_equal(wd_keeper_bytes(w->keeper), 0);
}

static void claim_06_a_principal_keeps_a_quarter_and_loses_its_oldest(void **state)
{
    world *w = *state;
    static const struct {
        int over; /* bytes beyond the share */
        bool first_stays;
    } cases[] = {{-1, true}, {0, true}, {1, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = SHARE - 2 * w->empty - 10 + (size_t)cases[i].over;
        WD_AUTO(wd_kept) *others = settle(w, &w->other, 10, 0);
        WD_AUTO(wd_kept) *first = settle(w, &w->mine, 10, 0);
        WD_AUTO(wd_kept) *second = settle(w, &w->mine, size, 0);
        assert_true(is_there(w, others));
        assert_int_equal(is_there(w, first), cases[i].first_stays);
        assert_true(is_there(w, second));
        wd_keeper_expire(w->keeper, INT64_MAX);
    }
}

static void claim_06_an_answer_above_the_share_is_not_kept(void **state)
{
    world *w = *state;
    WD_AUTO(wd_kept) *fits = settle(w, &w->mine, SHARE - w->empty, 0);
    WD_AUTO(wd_kept) *too_large = settle(w, &w->mine, SHARE - w->empty + 1, 0);

    assert_false(is_there(w, fits));
    assert_false(is_there(w, too_large));
    assert_int_equal(wd_keeper_bytes(w->keeper), 0);
}

static void claim_06_all_together_stay_within_the_limit(void **state)
{
    enum { N = 6 };
    world *w = *state;
    wd_kept_share shares[N];
    wd_kept *kept[N];

    for (size_t i = 0; i < N; i++) {
        wd_kept_share_init(&shares[i]);
        kept[i] = settle(w, &shares[i], SHARE - w->empty, 0);
        assert_true(wd_keeper_bytes(w->keeper) <= LIMIT);
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(is_there(w, kept[i]), i >= N - WD_KEPT_SHARES);
    wd_keeper_expire(w->keeper, INT64_MAX);
    for (size_t i = 0; i < N; i++)
        wd_kept_unref(kept[i]);
}

/* However old it is, the answer of who keeps little stays. */
static void claim_06_who_keeps_most_loses_first(void **state)
{
    enum { N = WD_KEPT_SHARES + 1 };
    world *w = *state;
    wd_kept_share greedy[N];
    WD_AUTO(wd_kept) *friends = settle(w, &w->mine, 1, 0);

    for (size_t i = 0; i < N; i++)
        wd_kept_share_init(&greedy[i]);
    for (size_t i = 0; i < (size_t)20 * N; i++) {
        wd_kept_unref(settle(w, &greedy[i % N], SHARE / 3, 0));
        assert_true(wd_keeper_bytes(w->keeper) <= LIMIT);
        assert_true(is_there(w, friends));
    }
    wd_keeper_expire(w->keeper, INT64_MAX);
}

static void claim_06_what_is_older_is_let_go(void **state)
{
    world *w = *state;
    WD_AUTO(wd_kept) *old = settle(w, &w->mine, 10, 99);
    WD_AUTO(wd_kept) *young = settle(w, &w->other, 10, 100);

    wd_keeper_expire(w->keeper, 100);
    assert_false(is_there(w, old));
    assert_true(is_there(w, young));
    wd_keeper_expire(w->keeper, 101);
    assert_false(is_there(w, young));
    assert_int_equal(wd_keeper_bytes(w->keeper), 0);
}

static void claim_06_who_holds_an_answer_holds_it_after_it_is_let_go(void **state)
{
    world *w = *state;
    WD_AUTO(wd_kept) *kept = settle(w, &w->mine, 3, 0);
    WD_AUTO(wd_answer) *held = wd_kept_answer(w->keeper, kept);

    wd_keeper_expire(w->keeper, INT64_MAX);
    assert_false(is_there(w, kept));
    assert_memory_equal(wd_answer_payload(held).data, "kkk", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(claim_06_an_answer_is_what_the_call_was_told,
                                        make_world, end_world),
        cmocka_unit_test_setup_teardown(
            claim_06_who_waits_comes_out_in_order_when_it_is_settled, make_world,
            end_world),
        cmocka_unit_test_setup_teardown(
            claim_06_what_could_not_be_kept_is_settled_all_the_same, make_world,
            end_world),
        cmocka_unit_test_setup_teardown(
            claim_06_a_principal_keeps_a_quarter_and_loses_its_oldest, make_world,
            end_world),
        cmocka_unit_test_setup_teardown(claim_06_an_answer_above_the_share_is_not_kept,
                                        make_world, end_world),
        cmocka_unit_test_setup_teardown(claim_06_all_together_stay_within_the_limit,
                                        make_world, end_world),
        cmocka_unit_test_setup_teardown(claim_06_who_keeps_most_loses_first, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(claim_06_what_is_older_is_let_go, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(
            claim_06_who_holds_an_answer_holds_it_after_it_is_let_go, make_world,
            end_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
