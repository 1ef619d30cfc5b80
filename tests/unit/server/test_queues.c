/* How calls change hands: the pool, the table of calls under way, the vanished. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "server/delays.h"
#include "server/guesses.h"
#include "server/inflight.h"
#include "server/pool.h"
#include "server/vanished.h"

typedef struct job {
    wd_task task;
    wd_pool *pool;
    struct job *then; /* posted by this one */
    int number;
} job;

static atomic_int done;
static int order[64];

static void note(wd_task *task)
{
    job *j = WD_CONTAINER(task, job, task);

    order[atomic_fetch_add(&done, 1)] = j->number;
    if (j->then != NULL)
        wd_pool_post(j->pool, &j->then->task);
}

static void one_thread_runs_tasks_in_their_order(void **state)
{
    job jobs[64];
    wd_pool *pool = NULL;

    (void)state;
    atomic_store(&done, 0);
    assert_int_equal(wd_pool_start("test", 1, &pool, NULL), WD_OK);
    for (int i = 0; i < 64; i++) {
        jobs[i] = (job){.task.run = note, .number = i};
        wd_pool_post(pool, &jobs[i].task);
    }
    wd_pool_stop(pool); /* runs what is queued first */
    assert_int_equal(atomic_load(&done), 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(order[i], i);
}

static void a_task_may_post_another_while_the_pool_stops(void **state)
{
    job second = {.task.run = note, .number = 2};
    job first = {.task.run = note, .number = 1, .then = &second};
    wd_pool *pool = NULL;

    (void)state;
    atomic_store(&done, 0);
    assert_int_equal(wd_pool_start("test", 1, &pool, NULL), WD_OK);
    first.pool = pool;
    wd_pool_post(pool, &first.task);
    wd_pool_stop(pool);
    assert_int_equal(atomic_load(&done), 2);
}

static void many_threads_lose_no_task(void **state)
{
    static job jobs[64];
    wd_pool *pool = NULL;

    (void)state;
    atomic_store(&done, 0);
    assert_int_equal(wd_pool_start("test", 8, &pool, NULL), WD_OK);
    for (int i = 0; i < 64; i++) {
        jobs[i] = (job){.task.run = note, .number = i};
        wd_pool_post(pool, &jobs[i].task);
    }
    wd_pool_stop(pool);
    assert_int_equal(atomic_load(&done), 64);
}

static void stopping_no_pool_is_fine(void **state)
{
    (void)state;
    wd_pool_stop(NULL);
}

/* --- calls under way ------------------------------------------------------------------ */

static size_t told;

static void count_told(void *arg, uint64_t number)
{
    (void)arg;
    assert_true(number > 0);
    told++;
}

static wd_live live_of(const char *principal, uint8_t id, const char *token,
                       uint32_t pipe)
{
    wd_live live = {.principal = principal, .pipe = pipe};

    live.call_id[0] = id;
    strncpy(live.token_id, token, sizeof(live.token_id) - 1);
    return live;
}

static void a_signal_reaches_whom_the_filter_names(void **state)
{
    static const uint8_t id_2[WD_CALL_ID_BYTES] = {2};
    static const char two[2][WD_TOKEN_ID_CHARS + 1] = {"tok1", "tok3"};
    static const struct {
        const char *name;
        wd_live_filter filter;
        bool want[3];
    } cases[] = {
        {"all", {.pipe = 0}, {true, true, true}},
        {"a connection", {.pipe = 7}, {true, true, false}},
        {"a token", {.token_id = "tok2"}, {false, true, true}},
        {"a call", {.principal = "alice", .call_id = id_2}, {false, true, false}},
        {"another's call of the same id",
         {.principal = "carol", .call_id = id_2},
         {false, false, false}},
        {"one of two tokens",
         {.token_ids = two, .n_token_ids = 2},
         {true, false, false}},
        {"an unknown token", {.token_id = "tok9"}, {false, false, false}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO(wd_inflight) *table = wd_inflight_new(count_told, NULL);
        wd_live calls[3] = {live_of("alice", 1, "tok1", 7),
                            live_of("alice", 2, "tok2", 7),
                            live_of("bob", 2, "tok2", 8)};
        size_t want = 0;
        told = 0;
        for (size_t k = 0; k < 3; k++)
            wd_inflight_add(table, &calls[k]);
        for (size_t k = 0; k < 3; k++)
            want += cases[i].want[k];

        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_inflight_signal(table, &cases[i].filter, WD_SIGNAL_REVOKED),
                         want);
        assert_int_equal(told, want);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(wd_inflight_signalled(table, &calls[k]),
                             cases[i].want[k] ? WD_SIGNAL_REVOKED : WD_SIGNAL_NONE);
            wd_inflight_remove(table, &calls[k]);
        }
        assert_int_equal(wd_inflight_count(table), 0);
    }
}

