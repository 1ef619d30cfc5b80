/* A token by somebody's wish: what it may say, and what is refused by its field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/tokens.h"

#define NOW_MS 1800000000000LL

static const char *const scopes[] = {"observe:python_code", "env:*"};

static void wishes_out_of_bounds_are_refused_by_field(void **state)
{
    (void)state;
    static const char *const bad_scopes[] = {"observe"};
    char long_text[300];
    memset(long_text, 'a', sizeof(long_text));
    long_text[299] = '\0';
    const wd_token_spec good = {
        .name = "trainer", .scopes = scopes, .n_scopes = 2, .bind = "uri:spiffe://x/y"};
    const struct {
        wd_token_spec spec;
        const char *field;
    } cases[] = {
        {{.name = NULL}, "name"},
        {{.name = "a b"}, "name"},
        {{.name = "a\nb"}, "name"},
        {{.name = long_text}, "name"},
        {{.kind = WD_TOKEN_WRAP}, "kind"},
        {{.owner = long_text}, "owner"},
        {{.purpose = long_text}, "purpose"},
        {{.purpose = "\xff"}, "purpose"},
        {{.audience = "a b"}, "audience"},
        {{.n_scopes = 65}, "scopes"},
        {{.scopes = bad_scopes, .n_scopes = 1}, "scopes"},
        {{.bind = "unbound"}, "bind"},
        {{.bind = "cert:00"}, "bind"},
        {{.bind = "uri:spiffe://"}, "bind"},
        {{.bind = "uri:spiffe://a b"}, "bind"},
        {{.bind = ""}, "bind"},
        {{.ttl_ms = 999}, "ttl"},
        {{.ttl_ms = -1}, "ttl"},
        {{.ttl_ms = WD_TOKEN_TTL_MAX_MS + 1}, "ttl"},
        {{.not_before_ms = -1}, "not_before"},
        {{.not_before_ms = INT64_MAX}, "not_before"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_token_spec spec = cases[i].spec;
        wd_error err = {0};
        WD_AUTO_ISSUED issued = {0};
        if (strcmp(cases[i].field, "name") != 0)
            spec.name = good.name;
        if (strcmp(cases[i].field, "scopes") != 0) {
            spec.scopes = good.scopes;
            spec.n_scopes = good.n_scopes;
        }
        if (strcmp(cases[i].field, "bind") != 0)
            spec.bind = good.bind;
        wd_status status = wd_token_make(&spec, NOW_MS, &issued, &err);
        assert_int_equal(status, WD_INVALID_ARGUMENT);
        assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
        if (strncmp(err.msg, cases[i].field, strlen(cases[i].field)) != 0)
            fail_msg("case %zu: %s", i, err.msg);
    }
}

static void wish_without_times_gets_the_defaults(void **state)
{
    (void)state;
    static const struct {
        wd_token_kind kind;
        int64_t ttl_ms;
    } cases[] = {{WD_TOKEN_DATA, WD_TOKEN_TTL_DATA_MS},
                 {WD_TOKEN_ADMIN, WD_TOKEN_TTL_ADMIN_MS}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO_ISSUED issued = {0};
        wd_token_spec spec = {.kind = cases[i].kind,
                              .name = "a",
                              .scopes = scopes,
                              .n_scopes = 2,
                              .bind = "uri:spiffe://x/y"};
        assert_int_equal(wd_token_make(&spec, NOW_MS, &issued, NULL), WD_OK);
        assert_int_equal(issued.token->not_before_ms, NOW_MS);
        assert_int_equal(wd_token_expires_ms(issued.token), NOW_MS + cases[i].ttl_ms);
        assert_int_equal(issued.token->created_ms, NOW_MS);
        assert_memory_equal(issued.token->id, issued.text.chars + 5, WD_TOKEN_ID_CHARS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wishes_out_of_bounds_are_refused_by_field),
        cmocka_unit_test(wish_without_times_gets_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
