#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "clients/c/policy.h"

#define GATE  "spiffe://d/ns/n/owner/o/gate/g"
#define IMAGE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CAPITALS                                                                       \
    "sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"
#define X62 "x1234567890123456789012345678901234567890123456789012345678901"

static const struct {
    const char *glob, *uri;
    bool matches;
} globs[] = {
    {GATE, GATE, true},
    {"spiffe://d/ns/*/owner/o/gate/*", GATE, true},
    {"spiffe://**/gate/g", GATE, true},
    {"**", GATE, true},
    {"***", GATE, true},
    {"*", "abc", true},
    {"a*c*e", "abcde", true},
    {"", "", true},
    {"*", GATE, false},
    {"spiffe://*/gate/g", GATE, false},
    {"spiffe://d/ns/n/owner/o/gate/", GATE, false},
    {GATE "x", GATE, false},
    {"a*c*e", "abcdx", false},
    {"", "a", false},
    {"a", "", false},
};

static void globs_match_within_a_segment_or_across(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++) {
        print_message("%s %s\n", globs[i].glob, globs[i].uri);
        assert_int_equal(wd_uri_glob(globs[i].glob, globs[i].uri), globs[i].matches);
    }
}

static const struct {
    const char *glob;
    bool ok;
} gate_globs[] = {
    {GATE, true},
    {"**", true},
    {"spiffe://d/ns/*/owner/*/gate/*", true},
    {"spiffe://d/ns/*/owner/*/pool/p/gate/*", true},
    {"spiffe://*/ns/*/owner/*/*/*", true},
    {"spiffe://*/ns/*/owner/*/*/*/*/*", true},
    {"spiffe://**/gate/" X62 "y", true}, /* 63 */
    {"*://**e/g", true},
    {"spiffe://d**", true},
    {"", false},
    {"*", false},
    {"box*", false},
    {"spiffe://D/**", false},
    {"spiffe://d/*", false},
    {"spiffe://d/ns/*/owner/*/client/*", false},
    {"spiffe://d/ns/*/owner/*/gate/*/", false},
    {"spiffe://d/ns/*/owner/*/gate/.*", false},
    {"spiffe://**/gate/" X62 "yz", false}, /* 64 */
    {"spiffe://**/gate/a b*", false},
    {"https://**", false},
    {"spiffe://d/ns/*/owner/*/*/*/*", false},
};

static void a_glob_that_matches_no_gate_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(gate_globs) / sizeof(gate_globs[0]); i++) {
        print_message("%s\n", gate_globs[i].glob);
        assert_int_equal(wd_gate_glob_ok(gate_globs[i].glob), gate_globs[i].ok);
    }
}

static void many_stars_take_no_more_time_than_few(void **state)
{
    (void)state;
    char glob[1002];
    char uri[1025];
    for (size_t i = 0; i < 1000; i++)
        glob[i] = "*a"[i % 2];
    glob[1000] = 'b';
    glob[1001] = '\0';
    memset(uri, 'a', sizeof(uri) - 1);
    uri[sizeof(uri) - 1] = '\0';
    assert_false(wd_uri_glob(glob, uri)); /* backtracking would not end */
}

static const struct {
    const char *text;
    wd_adopt adopt;
    size_t n;
} good[] = {
    {NULL, WD_ADOPT_OWN, 0},
    {"", WD_ADOPT_OWN, 0},
    {"# nothing\n\r\n", WD_ADOPT_OWN, 0},
    {"adopt own", WD_ADOPT_OWN, 0},
    {"adopt namespace # ours\n", WD_ADOPT_NAMESPACE, 0},
    {"adopt never", WD_ADOPT_NEVER, 0},
    {"gate " GATE "\n", WD_ADOPT_NEVER, 1},
    {"gate **\nadopt own\n", WD_ADOPT_OWN, 1},
    {"image " IMAGE "\npool gpu\n", WD_ADOPT_OWN, 2},
};

