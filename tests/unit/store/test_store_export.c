/* Rows as lines for others: whole, quoted, and with what the chain needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/unit/store/export_fixture.h"

static const wd_audit_row sample = {
    .seq = 7,
    .chain_id = "chain",
    .wall_ms = 1800000000123,
    .mono_ns = 5,
    .event = "auth",
    .outcome = "refused",
    .code = 16,
    .reason = "TOKEN_REVOKED",
    .principal = "spiffe://x/y",
    .token_id = "0123456789",
    .peer_addr = "127.0.0.1:40112",
    .detail = "{\"message\":\"a \\\"b\\\"\"}",
    .tool = "=cmd|' /C calc'!A0",
    .hash = {0xab},
};

static const char *member(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void claim_07_a_json_line_has_each_column_that_says_something(void **state)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    (void)state;
    json_t *row = json_loads(wd_export_line(WD_EXPORT_JSONL, &sample, &out), 0, NULL);
    assert_non_null(row);
    assert_int_equal(json_integer_value(json_object_get(row, "seq")), 7);
    assert_int_equal(json_integer_value(json_object_get(row, "wall_ms")),
                     1800000000123);
    assert_string_equal(member(row, "event"), "auth");
    assert_string_equal(member(row, "detail"), sample.detail);
    assert_int_equal(strlen(member(row, "hash")), 64);
    assert_memory_equal(member(row, "hash"), "ab00", 4);
    assert_null(json_object_get(row, "owner"));
    assert_null(json_object_get(row, "duration_us"));
    json_decref(row);
}

static void claim_07_a_csv_line_is_quoted_and_no_formula(void **state)
{
    WD_AUTO_BUFFER header = WD_BUFFER_INIT;
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    (void)state;
    assert_true(wd_export_header(WD_EXPORT_CSV, &header));
    assert_memory_equal(header.data, "seq,chain_id,wall_ms,", 21);
    const char *line = wd_export_line(WD_EXPORT_CSV, &sample, &out);
    assert_memory_equal(line, "\"7\",\"chain\",\"1800000000123\",", 28);
    assert_non_null(strstr(line, ",\"{\"\"message\"\":\"\"a \\\"\"b\\\"\"\"\"}\","));
    assert_non_null(strstr(line, ",\"'=cmd|' /C calc'!A0\","));
    assert_string_equal(line + strlen(line) - 2, "\r\n");
    size_t commas = 0;
    for (size_t i = 0; i < header.size; i++)
        commas += header.data[i] == ',';
    assert_int_equal(commas, 30); /* 31 columns */
}

/* OWASP, "CSV Injection"; and a terminal that shows the file. */
static void claim_07_no_cell_of_csv_is_a_formula_or_moves_a_terminal(void **state)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"=1+1", "\"'=1+1\""},
        {"+1", "\"'+1\""},
        {"-1", "\"'-1\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\t=1", "\"'\\t=1\""},
        {"\r=1", "\"'\\x0d=1\""},
        {"\n=1", "\"'\\n=1\""},
        {"\xEF\xBC\x9D"
         "1",
         "\"'\xEF\xBC\x9D"
         "1\""},
        {"\xEF\xBC\x8B"
         "1",
         "\"'\xEF\xBC\x8B"
         "1\""},
        {"\xEF\xBC\x8D"
         "1",
         "\"'\xEF\xBC\x8D"
         "1\""},
        {"\xEF\xBC\xA0"
         "1",
         "\"'\xEF\xBC\xA0"
         "1\""},
        {"a=1", "\"a=1\""},
        {"a\",=1", "\"a\"\",=1\""},
        {"a\x1b[2J", "\"a\\x1b[2J\""},
        {"a\x7f", "\"a\\x7f\""},
        {"a\xc2\x9b"
         "b",
         "\"a\\u009bb\""},
        {"a\xe2\x80\xae"
         "b",
         "\"a\\u202eb\""},
        {"a\r\nb", "\"a\\x0d\\nb\""},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
    };
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char cell[64];
        const wd_audit_row row = {.seq = 1, .mono_ns = -1, .tool = cases[i].text};
        const char *line = wd_export_line(WD_EXPORT_CSV, &row, &out);
        (void)snprintf(cell, sizeof(cell), ",%s,\"0\",\"\",", cases[i].cell);
        print_message("%s", line);
        assert_non_null(strstr(line, cell));
        assert_non_null(strstr(line, ",\"-1\",")); /* a number stays one */
    }
}

static const struct {
    const char *event;
    const char *outcome;
    int class_uid;
    int type_uid;
    int status_id;
    const char *has; /* a member of its class alone */
} events[] = {
    {"auth", "refused", 3002, 300201, 2, "user"},
    {"authz.deny", "refused", 6003, 600399, 2, "api"},
    {"tls.reject", "refused", 3002, 300201, 2, "user"},
    {"token.issue", "ok", 3004, 300401, 1, "entity"},
    {"token.revoke", "ok", 3004, 300404, 1, "entity"},
    {"token.rotate", "ok", 3004, 300403, 1, "entity"},
    {"call.begin", NULL, 6003, 600399, 1, "api"},
    {"audit.query", "ok", 6003, 600302, 1, "api"},
    {"audit.prune", "ok", 6003, 600304, 1, "api"},
    {"something.new", "failed", 6003, 600399, 2, "api"},
};

static void claim_07_each_event_has_its_class_of_ocsf(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        wd_audit_row row = sample;
        row.event = events[i].event;
        row.outcome = events[i].outcome;
        print_message("  %s\n", row.event);
        json_t *event = json_loads(wd_export_line(WD_EXPORT_OCSF, &row, &out), 0, NULL);
        assert_non_null(event);
        static const char *const keys[] = {"class_uid", "type_uid", "status_id"};
        const int wants[] = {events[i].class_uid, events[i].type_uid,
                             events[i].status_id};
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(json_integer_value(json_object_get(event, keys[k])),
                             wants[k]);
        assert_int_equal(json_integer_value(json_object_get(event, "category_uid")),
                         events[i].class_uid / 1000);
        assert_non_null(json_object_get(event, events[i].has));
        assert_string_equal(member(json_object_get(event, "src_endpoint"), "ip"),
                            "127.0.0.1");
        assert_string_equal(member(json_object_get(event, "metadata"), "version"),
                            "1.3.0");
        json_t *all = json_object_get(event, "unmapped");
        assert_string_equal(member(all, "event"), row.event);
        assert_int_equal(strlen(member(all, "prev_hash")), 64);
        json_decref(event);
    }
}

static void a_row_that_says_little_is_a_line_too(void **state)
{
    static const wd_audit_row little = {.seq = 1, .event = "gate.start"};
    (void)state;
    for (int format = WD_EXPORT_JSONL; format <= WD_EXPORT_CEF; format++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        (void)wd_export_line((wd_export_format)format, &little, &out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_07_a_json_line_has_each_column_that_says_something),
        cmocka_unit_test(claim_07_a_csv_line_is_quoted_and_no_formula),
        cmocka_unit_test(claim_07_no_cell_of_csv_is_a_formula_or_moves_a_terminal),
        cmocka_unit_test(claim_07_each_event_has_its_class_of_ocsf),
        cmocka_unit_test(a_row_that_says_little_is_a_line_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
