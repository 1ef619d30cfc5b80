/* What calls take from a token and from those above it; and what no crash and no clock
 * gives them more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/token_spend.h"
#include "tests/unit/store/life_fixture.h"

#define USES      33
#define MINUTE_MS 60000LL
#define YEAR_MS   (365 * 24 * 60 * MINUTE_MS)

static wd_token_text issue_limited(wd_fixture *f, wd_token_limits limits,
                                   const char *parent)
{
    wd_token_spec spec = wd_life_spec();
    spec.limits = limits;
    spec.parent = parent != NULL ? wd_life_token(f, parent)->id : NULL;
    return wd_life_issue(f, &spec);
}

/* As the stage "spend" does: waits for the writer where none is reserved. */
static wd_reason use(wd_fixture *f, const char *text)
{
    wd_token *token = wd_life_token(f, text);
    wd_error err = {0};
    bool wait = false;
    wd_status status = wd_token_use(token, &wait, &err);
    if (status == WD_OK && wait) {
        wd_token_wait(token);
        assert_int_equal(wd_life_reserve(f, token->id), WD_OK);
        wd_token_wait_end(token);
        status = wd_token_use(token, &wait, &err);
        assert_false(wait);
    }
    assert_int_equal(status == WD_OK, err.reason == WD_REASON_NONE);
    return err.reason;
}

static int use_up(wd_fixture *f, const char *text)
{
    int n = 0;
    while (use(f, text) == WD_REASON_NONE)
        n++;
    assert_int_equal(use(f, text), WD_REASON_TOKEN_USES_SPENT);
    return n;
}

/* --- uses ---------------------------------------------------------------------------- */

