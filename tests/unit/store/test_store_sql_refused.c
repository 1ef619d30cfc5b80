/* A SELECT over the trail does nothing else, and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/sql_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- bounds ----------------------------------------------------------------------------- */

static void claim_05_rows_of_a_select_are_bounded(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    for (uint32_t rows = WD_SQL_ROWS - 1; rows <= WD_SQL_ROWS + 1; rows++) {
        const wd_audit_ask what = {"SELECT seq FROM audit", rows, 60000};
        wd_error err;
        bool more = false;
        assert_int_equal(wd_sql_ask(reader, &what, &out, &more, &err), WD_OK);
        assert_int_equal(more, rows < WD_SQL_ROWS);
        size_t lines = 0;
        for (size_t i = 0; i < out.size; i++)
            lines += out.data[i] == '\n';
        assert_int_equal(lines, 1 + (rows < WD_SQL_ROWS ? rows : WD_SQL_ROWS));
    }
}

static void claim_05_a_statement_is_bounded_to_the_byte(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    static char sql[WD_AUDIT_SQL_BYTES + 2];
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    for (size_t size = WD_AUDIT_SQL_BYTES - 1; size <= WD_AUDIT_SQL_BYTES + 1; size++) {
        const wd_audit_ask what = {sql, 10, 60000};
        wd_error err = {0};
        bool more = false;
        memset(sql, 'x', size);
        sql[size] = '\0';
        memcpy(sql, "SELECT 1 --", 11);
        assert_int_equal(wd_sql_ask(reader, &what, &out, &more, &err),
                         size > WD_AUDIT_SQL_BYTES ? WD_INVALID_ARGUMENT : WD_OK);
    }
}

typedef struct refusal {
    const char *sql;
    wd_status status;
    const char *says;
} refusal;

static void expect_refusals(wd_fixture *f, const refusal *cases, size_t n)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    for (size_t i = 0; i < n; i++) {
        const bool late = cases[i].status == WD_DEADLINE_EXCEEDED;
        const wd_audit_ask what = {cases[i].sql, 10, late ? 50 : 60000};
        wd_error err = {0};
        bool more = false;
        print_message("  %s\n", cases[i].sql);
        wd_status status = wd_sql_ask(reader, &what, &out, &more, &err);
        if (status != cases[i].status || strstr(err.msg, cases[i].says) == NULL)
            fail_msg("%d, not %d: %s", (int)status, (int)cases[i].status, err.msg);
    }
    const wd_audit_ask what = {"SELECT count(*) FROM audit", 10, 60000};
    wd_error err;
    bool more = false;
    assert_int_equal(wd_sql_ask(reader, &what, &out, &more, &err),
                     WD_OK); /* as before */
    assert_string_equal((char *)out.data, "count(*)|\n60|\n");
}

static void claim_05_a_select_that_takes_too_much_is_refused(void **state)
{
    static const refusal cases[] = {
        {"SELECT count(*) FROM audit a, audit b, audit c, audit d, audit e"
         " WHERE a.code > b.code",
         WD_DEADLINE_EXCEEDED, "not done in the time given"},
        {"SELECT count(*) FROM audit a, audit b, audit c, audit d WHERE"
         " a.detail || b.detail LIKE '%a%b%c%d%e%'",
         WD_DEADLINE_EXCEEDED, "not done in the time given"},
        {"SELECT group_concat(a.hash || b.hash || c.hash) FROM audit a, audit b, audit "
         "c",
         WD_RESOURCE_EXHAUSTED, "more than 1 MiB"},
        {"SELECT replace(hex(printf('%500000d', 1)), '2', 'yyyyyyyyyyyyyyyyyyyyy')",
         WD_RESOURCE_EXHAUSTED, "more than 1 MiB"},
        {"SELECT DISTINCT printf('%500000d', a.seq * 100 + b.seq) FROM audit a, audit b"
         " ORDER BY 1",
         WD_RESOURCE_EXHAUSTED, "more than 256 MiB of memory"},
    };
    expect_refusals(*state, cases, COUNT(cases));
}

/* --- refusals ----------------------------------------------------------------------------- */

