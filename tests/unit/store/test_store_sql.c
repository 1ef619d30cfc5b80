/* A SELECT over the trail answers as SQLite does of a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit_fields.h"
#include "store/audit_table.h"
#include "tests/unit/store/sql_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- the same rows in a table of SQLite's own ------------------------------------------ */

static bool copy_row(void *arg, const wd_audit_row *row)
{
    sqlite3_stmt *insert = arg;
    for (size_t i = 0; i < WD_AUDIT_FIELDS; i++) {
        const wd_audit_field *field = &wd_audit_fields[i];
        char hex[WD_FIELD_HEX];
        const int at = (int)i + 1;
        if (field->kind == WD_FIELD_HASH) {
            wd_field_hex(row, field, hex);
            (void)sqlite3_bind_text(insert, at, hex, -1, SQLITE_TRANSIENT);
        } else if (field->kind != WD_FIELD_TEXT) {
            (void)sqlite3_bind_int64(insert, at, wd_field_number(row, field));
        } else if (wd_field_text(row, field)[0] != '\0') {
            (void)sqlite3_bind_text(insert, at, wd_field_text(row, field), -1,
                                    SQLITE_TRANSIENT);
        }
    }
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    (void)sqlite3_reset(insert);
    (void)sqlite3_clear_bindings(insert);
    return true;
}

static sqlite3 *table_of(wd_reader *reader)
{
    char sql[2048] = "CREATE TABLE audit(";
    char marks[2 * WD_AUDIT_FIELDS + 32] = "INSERT INTO audit VALUES(";
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    wd_error err;
    uint64_t next = 0;
    for (size_t i = 0; i < WD_AUDIT_FIELDS; i++) {
        const wd_field_kind kind = wd_audit_fields[i].kind;
        const bool text = kind == WD_FIELD_TEXT || kind == WD_FIELD_HASH;
        size_t used = strlen(sql);
        (void)snprintf(sql + used, sizeof(sql) - used, "%s%s %s", i > 0 ? "," : "",
                       wd_audit_fields[i].name, text ? "TEXT" : "INTEGER");
        (void)strlcat(marks, i > 0 ? ",?" : "?", sizeof(marks));
    }
    (void)strlcat(sql, ")", sizeof(sql));
    (void)strlcat(marks, ")", sizeof(marks));
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, marks, -1, &insert, NULL), SQLITE_OK);
    const wd_audit_filter all = {.limit = WD_AUDIT_QUERY_ROWS};
    const wd_audit_sink sink = {copy_row, insert};
    assert_int_equal(wd_audit_query(reader, &all, &sink, &next, &err), WD_OK);
    (void)sqlite3_finalize(insert);
    return db;
}

static wd_sql_value plain(sqlite3_stmt *stmt, int at)
{
    const size_t size = (size_t)sqlite3_column_bytes(stmt, at);
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER:
        return (wd_sql_value){.kind = WD_SQL_INTEGER,
                              .integer = sqlite3_column_int64(stmt, at)};
    case SQLITE_FLOAT:
        return (wd_sql_value){.kind = WD_SQL_REAL,
                              .real = sqlite3_column_double(stmt, at)};
    case SQLITE_TEXT:
        return (wd_sql_value){.kind = WD_SQL_TEXT,
                              .bytes = {sqlite3_column_text(stmt, at), size}};
    case SQLITE_BLOB:
        return (wd_sql_value){.kind = WD_SQL_BLOB, .bytes = {NULL, size}};
    default:
        return (wd_sql_value){.kind = WD_SQL_NULL};
    }
}

static void ask_table(sqlite3 *db, const char *sql, wd_buffer *out)
{
    sqlite3_stmt *stmt = NULL;
    const char *names[100];
    wd_buffer_clear(out);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    const int n = sqlite3_column_count(stmt);
    for (int i = 0; i < n; i++)
        names[i] = sqlite3_column_name(stmt, i);
    (void)wd_sql_columns(out, names, (size_t)n);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        wd_sql_value values[100];
        for (int i = 0; i < n; i++)
            values[i] = plain(stmt, i);
        (void)wd_sql_row(out, values, (size_t)n);
    }
    (void)sqlite3_finalize(stmt);
    assert_true(wd_buffer_append(out, "", 1));
}

/* --- answers --------------------------------------------------------------------------- */

