#include <string.h>

#include "check.h"
#include "proto/tls/spiffe.h"

#define LONG64 "a123456789012345678901234567890123456789012345678901234567890123"
#define LONG63 "a12345678901234567890123456789012345678901234567890123456789012"

static void good_names_are_taken_apart(void **state)
{
    wd_spiffe id;
    wd_error err;
    const char *gate = "spiffe://a.example/ns/n-1/owner/o_2/pool/p.3/gate/g4";
    const char *client = "spiffe://a/ns/n/owner/o/client/" LONG63;

    (void)state;
    OK(wd_spiffe_parse(gate, strlen(gate), &id, &err), err);
    assert_int_equal(id.kind, WD_SPIFFE_GATE);
    assert_string_equal(id.domain, "a.example");
    assert_string_equal(id.ns, "n-1");
    assert_string_equal(id.owner, "o_2");
    assert_string_equal(id.pool, "p.3");
    assert_string_equal(id.name, "g4");
    OK(wd_spiffe_parse(client, strlen(client), &id, &err), err);
    assert_int_equal(id.kind, WD_SPIFFE_CLIENT);
    assert_string_equal(id.pool, "");
    assert_string_equal(id.name, LONG63);
}

static void other_names_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "spiffe://",
        "http://a/ns/n/owner/o/client/c",
        "SPIFFE://a/ns/n/owner/o/client/c",
        "spiffe:///ns/n/owner/o/client/c",
        "spiffe://A/ns/n/owner/o/client/c",
        "spiffe://a:80/ns/n/owner/o/client/c",
        "spiffe://u@a/ns/n/owner/o/client/c",
        "spiffe://a/n/n/owner/o/client/c",
        "spiffe://a/ns//owner/o/client/c",
        "spiffe://a/ns/n/owner/o",
        "spiffe://a/ns/n/owner/o/",
        "spiffe://a/ns/n/owner/o/client/",
        "spiffe://a/ns/n/owner/o/client/C",
        "spiffe://a/ns/n/owner/o/client/c/",
        "spiffe://a/ns/n/owner/o/client/c/d",
        "spiffe://a/ns/n/owner/o/client/c?x",
        "spiffe://a/ns/n/owner/o/client/c#x",
        "spiffe://a/ns/n/owner/o/client/%63",
        "spiffe://a/ns/n/owner/o/client/.c",
        "spiffe://a/ns/n/owner/o/client/c d",
        "spiffe://a/ns/n/owner/o/client/c\n",
        "spiffe://a/ns/n/owner/o/pool/p/client/c",
        "spiffe://a/ns/n/owner/o/pool/gate/g",
        "spiffe://a/ns/n/owner/o/pool//gate/g",
        "spiffe://a/ns/n/owner/o/host/h",
    };
    wd_spiffe id;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (wd_spiffe_parse(bad[i], strlen(bad[i]), &id, NULL) != WD_INVALID_ARGUMENT)
            fail_msg("accepted: %s", bad[i]);
}

static void a_segment_has_63_bytes_at_most(void **state)
{
    static const char text[] = "spiffe://a/ns/n/owner/o/client/" LONG64;
    wd_spiffe id;
    wd_error err;

    (void)state;
    OK(wd_spiffe_parse(text, sizeof text - 2, &id, &err), err);
    REFUSED(wd_spiffe_parse(text, sizeof text - 1, &id, &err), WD_INVALID_ARGUMENT);
    assert_non_null(strstr(err.msg, "client"));
}

static void a_nul_inside_is_refused(void **state)
{
    static const char text[] = "spiffe://a/ns/n/owner/o/client/c\0d";
    wd_spiffe id;

    (void)state;
    REFUSED(wd_spiffe_parse(text, sizeof text - 1, &id, NULL), WD_INVALID_ARGUMENT);
}

static void every_prefix_is_refused(void **state)
{
    static const char text[] = "spiffe://a/ns/n/owner/o/gate/g";
    wd_spiffe id;

    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++)
        REFUSED(wd_spiffe_parse(text, n, &id, NULL), WD_INVALID_ARGUMENT);
}

static void segments_are_lower_case(void **state)
{
    (void)state;
    assert_true(wd_spiffe_segment_ok("a"));
    assert_true(wd_spiffe_segment_ok("0.b_c-d"));
    assert_false(wd_spiffe_segment_ok(""));
    assert_false(wd_spiffe_segment_ok("-a"));
    assert_false(wd_spiffe_segment_ok("a/b"));
    assert_false(wd_spiffe_segment_ok("Ann"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_names_are_taken_apart),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(a_segment_has_63_bytes_at_most),
        cmocka_unit_test(a_nul_inside_is_refused),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(segments_are_lower_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
