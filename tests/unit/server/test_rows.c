/* What a call looks like in the trail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/audit_rows.h"

static void a_refusal_has_the_event_of_its_kind(void **state)
{
    static const struct {
        wd_reason reason;
        const char *want;
    } cases[] = {
        {WD_REASON_TOKEN_MISSING, "auth"},
        {WD_REASON_TOKEN_REVOKED, "auth"},
        {WD_REASON_IDENTITY_DENIED, "auth"},
        {WD_REASON_SCOPE_MISSING, "authz.deny"},
        {WD_REASON_METHOD_UNKNOWN, "authz.deny"},
        {WD_REASON_QUEUE_FULL, "call.refused"},
        {WD_REASON_MALFORMED, "call.refused"},
        {WD_REASON_CLOCK_SKEW, "call.refused"},
        {WD_REASON_NOT_BUILT, "call.refused"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_error err;
        (void)wd_refuse(&err, cases[i].reason, "x");
        assert_string_equal(wd_rows_refusal_event(&err), cases[i].want);
    }
}

static void every_status_has_an_outcome(void **state)
{
    (void)state;
    assert_string_equal(wd_rows_outcome(WD_OK), "ok");
    assert_string_equal(wd_rows_outcome(WD_PERMISSION_DENIED), "refused");
    assert_string_equal(wd_rows_outcome(WD_RESOURCE_EXHAUSTED), "refused");
    assert_string_equal(wd_rows_outcome(WD_INTERNAL), "failed");
    assert_string_equal(wd_rows_outcome(WD_CANCELLED), "failed");
    assert_string_equal(wd_rows_outcome((wd_status)99), "failed");
}

static void detail_is_json_whatever_the_text(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain", "{\"k\":\"plain\"}"},
        {"", "{\"k\":\"\"}"},
        {"a \"b\" \\", "{\"k\":\"a \\\"b\\\" \\\\\"}"},
        {"a\nb\x01\x7F", "{\"k\":\"a\\u000ab\\u0001\\u007f\"}"},
        {"\xE2\x82\xAC", "{\"k\":\"\xE2\x82\xAC\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[128];
        wd_rows_detail(out, sizeof(out), "k", cases[i].text);
        assert_string_equal(out, cases[i].want);
    }
}

static void detail_that_is_too_long_is_cut_and_still_json(void **state)
{
    char text[200];
    char out[64];

    (void)state;
    for (size_t size = 30; size < sizeof(text); size++) {
        memset(text, size % 2 == 0 ? 'x' : '"', size);
        text[size] = '\0';
        wd_rows_detail(out, sizeof(out), "k", text);
        size_t length = strlen(out);
        assert_true(length < sizeof(out));
        assert_string_equal(out + length - 2, "\"}");
        if (size % 2 != 0) /* no escape was cut in two */
            assert_true((length - strlen("{\"k\":\"") - 2) % 2 == 0);
    }
}

static void detail_cut_inside_a_character_drops_it(void **state)
{
    char text[121];
    char out[64];

    (void)state;
    for (size_t i = 0; i < 40; i++)
        memcpy(text + 3 * i, "\xE2\x82\xAC", 3);
    text[120] = '\0';
    wd_rows_detail(out, sizeof(out), "k", text);
    assert_int_equal((strlen(out) - strlen("{\"k\":\"\"}")) % 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_has_the_event_of_its_kind),
        cmocka_unit_test(every_status_has_an_outcome),
        cmocka_unit_test(detail_is_json_whatever_the_text),
        cmocka_unit_test(detail_that_is_too_long_is_cut_and_still_json),
        cmocka_unit_test(detail_cut_inside_a_character_drops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