static const char *const selects[] = {
    "SELECT * FROM audit",
    "SELECT count(*), min(seq), max(seq) FROM audit",
    "SELECT event, outcome, count(*) FROM audit GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT seq FROM audit WHERE seq > 23 AND seq <= 27",
    "SELECT seq FROM audit WHERE seq >= 23 AND seq < 27 ORDER BY seq DESC",
    "SELECT seq FROM audit WHERE seq BETWEEN 49 AND 52",
    "SELECT seq FROM audit ORDER BY seq DESC LIMIT 3",
    "SELECT seq FROM audit ORDER BY seq DESC LIMIT 3 OFFSET 40",
    "SELECT seq FROM audit ORDER BY wall_ms DESC, seq LIMIT 3",
    "SELECT seq FROM audit WHERE seq = 25 OR seq = 26",
    "SELECT seq FROM audit WHERE seq IN (1, 25, 26, 60, 61, 99999) ORDER BY seq DESC",
    "SELECT seq FROM audit WHERE seq NOT IN (1, 2) AND seq < 5",
    "SELECT seq FROM audit WHERE seq = -1 OR seq = 0",
    "SELECT seq FROM audit WHERE seq < 1",
    "SELECT seq FROM audit WHERE seq > -9223372036854775808 AND seq < 3",
    "SELECT seq FROM audit WHERE seq > 9223372036854775807",
    "SELECT seq FROM audit WHERE seq < -9223372036854775808",
    "SELECT seq FROM audit WHERE seq >= 58.5",
    "SELECT seq FROM audit WHERE seq = '7'",
    "SELECT seq FROM audit WHERE seq = 'x'",
    "SELECT seq FROM audit WHERE seq = x'37'",
    "SELECT seq FROM audit WHERE seq > 5 AND seq > 9 AND seq < 12 AND seq < 90",
    "SELECT seq FROM audit WHERE seq > 9 AND seq < 9",
    "SELECT seq FROM audit WHERE seq IS NULL OR seq = NULL",
    "SELECT seq FROM audit WHERE rowid = 7 AND seq = 7",
    "SELECT count(*) FROM audit WHERE wall_ms < 0",
    "SELECT count(*) FROM audit WHERE wall_ms > 5000 AND wall_ms <= 9000",
    "SELECT count(*) FROM audit WHERE wall_ms >= 5000 AND wall_ms < 9000",
    "SELECT count(*) FROM audit WHERE wall_ms = 5000",
    "SELECT count(*) FROM audit WHERE wall_ms < 9e15",
    "SELECT count(*) FROM audit WHERE wall_ms <= 9223372036854775807",
    ("SELECT count(*) FROM audit WHERE wall_ms >= (SELECT wall_ms FROM audit"
     " WHERE seq = 30)"),
    "SELECT count(*) FROM audit WHERE principal = 'spiffe://x/a'",
    "SELECT count(*) FROM audit WHERE principal = 'SPIFFE://X/A'",
    "SELECT count(*) FROM audit WHERE principal = 'SPIFFE://X/A' COLLATE NOCASE",
    "SELECT count(*) FROM audit WHERE principal = 'spiffe://x/a' AND seq < 30",
    ("SELECT count(*) FROM audit WHERE principal = 'spiffe://x/a' AND principal ="
     " 'spiffe://x/b'"),
    "SELECT count(*) FROM audit WHERE principal <> 'spiffe://x/a'",
    "SELECT count(*) FROM audit WHERE owner = 'ann' AND outcome = 'ok'",
    "SELECT count(*) FROM audit WHERE owner IN ('ann', 'eve')",
    "SELECT count(*) FROM audit WHERE owner = 5 OR owner = NULL",
    "SELECT count(*) FROM audit WHERE event = 'call.*'",
    "SELECT count(*) FROM audit WHERE event GLOB 'call.*'",
    "SELECT count(*) FROM audit WHERE event = ''",
    "SELECT count(*) FROM audit WHERE outcome IS NULL",
    "SELECT count(*) FROM audit WHERE outcome = 'maybe'",
    "SELECT count(*) FROM audit WHERE token_id = 'none'",
    "SELECT count(*) FROM audit WHERE code = 3 AND code < 4",
    "SELECT seq, tool FROM audit WHERE tool = 'it''s; \"odd\"\n\x1b[2J'",
    "SELECT seq FROM audit WHERE tool LIKE 'IT%'",
    ("SELECT count(*) FROM audit a JOIN audit b ON b.seq = a.seq + 1"
     " WHERE a.hash = b.prev_hash"),
    ("SELECT a.seq FROM audit a LEFT JOIN audit b ON b.seq = a.seq + 1 WHERE b.seq IS "
     "NULL"),
    ("SELECT seq FROM audit WHERE seq = (SELECT max(seq) FROM audit WHERE owner = "
     "'ann')"),
    ("SELECT seq FROM audit a WHERE EXISTS (SELECT 1 FROM audit b"
     " WHERE b.seq = a.seq * 2 AND b.owner = 'ann')"),
    "WITH t AS (SELECT code, count(*) AS n FROM audit GROUP BY 1) SELECT max(n) FROM t",
    "SELECT x.n FROM (SELECT count(*) AS n FROM audit) AS x",
    "SELECT seq, lag(seq) OVER (ORDER BY seq) FROM audit WHERE seq < 4",
    "SELECT json_extract(detail, '$.n'), detail ->> '$.n' FROM audit WHERE seq = 1",
    "SELECT j.key, j.value FROM audit, json_each(audit.detail) AS j WHERE seq = 2",
    "SELECT seq FROM audit WHERE seq < 3 UNION SELECT code FROM audit ORDER BY 1",
    "SELECT 1 AS one, 2.5 AS two, NULL AS three, 'x' AS four, x'00ff' AS five",
    "VALUES (1, 2), (3, 4)",
    " /* first */ SELECT 1 ; -- and no more",
};

