/* Scopes: what is well formed, and who covers whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/scope.h"

static void well_formed_scopes(void **state)
{
    (void)state;
    static const char *const cases[] = {"observe:python_code",
                                        "observe:*",
                                        "observe:**",
                                        "env:gym/CartPole-v1",
                                        "env:gym/*",
                                        "env:*/**",
                                        "session:0a1b.2",
                                        "token:issue",
                                        "a:b",
                                        "a-b_c9:d"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!wd_scope_valid(cases[i]))
            fail_msg("%s", cases[i]);
    }
}

static void malformed_scopes_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",           "observe", ":x",       "observe:", "Observe:x", "9a:b",
        "a:b c",      "a:b//c",  "a:/b",     "a:b/",     "a:**/b",    "a:***",
        "a:b*",       "*:b",     "**",       "a:b\n",    "a:b:c",     "a b:c",
        "a:\xc3\xa9", "a:b,c",   "a:b/**/c", " a:b",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (wd_scope_valid(cases[i]))
            fail_msg("%s", cases[i]);
    }
    char longest[WD_SCOPE_BYTES + 2];
    memset(longest, 'a', sizeof(longest));
    longest[1] = ':';
    longest[WD_SCOPE_BYTES] = '\0';
    assert_true(wd_scope_valid(longest));
    longest[WD_SCOPE_BYTES] = 'a';
    longest[WD_SCOPE_BYTES + 1] = '\0';
    assert_false(wd_scope_valid(longest));
    assert_false(wd_scope_valid(NULL));
}

static void claim_05_scope_covers_its_own_and_no_more(void **state)
{
    (void)state;
    static const struct {
        const char *held;
        const char *asked;
        bool covers;
    } cases[] = {
        {"observe:sql", "observe:sql", true},
        {"observe:*", "observe:sql", true},
        {"observe:*", "observe:*", true},
        {"observe:**", "observe:sql", true},
        {"observe:**", "observe:a/b/c", true},
        {"observe:**", "observe:**", true},
        {"observe:**", "observe:*", true},
        {"env:gym/*", "env:gym/CartPole-v1", true},
        {"env:*/x", "env:gym/x", true},
        {"env:gym/**", "env:gym/a/b", true},
        {"env:gym/**", "env:gym/*", true},
        {"env:*/**", "env:a/b", true},

        {"observe:sql", "observe:sqlx", false},
        {"observe:sqlx", "observe:sql", false},
        {"observe:sql", "observe:*", false},
        {"observe:*", "observe:**", false},
        {"observe:*", "observe:a/b", false},
        {"observe:a/*", "observe:a", false},
        {"observe:a/**", "observe:a", false},
        {"observe:a", "observe:a/b", false},
        {"observe:sql", "env:sql", false},
        {"observe:**", "env:sql", false},
        {"obs:**", "observe:sql", false},
        {"env:*/x", "env:gym/y", false},
        {"env:*/x", "env:gym/*", false},
        {"env:*/**", "env:a", false},
        {"token:issue", "token:revoke", false},
        {"token:*", "audit:prune", false},
        {"bad", "bad", false},
        {"observe:**", "observe:", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (wd_scope_covers(cases[i].held, cases[i].asked) != cases[i].covers)
            fail_msg("%s over %s", cases[i].held, cases[i].asked);
    }
}

static void area_is_compared_whole(void **state)
{
    (void)state;
    assert_true(wd_scope_of_area("observe:sql", "observe"));
    assert_false(wd_scope_of_area("observe:sql", "obs"));
    assert_false(wd_scope_of_area("obs:sql", "observe"));
    assert_false(wd_scope_of_area("observe", "observe"));
}

static void nobody_issues_what_they_do_not_hold(void **state)
{
    (void)state;
    static const char *const held[] = {"observe:*", "token:issue"};
    static const char *const less[] = {"observe:sql", "token:issue"};
    static const char *const more[] = {"observe:sql", "audit:read"};
    assert_null(wd_scopes_missing(held, 2, less, 2));
    assert_string_equal(wd_scopes_missing(held, 2, more, 2), "audit:read");
    assert_string_equal(wd_scopes_missing(NULL, 0, less, 2), "observe:sql");
    assert_true(wd_scopes_of_area(held, 2, "token"));
    assert_false(wd_scopes_of_area(held, 2, "audit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_scopes),
        cmocka_unit_test(malformed_scopes_are_refused),
        cmocka_unit_test(claim_05_scope_covers_its_own_and_no_more),
        cmocka_unit_test(area_is_compared_whole),
        cmocka_unit_test(nobody_issues_what_they_do_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
