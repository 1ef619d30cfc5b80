/* The trail verified: every kind of tampering is found, and where first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit_verify.h"
#include "tests/support/store_fixture.h"

static void assert_verifies(wd_fixture *f, const wd_audit_range *range, uint64_t rows)
{
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_audit_report report;
    wd_error err = {0};
    if (wd_audit_verify(reader, range, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    assert_int_equal(report.rows, rows);
    assert_int_equal(report.fault, WD_AUDIT_SOUND);
}

static void assert_broken(wd_fixture *f, const wd_audit_range *range,
                          wd_audit_fault fault, uint64_t seq)
{
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_audit_report report;
    wd_error err = {0};
    char words[32];
    assert_int_equal(wd_audit_verify(reader, range, &report, &err), WD_DATA_LOSS);
    assert_int_equal(err.reason, WD_REASON_CHAIN_BROKEN);
    if (report.fault != fault || report.bad_seq != seq)
        fail_msg("fault %d at %llu: %s", (int)report.fault,
                 (unsigned long long)report.bad_seq, err.msg);
    (void)snprintf(words, sizeof(words), "audit row %llu ", (unsigned long long)seq);
    assert_non_null(strstr(err.msg, words));
}

static const wd_audit_range all = {0};

static void chain_verifies_whole_and_in_part(void **state)
{
    wd_fixture *f = *state;
    assert_verifies(f, &all, 0);
    wd_fixture_fill(f, 20);
    assert_verifies(f, &all, 20);
    wd_audit_range part = {.first = 5, .last = 9};
    assert_verifies(f, &part, 5);
    wd_fixture_close(f);
    wd_fixture_open(f);
    wd_fixture_fill(f, 3); /* a chain goes on after a restart */
    assert_verifies(f, &all, 23);
}

static void claim_08_flipped_byte_is_found(void **state)
{
    wd_fixture *f = *state;
    static const char *const changes[] = {
        "UPDATE audit SET call_id = 'c7x' WHERE seq = 7",
        "UPDATE audit SET call_id = NULL WHERE seq = 7",
        "UPDATE audit SET outcome = '' WHERE seq = 7",
        "UPDATE audit SET call_id = CAST(x'633700' AS TEXT) WHERE seq = 7",
        "UPDATE audit SET wall_ms = wall_ms + 1 WHERE seq = 7",
        "UPDATE audit SET item = -1 WHERE seq = 7",
        "UPDATE audit SET hash = zeroblob(32) WHERE seq = 7",
        "UPDATE audit SET hash = x'00' WHERE seq = 7",
        "UPDATE audit SET prev_hash = zeroblob(32) WHERE seq = 7",
        "UPDATE audit SET event = 'call.beginn' WHERE seq = 7",
        "UPDATE audit SET reason = 'OK', tool = NULL WHERE seq = 7",
    };
    wd_fixture_fill(f, 20);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        wd_fixture_sql(f,
                       "CREATE TABLE side.kept AS SELECT * FROM audit WHERE seq = 7");
        wd_fixture_sql(f, changes[i]);
        assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 7);
        wd_fixture_sql(
            f, "REPLACE INTO audit SELECT * FROM side.kept; DROP TABLE side.kept");
        assert_verifies(f, &all, 20);
    }
}

static void claim_08_flipped_byte_in_the_file_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_audit_row row = {.event = "call.begin", .detail = "{\"needle\":\"haystack\"}"};
    wd_fixture_fill(f, 9);
    wd_fixture_append(f, &row);
    wd_fixture_close(f); /* everything is in store.db now */
    char command[256];
    (void)snprintf(command, sizeof(command), "sed -i 's/haystack/hbystack/' '%s'",
                   wd_fixture_path(f, "store.db"));
    assert_int_equal(wd_fixture_shell(command), 0);
    assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 10);
}

static void claim_08_deleted_row_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq IN (12, 15)");
    assert_broken(f, &all, WD_AUDIT_ROW_MISSING, 12);
    wd_audit_range part = {.first = 12, .last = 12};
    assert_broken(f, &part, WD_AUDIT_ROW_MISSING, 12);
}

static void claim_08_deleted_first_row_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 5);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq = 1");
    assert_broken(f, &all, WD_AUDIT_ROW_MISSING, 1);
}

static void claim_08_deleted_and_renumbered_rows_are_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 5);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq = 3;"
                      "UPDATE audit SET seq = 3 WHERE seq = 4");
    assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 3);
}

