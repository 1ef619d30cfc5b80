/* A token's life: rotated, retired, renewed, unwrapped, and what becomes of its children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit_verify.h"
#include "store/reader.h"
#include "tests/unit/store/life_fixture.h"

#define MINUTE_MS 60000LL
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

static void assert_state(wd_fixture *f, const char *text, wd_token_state want)
{
    wd_token_state is =
        wd_token_state_at(wd_life_token(f, text), wd_store_now_ms(f->store));
    assert_string_equal(wd_token_state_name(is), wd_token_state_name(want));
}

/* As a gate that was killed would find it: the trail and the table agree. */
static void assert_proven(wd_fixture *f)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_report report;
    wd_error err = {0};
    const wd_audit_range all = {.first = 0};
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    if (wd_audit_verify(reader, &all, &report, &err) != WD_OK ||
        report.fault != WD_AUDIT_SOUND)
        fail_msg("%s", err.msg);
}

/* --- rotate ------------------------------------------------------------------------ */

static void claim_01_both_generations_hold_until_the_overlap_ends(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text old = wd_life_issue(f, &spec);
    const wd_token_next next = {.overlap_ms = MINUTE_MS};
    wd_token_text new;
    (void)wd_life_rotate(f, old.chars + 5, &next, &new, NULL);
    assert_string_equal(wd_life_token(f, new.chars)->family,
                        wd_life_token(f, old.chars)->id);
    assert_int_equal(wd_life_token(f, new.chars)->generation, 2);
    assert_state(f, old.chars, WD_TOKEN_RETIRING);
    assert_state(f, new.chars, WD_TOKEN_ACTIVE);
    f->clock.now_ms += MINUTE_MS - 1;
    assert_int_equal(wd_life_check(f, old.chars), WD_REASON_NONE);
    assert_int_equal(wd_life_check(f, new.chars), WD_REASON_NONE);
    f->clock.now_ms += 1;
    assert_int_equal(wd_life_check(f, old.chars), WD_REASON_TOKEN_RETIRED);
    assert_int_equal(wd_life_check(f, new.chars), WD_REASON_NONE);
    assert_proven(f);
    wd_life_restart(f);
    assert_int_equal(wd_life_check(f, old.chars), WD_REASON_TOKEN_RETIRED);
    assert_int_equal(wd_life_check(f, new.chars), WD_REASON_NONE);
}

static void claim_01_a_third_generation_is_a_conflict_while_two_live(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text one = wd_life_issue(f, &spec);
    wd_token_text two;
    wd_token_text three;
    wd_reason reason = WD_REASON_NONE;
    (void)wd_life_rotate(f, one.chars + 5, NULL, &two, NULL);
    assert_int_equal(wd_life_rotate(f, one.chars + 5, NULL, &three, &reason),
                     WD_FAILED_PRECONDITION);
    assert_int_equal(reason, WD_REASON_CONFLICT);
    assert_int_equal(wd_life_check(f, one.chars), WD_REASON_NONE);
    (void)wd_life_retire(f, two.chars + 5, NULL);
    assert_int_equal(wd_life_check(f, one.chars), WD_REASON_TOKEN_RETIRED);
    (void)wd_life_rotate(f, one.chars + 5, NULL, &three, NULL);
    assert_int_equal(wd_life_check(f, two.chars), WD_REASON_NONE);
    assert_int_equal(wd_life_check(f, three.chars), WD_REASON_NONE);
    assert_proven(f);
}

static void claim_01_force_ends_the_open_overlap(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text one = wd_life_issue(f, &spec);
    wd_token_text two;
    wd_token_text three;
    (void)wd_life_rotate(f, one.chars + 5, NULL, &two, NULL);
    wd_life_force(f, one.chars + 5, &three);
    assert_int_equal(wd_life_check(f, one.chars), WD_REASON_TOKEN_RETIRED);
    assert_state(f, two.chars, WD_TOKEN_RETIRING);
    assert_state(f, three.chars, WD_TOKEN_ACTIVE);
    assert_proven(f);
    wd_life_restart(f);
    assert_state(f, two.chars, WD_TOKEN_RETIRING);
}

static void claim_01_an_old_one_never_holds_longer_for_being_rotated(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    spec.ttl_ms = MINUTE_MS;
    wd_token_text old = wd_life_issue(f, &spec);
    wd_token_text new;
    (void)wd_life_rotate(f, old.chars + 5, NULL, &new, NULL);
    assert_int_equal(wd_token_retires_ms(wd_life_token(f, old.chars)),
                     WD_FIXTURE_NOW_MS + MINUTE_MS);
}

static void claim_01_nothing_to_retire_is_a_conflict(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text one = wd_life_issue(f, &spec);
    wd_token_text two;
    const wd_token_next next = {.overlap_ms = MINUTE_MS};
    wd_reason reason = WD_REASON_NONE;
    (void)wd_life_retire(f, one.chars + 5, &reason);
    assert_int_equal(reason, WD_REASON_CONFLICT);
    (void)wd_life_rotate(f, one.chars + 5, &next, &two, NULL);
    f->clock.now_ms += MINUTE_MS;
    (void)wd_life_retire(f, one.chars + 5, &reason);
    assert_int_equal(reason, WD_REASON_CONFLICT);
    (void)wd_life_retire(f, "0123456789", &reason);
    assert_int_equal(reason, WD_REASON_TOKEN_ID_UNKNOWN);
}

