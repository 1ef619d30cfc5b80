/* Tokens in what is quoted: whole, cut, in either case; and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/mask.h"
#include "proto/c/status.h"

#define ID    "0123456789"
#define TOKEN "wdt1_" ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define GONE  "\u2026"

static const struct {
    const char *text, *masked;
} cases[] = {
    {"", ""},
    {"w", "w"},
    {"wd", "wd"},
    {"wdt", "wdt"},
    {"wdt1", "wdt1"},
    {"wdt1_", "wdt1_"},
    {"wdt1_" ID, "wdt1_" ID}, /* kind and id may be told */
    {"wdt1_" ID "a", "wdt1_" GONE},
    {TOKEN, "wdt1_" GONE},
    {"WDT1_" ID "abc", "WDT1_" GONE},
    {"wda1_" ID "abc", "wda1_" GONE},
    {"wdz1_" ID "abc", "wdz1_" GONE},
    {"x" TOKEN ".y", "xwdt1_" GONE ".y"},
    {TOKEN " " TOKEN, "wdt1_" GONE " wdt1_" GONE},
    {TOKEN TOKEN, "wdt1_" GONE},
    {"wd11_" ID "abc", "wd11_" ID "abc"},
    {"wdt2_" ID "abc", "wdt2_" ID "abc"},
    {"wdt1-" ID "abc", "wdt1-" ID "abc"},
    {"wwdt1_" ID "abc", "wwdt1_" GONE},
};

static void of_a_token_only_the_kind_is_left(void **state)
{
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(text, sizeof(text), "%s", cases[i].text);
        wd_mask_tokens(text);
        assert_string_equal(text, cases[i].masked);
    }
}

static void an_error_never_holds_a_token(void **state)
{
    wd_error err = {0};
    (void)state;
    (void)wd_fail(&err, WD_INTERNAL, "\"%s\" is bad", TOKEN);
    assert_string_equal(err.msg, "\"wdt1_" GONE "\" is bad");
    (void)wd_refuse(&err, WD_REASON_FIELD_INVALID, "\"%.30s\" is bad", TOKEN);
    assert_string_equal(err.msg, "\"wdt1_" GONE "\" is bad");
}

static void what_is_shown_has_40_characters(void **state)
{
    char room[WD_SHOWN_BYTES];
    char text[64];
    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t size = 39; size < 42; size++) {
        char saved = text[size];
        text[size] = '\0';
        assert_int_equal(strlen(wd_shown(text, room)), size < 40 ? size : 40);
        text[size] = saved;
    }
    assert_string_equal(wd_shown(TOKEN, room), "wdt1_" GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_token_only_the_kind_is_left),
        cmocka_unit_test(an_error_never_holds_a_token),
        cmocka_unit_test(what_is_shown_has_40_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