static void claim_08_two_swapped_rows_are_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 20);
    wd_fixture_sql(f, "UPDATE audit SET seq = 1000 WHERE seq = 5;"
                      "UPDATE audit SET seq = 5 WHERE seq = 6;"
                      "UPDATE audit SET seq = 6 WHERE seq = 1000");
    assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 5);
}

static void claim_08_inserted_row_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 5);
    wd_fixture_sql(
        f, "CREATE TABLE side.copy AS SELECT * FROM audit WHERE seq = 1;"
           "UPDATE side.copy SET seq = 0; INSERT INTO audit SELECT * FROM side.copy");
    assert_broken(f, &all, WD_AUDIT_ROW_UNLINKED, 0);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq = 0; UPDATE side.copy SET seq = 6;"
                      "INSERT INTO audit SELECT * FROM side.copy");
    assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 6);
}

/* Row 3 of another store with the same chain id: sound by itself, but no successor. */
static void claim_08_row_of_another_history_is_unlinked(void **state)
{
    wd_fixture *f = *state;
    wd_fixture other;
    char sql[256];
    wd_fixture_fill(f, 5);
    wd_fixture_init(&other);
    wd_fixture_open(&other);
    wd_fixture_close(&other);
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE meta SET value = '%s' WHERE name = 'chain_id'",
                   wd_store_chain_id(f->store));
    wd_fixture_sql(&other, sql);
    wd_fixture_open(&other);
    wd_audit_row row = {.event = "conn"};
    for (int i = 0; i < 3; i++)
        wd_fixture_append(&other, &row);
    (void)snprintf(sql, sizeof(sql),
                   "ATTACH '%s' AS o; DELETE FROM audit WHERE seq = 3;"
                   "INSERT INTO audit SELECT * FROM o.audit WHERE seq = 3",
                   wd_fixture_path(&other, "store.db"));
    wd_fixture_sql(f, sql);
    assert_broken(f, &all, WD_AUDIT_ROW_UNLINKED, 3);
    wd_fixture_done(&other);
}

static void claim_08_chain_under_another_id_is_found(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 2);
    wd_fixture_sql(f, "UPDATE meta SET value = '0' WHERE name = 'chain_id'");
    assert_broken(f, &all, WD_AUDIT_ROW_CHANGED, 1);
}

static void claim_08_cut_tail_is_found_with_a_witness_head(void **state)
{
    wd_fixture *f = *state;
    wd_head heads[3];
    wd_fixture_fill(f, 5);
    heads[1] = wd_audit_head(f->store);
    wd_fixture_fill(f, 5);
    heads[0] = wd_audit_head(f->store);
    heads[2] = heads[1]; /* no order, and twice */
    wd_audit_range witnessed = {.witnessed = heads, .n_witnessed = 3};
    assert_verifies(f, &witnessed, 10);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq > 8");
    assert_verifies(f, &all, 8); /* nobody saw more: it can't be told */
    assert_broken(f, &witnessed, WD_AUDIT_TAIL_CUT, 9);
    wd_fixture_sql(f, "DELETE FROM audit");
    assert_broken(f, &witnessed, WD_AUDIT_TAIL_CUT, 1);
}

static void claim_08_chain_made_anew_is_found_with_a_witness_head(void **state)
{
    wd_fixture *f = *state;
    wd_fixture_fill(f, 10);
    wd_head head = wd_audit_head(f->store);
    wd_fixture_close(f);
    wd_fixture_sql(f, "DELETE FROM audit WHERE seq > 5");
    wd_fixture_open(f);
    wd_fixture_fill(f, 8);
    wd_audit_range witnessed = {.witnessed = &head, .n_witnessed = 1};
    assert_verifies(f, &all, 13);
    assert_broken(f, &witnessed, WD_AUDIT_FORKED, 10);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(chain_verifies_whole_and_in_part),
        TEST(claim_08_flipped_byte_is_found),
        TEST(claim_08_flipped_byte_in_the_file_is_found),
        TEST(claim_08_deleted_row_is_found),
        TEST(claim_08_deleted_first_row_is_found),
        TEST(claim_08_deleted_and_renumbered_rows_are_found),
        TEST(claim_08_two_swapped_rows_are_found),
        TEST(claim_08_inserted_row_is_found),
        TEST(claim_08_row_of_another_history_is_unlinked),
        TEST(claim_08_chain_under_another_id_is_found),
        TEST(claim_08_cut_tail_is_found_with_a_witness_head),
        TEST(claim_08_chain_made_anew_is_found_with_a_witness_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