static void the_first_signal_stays_and_is_counted_once(void **state)
{
    WD_AUTO(wd_inflight) *table = wd_inflight_new(count_told, NULL);
    const wd_live_filter all = {.pipe = 0};
    wd_live call = live_of("alice", 1, "tok1", 7);

    (void)state;
    wd_inflight_add(table, &call);
    assert_int_equal(wd_inflight_signal(table, &all, WD_SIGNAL_CANCEL), 1);
    assert_int_equal(wd_inflight_signal(table, &all, WD_SIGNAL_DRAIN), 0);
    assert_int_equal(wd_inflight_signalled(table, &call), WD_SIGNAL_CANCEL);
    wd_inflight_remove(table, &call);
    wd_inflight_remove(table, &call); /* a call that was never entered, or has left */
    assert_int_equal(wd_inflight_signal(table, &all, WD_SIGNAL_DRAIN), 0);
}

static void a_signal_reaches_more_calls_than_it_tells_at_a_time(void **state)
{
    enum { N = 1000 };
    static wd_live calls[N];
    WD_AUTO(wd_inflight) *table = wd_inflight_new(count_told, NULL);
    const wd_live_filter all = {.pipe = 0};

    (void)state;
    told = 0;
    for (int i = 0; i < N; i++) {
        calls[i] = live_of("alice", 1, "tok1", 7);
        wd_inflight_add(table, &calls[i]);
    }
    assert_int_equal(wd_inflight_signal(table, &all, WD_SIGNAL_DRAIN), N);
    assert_int_equal(told, N);
}

/* --- connections that are gone --------------------------------------------------------- */

static void the_vanished_are_due_after_their_grace(void **state)
{
    WD_AUTO(wd_vanished) *vanished = wd_vanished_new();
    uint32_t pipe = 0;

    (void)state;
    assert_int_equal(wd_vanished_next_ms(vanished), INT64_MAX);
    wd_vanished_note(vanished, 1, 100);
    wd_vanished_note(vanished, 2, 200);
    assert_int_equal(wd_vanished_next_ms(vanished), 100);
    assert_false(wd_vanished_due(vanished, 99, &pipe));
    assert_true(wd_vanished_due(vanished, 150, &pipe));
    assert_int_equal(pipe, 1);
    assert_false(wd_vanished_due(vanished, 150, &pipe));
    assert_true(wd_vanished_due(vanished, 200, &pipe));
    assert_int_equal(pipe, 2);
    wd_vanished_note(vanished, 3, 300);
    assert_true(wd_vanished_due(vanished, 300, &pipe));
    assert_int_equal(pipe, 3);
}

static void count_wake(void *arg)
{
    ++*(int *)arg;
}