static void what_has_ended_is_neither_rotated_nor_renewed(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text revoked = wd_life_issue(f, &spec);
    wd_token_text expired = wd_life_issue(f, &spec);
    const char *const ids[] = {revoked.chars + 5, expired.chars + 5};
    wd_life_revoke(f, wd_life_token(f, revoked.chars)->id);
    f->clock.now_ms += WD_TOKEN_TTL_DATA_MS;
    for (size_t i = 0; i < 2; i++) {
        wd_reason reason = WD_REASON_NONE;
        wd_token_text fresh;
        const char *id = wd_life_token(f, ids[i])->id;
        (void)wd_life_rotate(f, id, NULL, &fresh, &reason);
        assert_int_equal(reason, WD_REASON_CONFLICT);
        (void)wd_life_renew(f, id, wd_store_now_ms(f->store) + HOUR_MS, &reason);
        assert_int_equal(reason, WD_REASON_CONFLICT);
    }
    assert_int_equal(wd_token_table_count(wd_store_tokens(f->store)), 2);
}

/* --- renew ------------------------------------------------------------------------- */

static void claim_01_renewing_moves_the_end_and_never_back(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text text = wd_life_issue(f, &spec);
    wd_token *token = wd_life_token(f, text.chars);
    int64_t later = WD_FIXTURE_NOW_MS + 3 * HOUR_MS;
    (void)wd_life_renew(f, token->id, later, NULL);
    assert_int_equal(wd_token_expires_ms(token), later);
    (void)wd_life_renew(f, token->id, later - HOUR_MS, NULL);
    assert_int_equal(wd_token_expires_ms(token), later);
    assert_proven(f);
    wd_life_restart(f);
    assert_int_equal(wd_token_expires_ms(wd_life_token(f, text.chars)), later);
    f->clock.now_ms += 2 * HOUR_MS;
    assert_int_equal(wd_life_check(f, text.chars), WD_REASON_NONE);
}

static void the_older_generation_is_not_renewed(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text old = wd_life_issue(f, &spec);
    wd_token_text new;
    wd_reason reason = WD_REASON_NONE;
    (void)wd_life_rotate(f, old.chars + 5, NULL, &new, NULL);
    (void)wd_life_renew(f, wd_life_token(f, old.chars)->id,
                        WD_FIXTURE_NOW_MS + 9 * HOUR_MS, &reason);
    assert_int_equal(reason, WD_REASON_CONFLICT);
}

/* --- parents ----------------------------------------------------------------------- */

static wd_token_text issue_with(wd_fixture *f, const char *parent)
{
    wd_token_spec spec = wd_life_spec();
    spec.parent = wd_life_token(f, parent)->id;
    return wd_life_issue(f, &spec);
}

static void claim_03_a_child_ends_with_its_parents_family(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text parent = wd_life_issue(f, &spec);
    wd_token_text child = issue_with(f, parent.chars);
    wd_token_text grandchild = issue_with(f, child.chars);
    wd_token_text newer;
    (void)wd_life_rotate(f, parent.chars + 5, NULL, &newer, NULL);
    (void)wd_life_retire(f, parent.chars + 5, NULL);
    assert_int_equal(wd_life_check(f, grandchild.chars), WD_REASON_NONE);
    wd_life_revoke(f, wd_life_token(f, newer.chars)->id);
    assert_int_equal(wd_life_check(f, child.chars), WD_REASON_TOKEN_REVOKED);
    assert_int_equal(wd_life_check(f, grandchild.chars), WD_REASON_TOKEN_REVOKED);
    assert_state(f, grandchild.chars, WD_TOKEN_ORPHANED);
    wd_life_restart(f);
    assert_int_equal(wd_life_check(f, grandchild.chars), WD_REASON_TOKEN_REVOKED);
}

static void claim_03_a_child_never_outlives_a_parent_that_ended_early(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    spec.idle_ms = 10 * MINUTE_MS;
    wd_token_text parent = wd_life_issue(f, &spec);
    wd_token_text child = issue_with(f, parent.chars);
    assert_int_equal(wd_life_check(f, child.chars), WD_REASON_NONE);
    f->clock.now_ms += 10 * MINUTE_MS;
    assert_int_equal(wd_life_check(f, parent.chars), WD_REASON_TOKEN_EXPIRED);
    assert_int_equal(wd_life_check(f, child.chars), WD_REASON_TOKEN_EXPIRED);
}