static void claim_03_so_many_uses_and_not_one_more(void **state)
{
    wd_fixture *f = *state;
    wd_token_text token = issue_limited(f, (wd_token_limits){.max_uses = USES}, NULL);
    for (int i = 0; i < USES; i++)
        assert_int_equal(use(f, token.chars), WD_REASON_NONE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(use(f, token.chars), WD_REASON_TOKEN_USES_SPENT);
    wd_life_restart(f);
    assert_int_equal(use(f, token.chars), WD_REASON_TOKEN_USES_SPENT);
}

static void claim_03_a_clean_stop_loses_no_use(void **state)
{
    wd_fixture *f = *state;
    wd_token_text token = issue_limited(f, (wd_token_limits){.max_uses = USES}, NULL);
    for (int i = 0; i < USES; i++) {
        assert_int_equal(use(f, token.chars), WD_REASON_NONE);
        wd_life_restart(f);
    }
    assert_int_equal(use(f, token.chars), WD_REASON_TOKEN_USES_SPENT);
}

/* What a gate that was killed at this moment leaves on disk. */
static void crash(const wd_fixture *f, wd_fixture *ret_after)
{
    char command[256];
    wd_fixture_init(ret_after);
    (void)snprintf(command, sizeof(command), "cp -a '%s' '%s'", f->dir, ret_after->dir);
    assert_int_equal(wd_fixture_shell(command), 0);
    ret_after->options.create = false;
    wd_fixture_open(ret_after);
}

static void claim_03_a_crash_at_any_point_grants_no_use_twice(void **state)
{
    wd_fixture *f = *state;
    wd_token_text token = issue_limited(f, (wd_token_limits){.max_uses = USES}, NULL);
    wd_token_text child = issue_limited(f, (wd_token_limits){0}, token.chars);
    for (int taken = 0; taken <= USES; taken++) {
        wd_fixture after;
        crash(f, &after);
        int more = use_up(&after, taken % 2 == 0 ? token.chars : child.chars);
        wd_fixture_done(&after);
        assert_in_range(taken + more, USES - USES / 16, USES);
        if (taken < USES)
            assert_int_equal(use(f, child.chars), WD_REASON_NONE);
    }
    assert_int_equal(use(f, token.chars), WD_REASON_TOKEN_USES_SPENT);
}

static void claim_03_many_crashes_grant_no_use_twice(void **state)
{
    wd_fixture *f = *state;
    wd_token_text token = issue_limited(f, (wd_token_limits){.max_uses = USES}, NULL);
    wd_fixture line[USES];
    int taken = 0;
    size_t n = 0;
    const wd_fixture *now = f;
    for (; n < USES; n++) { /* one use and a crash, again and again */
        crash(now, &line[n]);
        now = &line[n];
        if (use(&line[n], token.chars) != WD_REASON_NONE)
            break;
        taken++;
    }
    assert_in_range(n, USES / 16, USES - 1);
    assert_int_equal(taken, (int)n);
    for (size_t i = 0; i <= n; i++)
        wd_fixture_done(&line[i]);
}

static void claim_03_a_child_spends_what_those_above_it_have(void **state)
{
    wd_fixture *f = *state;
    wd_token_text parent = issue_limited(f, (wd_token_limits){.max_uses = 3}, NULL);
    wd_token_text child =
        issue_limited(f, (wd_token_limits){.max_uses = 2}, parent.chars);
    wd_token_text newer;
    assert_int_equal(use(f, child.chars), WD_REASON_NONE);
    (void)wd_life_rotate(f, parent.chars + 5, NULL, &newer, NULL);
    assert_int_equal(use(f, newer.chars), WD_REASON_NONE);
    assert_int_equal(use(f, child.chars), WD_REASON_NONE);
    assert_int_equal(use(f, child.chars), WD_REASON_TOKEN_USES_SPENT);
    assert_int_equal(use(f, newer.chars), WD_REASON_TOKEN_USES_SPENT);
    assert_int_equal(wd_token_uses(wd_life_token(f, parent.chars)), 3);
}

/* --- places and the rate -------------------------------------------------------------- */

static wd_reason enter(wd_fixture *f, const char *text, uint64_t *ret_retry_ms)
{
    wd_error err = {0};
    wd_status status =
        wd_token_enter(wd_life_token(f, text), wd_clock_mono_ns(&f->clock.clock), &err);
    assert_int_equal(status == WD_OK, err.reason == WD_REASON_NONE);
    if (ret_retry_ms != NULL)
        *ret_retry_ms = err.retry_after_ms;
    return err.reason;
}

static void claim_03_places_are_the_familys_and_its_childrens(void **state)
{
    wd_fixture *f = *state;
    wd_token_text parent = issue_limited(f, (wd_token_limits){.concurrency = 3}, NULL);
    wd_token_text child =
        issue_limited(f, (wd_token_limits){.concurrency = 1}, parent.chars);
    uint64_t retry_ms = 0;
    assert_int_equal(enter(f, child.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, child.chars, &retry_ms), WD_REASON_QUOTA);
    assert_int_not_equal(retry_ms, 0);
    assert_int_equal(wd_token_running(wd_life_token(f, parent.chars)), 1);
    assert_int_equal(enter(f, parent.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, parent.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, parent.chars, NULL), WD_REASON_QUOTA);
    wd_token_leave(wd_life_token(f, child.chars));
    assert_int_equal(enter(f, parent.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, child.chars, NULL), WD_REASON_QUOTA);
    for (int i = 0; i < 3; i++)
        wd_token_leave(wd_life_token(f, parent.chars));
    assert_int_equal(wd_token_running(wd_life_token(f, parent.chars)), 0);
    assert_int_equal(enter(f, child.chars, NULL), WD_REASON_NONE);
}

static void claim_03_a_rate_is_no_more_after_a_restart_or_by_any_clock(void **state)
{
    wd_fixture *f = *state;
    const wd_token_limits rate = {.rate_calls = 4, .rate_per_ms = 60000};
    wd_token_text token = issue_limited(f, rate, NULL);
    uint64_t retry_ms = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(enter(f, token.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, token.chars, &retry_ms), WD_REASON_QUOTA);
    assert_in_range(retry_ms, 15000, 15001);
    wd_fixture_set_back(f, YEAR_MS);
    assert_int_equal(enter(f, token.chars, NULL), WD_REASON_QUOTA);
    wd_fixture_set_back(f, -2 * YEAR_MS);
    assert_int_equal(enter(f, token.chars, NULL), WD_REASON_QUOTA);
    f->clock.now_ms += 15000;
    assert_int_equal(enter(f, token.chars, NULL), WD_REASON_NONE);
    wd_life_restart(f);
    assert_int_equal(enter(f, token.chars, NULL), WD_REASON_NONE);
    assert_int_equal(enter(f, token.chars, NULL), WD_REASON_QUOTA);
}

/* --- clocks ---------------------------------------------------------------------------- */

static const char *const boots[] = {NULL, "same", "another"};

static void restart(wd_fixture *f, const char *boot)
{
    if (boot == NULL)
        return;
    wd_fixture_close(f);
    if (strcmp(boot, "another") == 0)
        f->options.boot_id = strcmp(f->options.boot_id, "1") == 0 ? "2" : "1";
    wd_fixture_open(f);
}

/* A token and one that retires, both for a minute. */
static void make_two(wd_fixture *f, wd_token_text *ret_token, wd_token_text *ret_old)
{
    wd_token_spec spec = wd_life_spec();
    const wd_token_next next = {.overlap_ms = MINUTE_MS};
    wd_token_text newer;
    *ret_old = wd_life_issue(f, &spec);
    (void)wd_life_rotate(f, ret_old->chars + 5, &next, &newer, NULL);
    spec.ttl_ms = MINUTE_MS;
    *ret_token = wd_life_issue(f, &spec);
}

static void assert_ended(wd_fixture *f, const wd_token_text *token,
                         const wd_token_text *old)
{
    assert_int_equal(wd_life_check(f, token->chars), WD_REASON_TOKEN_EXPIRED);
    assert_int_equal(wd_life_check(f, old->chars), WD_REASON_TOKEN_RETIRED);
}

static void claim_03_a_clock_set_back_gives_no_time(void **state)
{
    wd_fixture *f = *state;
    for (size_t i = 0; i < sizeof(boots) / sizeof(boots[0]); i++) {
        wd_token_text token;
        wd_token_text old;
        make_two(f, &token, &old);
        f->clock.now_ms += MINUTE_MS / 2;
        wd_fixture_set_back(f, YEAR_MS);
        restart(f, boots[i]);
        f->clock.now_ms += MINUTE_MS / 2 - 1;
        assert_int_equal(wd_life_check(f, token.chars), WD_REASON_NONE);
        assert_int_equal(wd_life_check(f, old.chars), WD_REASON_NONE);
        f->clock.now_ms += 1;
        assert_ended(f, &token, &old);
        wd_fixture_set_back(f, YEAR_MS);
        restart(f, boots[i]);
        assert_ended(f, &token, &old);
    }
}

static void claim_03_what_a_clock_set_forward_has_ended_stays_ended(void **state)
{
    wd_fixture *f = *state;
    for (size_t i = 0; i < sizeof(boots) / sizeof(boots[0]); i++) {
        wd_token_text token;
        wd_token_text old;
        const int64_t ahead_ms = 10 * YEAR_MS * (int64_t)(i + 1); /* beyond the last */
        make_two(f, &token, &old);
        wd_fixture_set_back(f, -ahead_ms);
        assert_ended(f, &token, &old);
        restart(f, boots[i]);
        wd_fixture_set_back(f, ahead_ms + YEAR_MS);
        assert_ended(f, &token, &old);
        restart(f, boots[i]);
        assert_ended(f, &token, &old);
    }
}

static int set_up(void **state)
{
    static wd_fixture fixture; /* cmocka's state needs an address */
    wd_fixture_init(&fixture);
    fixture.options.boot_id = "1";
    wd_fixture_open(&fixture);
    *state = &fixture;
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, wd_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(claim_03_so_many_uses_and_not_one_more),
        TEST(claim_03_a_clean_stop_loses_no_use),
        TEST(claim_03_a_crash_at_any_point_grants_no_use_twice),
        TEST(claim_03_many_crashes_grant_no_use_twice),
        TEST(claim_03_a_child_spends_what_those_above_it_have),
        TEST(claim_03_places_are_the_familys_and_its_childrens),
        TEST(claim_03_a_rate_is_no_more_after_a_restart_or_by_any_clock),
        TEST(claim_03_a_clock_set_back_gives_no_time),
        TEST(claim_03_what_a_clock_set_forward_has_ended_stays_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
