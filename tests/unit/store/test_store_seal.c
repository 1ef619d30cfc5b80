/* Sealing: rows move into files of their own, and what is done to those is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/store/segments_fixture.h"

/* --- sealing ---------------------------------------------------------------------- */

static void claim_07_sealed_rows_leave_the_database_and_verify(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 2500);
    wd_segments_seal(f);
    assert_int_equal(access(wd_fixture_path(f, "audit/1-2499.db"), R_OK), 0);
    assert_int_equal(wd_segments_open_rows(f), 1); /* the newest stays */
    wd_segments_verify(f, 2500, 1);
    wd_fixture_fill(f, 10);
    wd_segments_seal(f);
    assert_int_equal(access(wd_fixture_path(f, "audit/2500-2509.db"), R_OK), 0);
    wd_segments_verify(f, 2510, 2);
    wd_fixture_close(f);
    wd_fixture_open(f);
    wd_fixture_fill(f, 1); /* the chain goes on after a restart */
    wd_segments_verify(f, 2511, 2);
}

static void nothing_to_seal_makes_no_segment(void **state)
{
    wd_fixture *f = *state;
    wd_segments_seal(f);
    wd_fixture_fill(f, 1);
    wd_segments_seal(f);
    wd_segments_verify(f, 1, 0);
    wd_fixture_fill(f, 1);
    wd_segments_seal(f);
    wd_segments_verify(f, 2, 1);
    wd_segments_seal(f);
    wd_segments_verify(f, 2, 1);
}

static void claim_07_a_segment_is_due_by_size_and_by_age(void **state)
{
    wd_fixture *f = *state;
    const wd_archive_options options = {
        .store = f->store, .segment_bytes = 100000, .segment_ms = 5000};
    WD_AUTO(wd_archivist) *archivist = NULL;
    assert_int_equal(wd_archivist_open(&options, &archivist, NULL), WD_OK);
    wd_fixture_fill(f, 3);
    assert_int_equal(wd_archivist_pass(archivist, NULL), WD_OK);
    wd_segments_verify(f, 3, 0);
    atomic_fetch_add(&f->clock.now_ms, 4999);
    assert_int_equal(wd_archivist_pass(archivist, NULL), WD_OK);
    wd_segments_verify(f, 3, 0);
    atomic_fetch_add(&f->clock.now_ms, 1);
    assert_int_equal(wd_archivist_pass(archivist, NULL), WD_OK);
    wd_segments_verify(f, 3, 1); /* by age */
    atomic_fetch_add(&f->clock.now_ms, -5000);
    wd_fixture_fill(f, 400);
    assert_int_equal(wd_archivist_pass(archivist, NULL), WD_OK);
    wd_segments_verify(f, 403, 1);
    wd_fixture_fill(f, 400);
    assert_int_equal(wd_archivist_pass(archivist, NULL), WD_OK);
    wd_segments_verify(f, 803, 2); /* by size */
}

static void rows_that_do_not_verify_are_not_sealed(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(wd_archivist) *archivist = NULL;
    const wd_archive_options options = {.store = f->store};
    wd_error err = {0};
    wd_fixture_fill(f, 20);
    wd_fixture_sql(f, "UPDATE audit SET call_id = 'x' WHERE seq = 7");
    assert_int_equal(wd_archivist_open(&options, &archivist, NULL), WD_OK);
    assert_int_equal(wd_archivist_seal(archivist, &err), WD_DATA_LOSS);
    assert_non_null(strstr(err.msg, "audit row 7 does not verify"));
    assert_int_equal(wd_segments_open_rows(f), 20);
    assert_int_equal(access(wd_fixture_path(f, "audit/new.db"), F_OK), -1);
}

/* A crash after the name and before the last deletion: rows are in both. */
static void claim_07_rows_in_both_count_once_and_go(void **state)
{
    wd_fixture *f = *state;
    char sql[256];
    wd_seen s;
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    (void)snprintf(sql, sizeof(sql),
                   "ATTACH '%s' AS s; INSERT INTO audit SELECT * FROM s.audit"
                   " WHERE seq > 12",
                   wd_fixture_path(f, "audit/1-19.db"));
    wd_fixture_sql(f, sql);
    assert_int_equal(wd_segments_open_rows(f), 8);
    wd_segments_verify(f, 20, 1);
    assert_int_equal(wd_segments_query(f, &(wd_audit_filter){0}, &s), 0);
    assert_int_equal(s.n, 20);
    wd_fixture_close(f);
    wd_fixture_open(f);
    wd_segments_seal(f);
    assert_int_equal(wd_segments_open_rows(f), 1);
    wd_segments_verify(f, 20, 1);
}

static void a_segment_in_the_making_is_of_no_worth(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    char command[256];
    (void)snprintf(command, sizeof(command), "echo rubbish >'%s'",
                   wd_fixture_path(f, "audit/new.db"));
    assert_int_equal(wd_fixture_shell(command), 0);
    wd_segments_verify(f, 20, 1);
    wd_fixture_fill(f, 3);
    wd_segments_seal(f);
    wd_segments_verify(f, 23, 2);
}

/* --- what was done to a segment --------------------------------------------------- */

static void claim_08_a_changed_segment_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    wd_segments_change(f, "1-19.db", "UPDATE audit SET call_id = 'x' WHERE seq = 7");
    wd_segments_broken(f, WD_AUDIT_ROW_CHANGED, 7);
    wd_segments_change(f, "1-19.db", "UPDATE audit SET call_id = 'c7' WHERE seq = 7");
    wd_segments_verify(f, 40, 2);
    wd_segments_change(f, "20-39.db", "DELETE FROM audit WHERE seq = 30");
    wd_segments_broken(f, WD_AUDIT_ROW_MISSING, 30);
    wd_segments_change(f, "20-39.db", "UPDATE audit SET seq = 30 WHERE seq = 39");
    wd_segments_broken(f, WD_AUDIT_ROW_CHANGED, 30);
}

static void claim_08_a_segment_that_is_gone_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    assert_int_equal(unlink(wd_fixture_path(f, "audit/1-19.db")), 0);
    wd_segments_broken(f, WD_AUDIT_SEGMENT_MISSING, 1);
    assert_int_equal(unlink(wd_fixture_path(f, "audit/20-39.db")), 0);
    wd_segments_broken(f, WD_AUDIT_ROW_MISSING, 1);
}

static void an_emptied_database_beside_segments_is_refused(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_segments_seal(f);
    wd_fixture_close(f);
    wd_fixture_sql(f, "DELETE FROM audit");
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "no later one");
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_sealed_rows_leave_the_database_and_verify),
        TEST(nothing_to_seal_makes_no_segment),
        TEST(claim_07_a_segment_is_due_by_size_and_by_age),
        TEST(rows_that_do_not_verify_are_not_sealed),
        TEST(claim_07_rows_in_both_count_once_and_go),
        TEST(a_segment_in_the_making_is_of_no_worth),
        TEST(claim_08_a_changed_segment_is_found),
        TEST(claim_08_a_segment_that_is_gone_is_found),
        TEST(an_emptied_database_beside_segments_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