static void policy_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        wd_policy policy;
        print_message("%s\n", good[i].text != NULL ? good[i].text : "(no file)");
        assert_int_equal(wd_policy_parse(good[i].text, &policy, NULL), WD_OK);
        assert_int_equal(policy.adopt, good[i].adopt);
        assert_int_equal(policy.n, good[i].n);
        wd_policy_done(&policy);
    }
}

static void policy_is_refused_with_its_line(void **state)
{
    static const char *const bad[] = {
        "\nadopt",
        "\nadopt all",
        "\nadopt own never",
        "\nadopt own\nadopt own",
        "\ngate x",
        "\ngate spiffe://d/ns/n/owner/o/client/c",
        "\nimage aa",
        "\ntrust me",
        "\npool a b",
        "\nimage sha256:",
        "\nimage sha256:aa",
        "\npool caf\xc3\xa9",
        "\ngate spiffe://d/ns/n/owner/o/client/*",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wd_policy policy;
        wd_error err = {0};
        print_message("%s\n", bad[i] + 1);
        assert_int_equal(wd_policy_parse(bad[i], &policy, &err), WD_INVALID_ARGUMENT);
        assert_true(strncmp(err.msg, i == 3 ? "line 3" : "line 2", 6) == 0);
        assert_null(policy.text);
    }
}

static void an_image_of_65_digits_or_in_capitals_is_refused(void **state)
{
    static const char longer[] = "image " IMAGE "0";
    static const char capitals[] = "image " CAPITALS;
    wd_policy policy;
    (void)state;
    assert_int_equal(wd_policy_parse(longer, &policy, NULL), WD_INVALID_ARGUMENT);
    assert_int_equal(wd_policy_parse(capitals, &policy, NULL), WD_INVALID_ARGUMENT);
}

static void a_policy_that_is_no_text_is_refused(void **state)
{
    (void)state;
    wd_policy policy;
    wd_error err = {0};
    assert_int_equal(wd_policy_parse("pool \xFF", &policy, &err), WD_INVALID_ARGUMENT);
    assert_string_equal(err.msg, "not UTF-8 text");
    assert_null(policy.text);
}

static void policy_of_256_lines_passes_and_of_257_not(void **state)
{
    (void)state;
    static const char line[] = "pool a\n";
    const size_t size = sizeof(line) - 1;
    char text[(WD_POLICY_LINES + 1) * 7 + 1];
    wd_policy policy;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = line[i % size];
    text[WD_POLICY_LINES * size] = '\0';
    assert_int_equal(wd_policy_parse(text, &policy, NULL), WD_OK);
    wd_policy_done(&policy);
    text[WD_POLICY_LINES * size] = 'p';
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(wd_policy_parse(text, &policy, NULL), WD_INVALID_ARGUMENT);
}

static void lists_forbid_what_they_do_not_name(void **state)
{
    (void)state;
    wd_policy policy;
    char text[32];
    assert_int_equal(wd_policy_parse("pool a\npool b", &policy, NULL), WD_OK);
    assert_false(wd_policy_forbids(&policy, WD_POLICY_POOL, "b"));
    assert_true(wd_policy_forbids(&policy, WD_POLICY_POOL, "c"));
    assert_true(wd_policy_forbids(&policy, WD_POLICY_POOL, NULL));
    assert_false(wd_policy_forbids(&policy, WD_POLICY_IMAGE, NULL));
    assert_true(wd_policy_values(&policy, WD_POLICY_POOL, text, sizeof(text)));
    assert_string_equal(text, "a or b");
    assert_true(wd_policy_values(&policy, WD_POLICY_POOL, text, 3));
    assert_string_equal(text, "a ");
    wd_policy_done(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_within_a_segment_or_across),
        cmocka_unit_test(a_glob_that_matches_no_gate_is_known),
        cmocka_unit_test(many_stars_take_no_more_time_than_few),
        cmocka_unit_test(policy_is_read),
        cmocka_unit_test(policy_is_refused_with_its_line),
        cmocka_unit_test(an_image_of_65_digits_or_in_capitals_is_refused),
        cmocka_unit_test(a_policy_that_is_no_text_is_refused),
        cmocka_unit_test(policy_of_256_lines_passes_and_of_257_not),
        cmocka_unit_test(lists_forbid_what_they_do_not_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