static void claim_05_a_select_answers_as_of_a_table(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_BUFFER got = WD_BUFFER_INIT;
    WD_AUTO_BUFFER want = WD_BUFFER_INIT;
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    sqlite3 *table = table_of(reader);
    for (size_t i = 0; i < COUNT(selects); i++) {
        const wd_audit_ask what = {selects[i], WD_AUDIT_SQL_ROWS, 60000};
        wd_error err = {0};
        bool more = true;
        print_message("  %s\n", selects[i]);
        if (wd_sql_ask(reader, &what, &got, &more, &err) != WD_OK)
            fail_msg("%s", err.msg);
        assert_false(more);
        ask_table(table, selects[i], &want);
        assert_string_equal((char *)got.data, (char *)want.data);
    }
    (void)sqlite3_close(table);
}

/* What WHERE says is told to the query: a part of the trail costs a part of it. */
static void a_part_of_the_trail_is_read_in_part(void **state)
{
    static const struct {
        const char *where;
        uint64_t rows;
    } cases[] = {{"seq = 30", 1},
                 {"seq > 55", 5},
                 {"owner = 'ann'", 6},
                 {"seq BETWEEN 20 AND 29 AND owner = 'ann'", 1},
                 {"seq > 9 AND seq < 5", 0},
                 {"code >= 0", WD_SQL_ROWS},
                 {"wall_ms > 50000", 10}};
    wd_fixture *f = *state;
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char sql[128];
        sqlite3 *db = NULL;
        wd_error err;
        wd_audit_table table = {.reader = reader};
        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM audit WHERE %s",
                       cases[i].where);
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(wd_audit_table_add(db, &table, &err), WD_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        print_message("  %s\n", cases[i].where);
        assert_int_equal(table.rows, cases[i].rows);
        (void)sqlite3_close(db);
    }
}

/* --- pages ------------------------------------------------------------------------------ */

/* A query answers 1,000 rows at a time. */
static void a_select_reads_page_after_page(void **state)
{
    static const struct {
        const char *sql, *answer;
    } cases[] = {
        {"SELECT count(*), min(seq), max(seq), sum(seq) FROM audit",
         "2100|1|2100|2206050|\n"},
        {"SELECT seq FROM audit WHERE seq >= 999 LIMIT 3", "999|\n1000|\n1001|\n"},
        {"SELECT seq FROM audit LIMIT 2 OFFSET 1999", "2000|\n2001|\n"},
        {"SELECT seq FROM audit ORDER BY seq DESC LIMIT 2 OFFSET 999",
         "1101|\n1100|\n"},
        {"SELECT count(*) FROM audit WHERE seq <= 1000", "1000|\n"},
        {"SELECT count(*) FROM audit WHERE seq > 1000 AND seq < 2002", "1001|\n"},
    };
    wd_fixture own;
    wd_fixture *f = &own;
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    (void)state;
    wd_fixture_init(f);
    wd_fixture_open(f);
    wd_sql_append(f, 1, 1050);
    wd_segments_seal(f);
    wd_sql_append(f, 1051, 2100);
    wd_reader *reader = wd_segments_reader(f);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const wd_audit_ask what = {cases[i].sql, 10, 60000};
        wd_error err = {0};
        bool more = false;
        print_message("  %s\n", cases[i].sql);
        assert_int_equal(wd_sql_ask(reader, &what, &out, &more, &err), WD_OK);
        assert_string_equal(strchr((char *)out.data, '\n') + 1, cases[i].answer);
    }
    wd_reader_close(reader);
    wd_fixture_close(f);
    wd_fixture_done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_05_a_select_answers_as_of_a_table),
        cmocka_unit_test(a_part_of_the_trail_is_read_in_part),
        cmocka_unit_test(a_select_reads_page_after_page),
    };
    return cmocka_run_group_tests(tests, wd_sql_fill, wd_fixture_tear_down);
}