static void delayed_tasks_run_when_they_are_due_in_that_order(void **state)
{
    enum { N = 5 };
    static const int64_t due_ms[N] = {30, 10, 20, 10, 30};
    static const int want[N] = {1, 3, 2, 0, 4};
    job jobs[N];
    int wakes = 0;
    WD_AUTO(wd_delays) *delays = wd_delays_new(count_wake, &wakes);
    wd_pool *pool = NULL;

    (void)state;
    atomic_store(&done, 0);
    assert_int_equal(wd_pool_start("test", 1, &pool, NULL), WD_OK);
    assert_true(wd_delays_next_ms(delays) == INT64_MAX);
    for (int i = 0; i < N; i++) {
        jobs[i] = (job){.task.run = note, .number = i};
        wd_delays_add(delays, &jobs[i].task, due_ms[i]);
    }
    assert_int_equal(wakes, N);
    assert_true(wd_delays_next_ms(delays) == 10);
    wd_delays_run(delays, pool, 9);
    assert_true(wd_delays_next_ms(delays) == 10);
    wd_delays_run(delays, pool, 10);
    assert_true(wd_delays_next_ms(delays) == 20);
    wd_delays_run(delays, pool, 31);
    assert_true(wd_delays_next_ms(delays) == INT64_MAX);
    wd_pool_stop(pool);
    assert_int_equal(atomic_load(&done), N);
    for (int i = 0; i < N; i++)
        assert_int_equal(order[i], want[i]);
}

static void claim_04_guesses_are_at_once_then_one_a_tenth_then_too_many(void **state)
{
    atomic_int_fast64_t paid_ms = 0;
    const int64_t now_ms = 5000;

    (void)state;
    for (int i = 0; i < WD_GUESSES_AT_ONCE; i++)
        assert_true(wd_guess_due(&paid_ms, now_ms) == now_ms);
    for (int i = 1; i <= WD_GUESSES_WAITING; i++)
        assert_true(wd_guess_due(&paid_ms, now_ms) == now_ms + i * WD_GUESS_MS);
    assert_true(wd_guess_due(&paid_ms, now_ms) == WD_GUESS_TOO_MANY);
    assert_true(wd_guess_due(&paid_ms, now_ms + WD_GUESS_MS - 1) == WD_GUESS_TOO_MANY);
    assert_true(wd_guess_due(&paid_ms, now_ms + WD_GUESS_MS) ==
                now_ms + WD_GUESS_MS + WD_GUESSES_WAITING * WD_GUESS_MS);
}

static void claim_04_who_has_stopped_guessing_is_not_slow_for_ever(void **state)
{
    atomic_int_fast64_t paid_ms = 0;
    int64_t now_ms = 5000;

    (void)state;
    for (int i = 0; i < WD_GUESSES_AT_ONCE + WD_GUESSES_WAITING; i++)
        (void)wd_guess_due(&paid_ms, now_ms);
    now_ms += (WD_GUESSES_AT_ONCE + WD_GUESSES_WAITING) * WD_GUESS_MS;
    for (int i = 0; i < WD_GUESSES_AT_ONCE; i++)
        assert_true(wd_guess_due(&paid_ms, now_ms) == now_ms);
    assert_true(wd_guess_due(&paid_ms, now_ms) > now_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_runs_tasks_in_their_order),
        cmocka_unit_test(a_task_may_post_another_while_the_pool_stops),
        cmocka_unit_test(many_threads_lose_no_task),
        cmocka_unit_test(stopping_no_pool_is_fine),
        cmocka_unit_test(a_signal_reaches_whom_the_filter_names),
        cmocka_unit_test(the_first_signal_stays_and_is_counted_once),
        cmocka_unit_test(a_signal_reaches_more_calls_than_it_tells_at_a_time),
        cmocka_unit_test(the_vanished_are_due_after_their_grace),
        cmocka_unit_test(delayed_tasks_run_when_they_are_due_in_that_order),
        cmocka_unit_test(claim_04_guesses_are_at_once_then_one_a_tenth_then_too_many),
        cmocka_unit_test(claim_04_who_has_stopped_guessing_is_not_slow_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