static void claim_05_what_is_no_select_is_refused(void **state)
{
    static const char *const statements[] = {
        "DELETE FROM audit",
        "INSERT INTO audit (seq) VALUES (1)",
        "UPDATE audit SET code = 0",
        "REPLACE INTO audit (seq) VALUES (1)",
        "DROP TABLE audit",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t AS SELECT * FROM audit",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE t USING audit",
        "CREATE VIRTUAL TABLE t USING fts5(x)",
        "CREATE INDEX i ON audit (seq)",
        "ALTER TABLE audit RENAME TO b",
        "ATTACH 'store.db' AS s",
        "ATTACH '/etc/passwd' AS s",
        "DETACH main",
        "PRAGMA query_only = 0",
        "PRAGMA database_list",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "BEGIN IMMEDIATE",
        "SAVEPOINT s",
        "COMMIT",
        "ROLLBACK",
        "VACUUM",
        "VACUUM INTO '/tmp/copy.db'",
        "ANALYZE",
        "REINDEX",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN SELECT 1",
        "EXPLAIN DELETE FROM audit",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_compile_options",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT randomblob(1)",
        "SELECT random()",
        "SELECT zeroblob(1)",
        "SELECT char(65)",
        "SELECT sqlite_version()",
        "SELECT sqlite_compileoption_get(1)",
        "SELECT last_insert_rowid()",
        "SELECT changes()",
        "SELECT seq FROM audit WHERE seq = (SELECT load_extension('x'))",
        "SELECT seq FROM audit ORDER BY random()",
        ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
         " SELECT count(*) FROM c"),
        "WITH x AS (SELECT 1) DELETE FROM audit",
        "SELECT 1; DELETE FROM audit",
        "SELECT 1; PRAGMA query_only = 0",
    };
    refusal cases[COUNT(statements)];
    for (size_t i = 0; i < COUNT(statements); i++)
        cases[i] = (refusal){statements[i], WD_PERMISSION_DENIED, "may only SELECT"};
    expect_refusals(*state, cases, COUNT(statements));
}

#define TEN(x) x x x x x x x x x x
#define NESTED TEN(TEN("abs("))
#define CLOSED TEN(TEN(")"))

static void claim_05_a_select_that_is_wrong_is_told_why(void **state)
{
    static const refusal cases[] = {
        {"", WD_INVALID_ARGUMENT, "no statement"},
        {" ;", WD_INVALID_ARGUMENT, "no statement"},
        {"-- nothing", WD_INVALID_ARGUMENT, "no statement"},
        {"SELEC 1", WD_INVALID_ARGUMENT, "syntax error"},
        {"SELECT", WD_INVALID_ARGUMENT, "incomplete input"},
        {"SELECT frob FROM audit", WD_INVALID_ARGUMENT, "no such column"},
        {"SELECT frob()", WD_INVALID_ARGUMENT, "no such function"},
        {"SELECT readfile('/etc/passwd')", WD_INVALID_ARGUMENT, "no such function"},
        {"SELECT * FROM tokens", WD_INVALID_ARGUMENT, "no such table"},
        {"SELECT * FROM main.tokens", WD_INVALID_ARGUMENT, "no such table"},
        {"CREATE TRIGGER t AFTER INSERT ON audit BEGIN SELECT 1; END",
         WD_INVALID_ARGUMENT, "cannot create triggers"},
        {"SELECT 1; SELECT 2", WD_INVALID_ARGUMENT, "one SELECT"},
        {"SELECT ?", WD_INVALID_ARGUMENT, "parameters"},
        {"SELECT :name", WD_INVALID_ARGUMENT, "parameters"},
        {"SELECT seq, code AS seq FROM audit", WD_INVALID_ARGUMENT,
         "two columns are called \"seq\""},
        {"SELECT * FROM audit a, audit b", WD_INVALID_ARGUMENT, "two columns"},
        {"SELECT * FROM audit a, audit b, audit c, audit d", WD_INVALID_ARGUMENT,
         "too many columns"},
        {"SELECT json_extract('{', '$.a')", WD_INVALID_ARGUMENT, "malformed JSON"},
        {"SELECT sum(seq + 9223372036854775000) FROM audit", WD_INVALID_ARGUMENT,
         "overflow"},
        {"SELECT " NESTED "1" CLOSED, WD_INVALID_ARGUMENT, "depth"},
        {"SELECT 'wdt1_0000000000000000000000000000000000000000000000000000000000x",
         WD_INVALID_ARGUMENT, "unrecognized token"},
    };
    expect_refusals(*state, cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_05_rows_of_a_select_are_bounded),
        cmocka_unit_test(claim_05_a_statement_is_bounded_to_the_byte),
        cmocka_unit_test(claim_05_a_select_that_takes_too_much_is_refused),
        cmocka_unit_test(claim_05_what_is_no_select_is_refused),
        cmocka_unit_test(claim_05_a_select_that_is_wrong_is_told_why),
    };
    return cmocka_run_group_tests(tests, wd_sql_fill, wd_fixture_tear_down);
}
