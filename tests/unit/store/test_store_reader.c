/* A reader: sees what was committed, and ends when its time is up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

static bool count(void *arg, const wd_audit_row *row)
{
    (void)arg;
    (void)row;
    return true;
}

static void read_that_takes_too_long_is_ended(void **state)
{
    wd_fixture *f = *state;
    uint64_t next = 0;
    wd_error err = {0};
    const wd_audit_sink sink = {count, NULL};
    const wd_audit_filter filter = {.principal = "local:7"}; /* no row ever comes */
    wd_fixture_fill(f, 1);
    wd_fixture_sql(
        f, "CREATE TABLE side.copy AS SELECT * FROM audit;"
           "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n"
           "                         WHERE i < 20000)"
           "INSERT INTO audit SELECT n.i, c.wall_ms, c.mono_ns, c.event,"
           "  c.outcome, c.code, c.reason, c.principal, c.token_id, c.peer_cert,"
           "  c.peer_addr, c.method, c.scope, c.trajectory_id, c.session_id,"
           "  c.episode_id, c.call_id, c.trace_id, c.duration_us, c.bytes_in,"
           "  c.bytes_out, c.digest, c.detail, c.tool, c.item, c.prev_hash,"
           "  c.hash, c.owner, c.family, c.pool FROM side.copy AS c, n;");
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_reader_set_deadline(reader, 1); /* long past */
    assert_int_equal(wd_audit_query(reader, &filter, &sink, &next, &err),
                     WD_DEADLINE_EXCEEDED);
    assert_int_equal(err.reason, WD_REASON_RUN_TIMEOUT);
    wd_reader_set_deadline(reader, INT64_MAX);
    assert_int_equal(wd_audit_query(reader, &filter, &sink, &next, &err), WD_OK);
    wd_reader_set_deadline(reader, 1);
    wd_reader_set_deadline(reader, 0);
    assert_int_equal(wd_audit_query(reader, &filter, &sink, &next, &err), WD_OK);
}

static void reader_sees_the_head_that_the_writer_committed(void **state)
{
    wd_fixture *f = *state;
    wd_head head = {0};
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    assert_int_equal(wd_audit_read_head(reader, &head, NULL), WD_OK);
    assert_int_equal(head.seq, 0);
    wd_fixture_fill(f, 3);
    wd_head durable = wd_audit_head(f->store);
    assert_int_equal(wd_audit_read_head(reader, &head, NULL), WD_OK);
    assert_memory_equal(&head, &durable, sizeof(head));
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(read_that_takes_too_long_is_ended),
        TEST(reader_sees_the_head_that_the_writer_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