static void claim_03_nothing_is_issued_with_a_token_that_ended(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text parent = wd_life_issue(f, &spec);
    WD_AUTO_ISSUED issued = {0};
    wd_error err = {0};
    spec.parent = wd_life_token(f, parent.chars)->id;
    wd_life_revoke(f, spec.parent);
    assert_int_equal(wd_tokens_issue_now(f->store, &spec, "local:0", &issued, &err),
                     WD_FAILED_PRECONDITION);
    assert_int_equal(err.reason, WD_REASON_CONFLICT);
    assert_int_equal(wd_token_table_count(wd_store_tokens(f->store)), 1);
}

/* --- idle, clocks ------------------------------------------------------------------ */

static void claim_03_a_token_that_nobody_uses_ends(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    spec.idle_ms = MINUTE_MS;
    wd_token_text text = wd_life_issue(f, &spec);
    for (int i = 0; i < 5; i++) {
        f->clock.now_ms += MINUTE_MS - 1;
        assert_int_equal(wd_life_check(f, text.chars), WD_REASON_NONE);
    }
    wd_life_restart(f); /* its last use is kept */
    f->clock.now_ms += MINUTE_MS - 1;
    assert_int_equal(wd_life_check(f, text.chars), WD_REASON_NONE);
    f->clock.now_ms += MINUTE_MS;
    assert_int_equal(wd_life_check(f, text.chars), WD_REASON_TOKEN_EXPIRED);
    wd_fixture_set_back(f, MINUTE_MS);
    assert_int_equal(wd_life_check(f, text.chars), WD_REASON_TOKEN_EXPIRED);
}

/* --- wraps ------------------------------------------------------------------------- */

static void
claim_03_a_wrap_opens_once_and_a_second_time_ends_what_came_out(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    spec.wrap_ttl_ms = 5 * MINUTE_MS;
    wd_token_text wrap = wd_life_issue(f, &spec);
    wd_token_text inner;
    wd_token_text second;
    wd_reason reason = WD_REASON_NONE;
    assert_memory_equal(wrap.chars, "wdw1_", 5);
    (void)wd_life_unwrap(f, wrap.chars, &inner, NULL);
    assert_memory_equal(inner.chars, "wdt1_", 5);
    assert_int_equal(wd_life_check(f, inner.chars), WD_REASON_NONE);
    assert_int_equal(wd_token_expires_ms(wd_life_token(f, inner.chars)),
                     WD_FIXTURE_NOW_MS + HOUR_MS);
    assert_string_equal(wd_life_token(f, inner.chars)->family,
                        wd_life_token(f, wrap.chars)->id);
    assert_state(f, wrap.chars, WD_TOKEN_RETIRED);
    assert_proven(f);
    wd_life_restart(f);
    (void)wd_life_unwrap(f, wrap.chars, &second, &reason);
    assert_int_equal(wd_life_check(f, inner.chars), WD_REASON_TOKEN_REVOKED);
    assert_int_equal(wd_token_table_count(wd_store_tokens(f->store)), 2);
    assert_proven(f);
    wd_life_restart(f);
    assert_int_equal(wd_life_check(f, inner.chars), WD_REASON_TOKEN_REVOKED);
}

static void
claim_03_a_wrap_of_the_next_generation_rotates_when_it_is_opened(void **state)
{
    wd_fixture *f = *state;
    wd_token_spec spec = wd_life_spec();
    wd_token_text old = wd_life_issue(f, &spec);
    const wd_token_next next = {.wrap_ttl_ms = MINUTE_MS, .overlap_ms = MINUTE_MS};
    wd_token_text wrap;
    wd_token_text new;
    (void)wd_life_rotate(f, old.chars + 5, &next, &wrap, NULL);
    assert_state(f, old.chars, WD_TOKEN_ACTIVE);
    (void)wd_life_unwrap(f, wrap.chars, &new, NULL);
    assert_state(f, old.chars, WD_TOKEN_RETIRING);
    assert_int_equal(wd_life_token(f, new.chars)->generation, 2);
    f->clock.now_ms += MINUTE_MS;
    assert_int_equal(wd_life_check(f, old.chars), WD_REASON_TOKEN_RETIRED);
    assert_int_equal(wd_life_check(f, wrap.chars), WD_REASON_TOKEN_EXPIRED);
    assert_proven(f);
}

#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(claim_01_both_generations_hold_until_the_overlap_ends),
        TEST(claim_01_a_third_generation_is_a_conflict_while_two_live),
        TEST(claim_01_force_ends_the_open_overlap),
        TEST(claim_01_an_old_one_never_holds_longer_for_being_rotated),
        TEST(claim_01_nothing_to_retire_is_a_conflict),
        TEST(what_has_ended_is_neither_rotated_nor_renewed),
        TEST(claim_01_renewing_moves_the_end_and_never_back),
        TEST(the_older_generation_is_not_renewed),
        TEST(claim_03_a_child_ends_with_its_parents_family),
        TEST(claim_03_a_child_never_outlives_a_parent_that_ended_early),
        TEST(claim_03_nothing_is_issued_with_a_token_that_ended),
        TEST(claim_03_a_token_that_nobody_uses_ends),
        TEST(claim_03_a_wrap_opens_once_and_a_second_time_ends_what_came_out),
        TEST(claim_03_a_wrap_of_the_next_generation_rotates_when_it_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
