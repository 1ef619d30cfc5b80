/* Log lines: what strangers send never makes a line of its own. */
#include "server/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *line(wd_log_format format, const char *value, char *out, size_t size)
{
    const wd_log_field fields[] = {WD_KV("peer", value), WD_KN("n", -5)};
    const wd_log_line what = {format, WD_LOG_WARN, "conn.refused",
                              fields, 2,           INT64_C(1767225600123)};
    size_t length = wd_log_format_line(&what, out, size);
    assert_int_equal(length, strlen(out));
    return out;
}

static void a_line_is_logfmt(void **state)
{
    (void)state;
    char out[WD_LOG_LINE_BYTES];
    assert_string_equal(line(WD_LOG_TEXT, "10.0.0.1:99", out, sizeof(out)),
                        "ts=2026-01-01T00:00:00.123Z level=warn event=conn.refused "
                        "peer=10.0.0.1:99 n=-5\n");
    assert_string_equal(line(WD_LOG_JOURNAL, "a", out, sizeof(out)),
                        "<4>level=warn event=conn.refused peer=a n=-5\n");
    assert_string_equal(line(WD_LOG_JSON, "a", out, sizeof(out)),
                        "{\"ts\":\"2026-01-01T00:00:00.123Z\",\"level\":\"warn\","
                        "\"event\":\"conn.refused\",\"peer\":\"a\",\"n\":-5}\n");
    assert_non_null(strstr(line(WD_LOG_TEXT, NULL, out, sizeof(out)), " peer=- "));
}

static void what_strangers_send_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *text;
        const char *json;
    } cases[] = {
        {"", "peer=\"\"", "\"peer\":\"\""},
        {"a b", "peer=\"a b\"", "\"peer\":\"a b\""},
        {"a\nlevel=fatal", "peer=\"a\\nlevel=fatal\"", "\"a\\nlevel=fatal\""},
        {"\"", "peer=\"\\\"\"", "\"\\\"\""},
        {"\\", "peer=\"\\\\\"", "\"\\\\\""},
        {"\x1b[2J", "peer=\"\\x1b[2J\"", "\"\\u001b[2J\""},
        {"\xc3\xa9", "peer=\"\\xc3\\xa9\"", "\"\\u00c3\\u00a9\""},
        {"k=v", "peer=\"k=v\"", "\"k=v\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[WD_LOG_LINE_BYTES];
        line(WD_LOG_TEXT, cases[i].value, out, sizeof(out));
        assert_non_null(strstr(out, cases[i].text));
        assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
        line(WD_LOG_JSON, cases[i].value, out, sizeof(out));
        assert_non_null(strstr(out, cases[i].json));
        assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
    }
}

static void a_long_line_is_cut_and_still_ends(void **state)
{
    (void)state;
    char value[6000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    char out[WD_LOG_LINE_BYTES];
    for (int format = WD_LOG_TEXT; format <= WD_LOG_JOURNAL; format++) {
        line((wd_log_format)format, value, out, sizeof(out));
        assert_int_equal(strlen(out), sizeof(out) - 1);
        assert_int_equal(out[sizeof(out) - 2], '\n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_logfmt),
        cmocka_unit_test(what_strangers_send_is_escaped),
        cmocka_unit_test(a_long_line_is_cut_and_still_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
