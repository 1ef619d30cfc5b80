/* What a row may say of a request: no token, no named secret, and never more than fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/request_text.h"
#include "warded/v1/observation.pb-c.h"

#define SECRET "wdt1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS0000"
_Static_assert(sizeof(SECRET) - 1 == 64, "a token's length");
#define SHOWN "wdt1_0123456789" WD_REDACTED

static char *const words[] = {"password", "token", "api_key", "authorization"};
static const wd_secret_names names = {words, 4};

static const struct {
    const char *text;
    const char *want;
} cases[] = {
    {"", ""},
    {"print(1)", "print(1)"},
    /* tokens */
    {SECRET, SHOWN},
    {"a " SECRET " b", "a " SHOWN " b"},
    {"x" SECRET, "x" SHOWN},
    {SECRET "tail", SHOWN},
    {"-" SECRET "-" SECRET, "-" SHOWN "-" SHOWN},
    {"wdt1_short", "wdt1_short"},
    {"wdx1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS0000",
     "wdx1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS0000"},
    /* names */
    {"password=hunter2", "password=" WD_REDACTED},
    {"password = \"hunter2\" # x", "password = \"" WD_REDACTED "\" # x"},
    {"password: 'a \\' b'; c", "password: '" WD_REDACTED "'; c"},
    {"{\"api_key\": \"k\", \"n\": 1}", "{\"api_key\": \"" WD_REDACTED "\", \"n\": 1}"},
    {"{\\\"api_key\\\": \\\"k\\\", \\\"n\\\": 1}",
     "{\\\"api_key\\\": \\\"" WD_REDACTED "\\\", \\\"n\\\": 1}"},
    {"d['password'] = 'x'", "d['password'] = '" WD_REDACTED "'"},
    {"Authorization: Bearer abc\nHost: h", "Authorization: " WD_REDACTED "\nHost: h"},
    {"DB_PASSWORD=a b\nc", "DB_PASSWORD=" WD_REDACTED "\nc"},
    {"dbPassword=\"", "dbPassword=\"" WD_REDACTED},
    {"password=", "password=" WD_REDACTED},
    /* escaped: by JSON, in a text in a text, by a language, by a URL */
    {"p\\u0061ssword=x", "p\\u0061ssword=" WD_REDACTED},
    {"\\u0050assword: x", "\\u0050assword: " WD_REDACTED},
    {"{\\\"p\\\\u0061ssword\\\": \\\"k\\\"}",
     "{\\\"p\\\\u0061ssword\\\": \\\"" WD_REDACTED "\\\"}"},
    {"pass\\x77ord = 'x'", "pass\\x77ord = '" WD_REDACTED "'"},
    {"a=1&password%3Dx", "a=1&password%3D" WD_REDACTED},
    {"api%5Fkey=x", "api%5Fkey=" WD_REDACTED},
    {"\\npassword=x", "\\npassword=" WD_REDACTED},
    {SECRET "-password=x", SHOWN "-password=" WD_REDACTED},
    /* what only looks so */
    {"caf\\u00e9 = x", "caf\\u00e9 = x"},
    {"p\\u00e1ssword=x", "p\\u00e1ssword=x"},
    {"passwor\\u006", "passwor\\u006"},
    {"100%", "100%"},
    {"password%zz", "password%zz"},
    {"\\\\\\\\\\\\\\\\\\\\", "\\\\\\\\\\\\\\\\\\\\"},
    /* no value, another word */
    {"password", "password"},
    {"the token is lost", "the token is lost"},
    {"tokens = 5", "tokens = 5"},
    {"password_hint = x", "password_hint = x"},
};

static void claim_07_neither_tokens_nor_named_secrets_are_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        const wd_span text = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};
        assert_true(wd_redact(text, &names, &out) && wd_buffer_append(&out, "", 1));
        if (strcmp((const char *)out.data, cases[i].want) != 0)
            fail_msg("%s: %s, not %s", cases[i].text, (const char *)out.data,
                     cases[i].want);
    }
}

/* Wherever a token is cut off, or something stands before it: its secret is not there. */
static void no_place_of_a_token_in_a_text_lets_its_secret_through(void **state)
{
    static const char fill[] = "ab_-= :\"'\\\n\t]{wdt1_";
    (void)state;
    for (size_t i = 0; i < sizeof(fill); i++) {
        char text[256];
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        (void)snprintf(text, sizeof(text), "%.*s" SECRET "%s", (int)i, fill, fill + i);
        const wd_span span = {(const uint8_t *)text, strlen(text)};
        assert_true(wd_redact(span, &names, &out) && wd_buffer_append(&out, "", 1));
        assert_null(strstr((const char *)out.data, "abcdefghijkl"));
    }
}

enum { JSON, NESTED, LANGUAGE, URL, FORMS };

static void escape(int form, char c, char out[16])
{
    const unsigned value = (unsigned char)c;
    if (form == JSON)
        (void)snprintf(out, 16, "\\u%04x", value);
    else if (form == NESTED)
        (void)snprintf(out, 16, "\\\\\\u%04X", value);
    else if (form == LANGUAGE)
        (void)snprintf(out, 16, "\\x%02x", value);
    else
        (void)snprintf(out, 16, "%%%02X", value);
}

static void is_hidden(const char *token)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    const wd_span span = {(const uint8_t *)token, strlen(token)};
    assert_true(wd_redact(span, &names, &out) && wd_buffer_append(&out, "", 1));
    const char *told = (const char *)out.data;
    if (strstr(told, WD_REDACTED) == NULL || strstr(told, "PQRS0000") != NULL)
        fail_msg("%s: %s", token, told);
}

/* Each character of a token, escaped in each way: its secret is not there. */
static void claim_07_a_token_of_escaped_characters_is_one(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        for (size_t i = 0; i < 64; i++) {
            char text[160];
            char escaped[16];
            escape(form, SECRET[i], escaped);
            (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)i, SECRET, escaped,
                           &SECRET[i + 1]);
            is_hidden(text);
        }
    }
}

/* --- messages ----------------------------------------------------------------------------- */

static const char *text_of(const ProtobufCMessage *message, uint32_t item,
                           wd_budget **ret_budget)
{
    *ret_budget = wd_budget_new(1U << 20);
    assert_non_null(*ret_budget);
    return wd_request_text("{", message, item, &names, *ret_budget);
}

static void what_is_set_is_told_by_name_and_of_one_item(void **state)
{
    Warded__V1__Item items[2];
    Warded__V1__Item *list[] = {&items[0], &items[1]};
    Warded__V1__GetObservationRequest request =
        WARDED__V1__GET_OBSERVATION_REQUEST__INIT;
    WD_AUTO(wd_budget) *one = NULL;
    WD_AUTO(wd_budget) *all = NULL;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        warded__v1__item__init(&items[i]);
        items[i].trajectory_id = i == 0 ? "t0" : "t\"1\n";
        items[i].action = i == 0 ? "a" : "password='x'";
    }
    request.items = list;
    request.n_items = 2;
    assert_string_equal(text_of(&request.base, 1, &one),
                        "{\"request\":{\"trajectory_id\":\"t\\\"1\\u000a\","
                        "\"action\":\"password='" WD_REDACTED "'\"}}");
    assert_non_null(strstr(text_of(&request.base, WD_REQUEST_WHOLE, &all),
                           "{\"items\":[{\"trajectory_id\":\"t0\",\"action\":\"a\"},"));
}

static void claim_07_a_request_of_any_size_is_a_row_that_fits(void **state)
{
    static const size_t sizes[] = {1, 3071, 3072, 3073, 4096, 100000};
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (char c = 'x';; c = '\x01') { /* takes six bytes a character */
            WD_AUTO(wd_budget) *budget = NULL;
            item.action = malloc(sizes[i] + 1);
            assert_non_null(item.action);
            memset(item.action, c, sizes[i]);
            item.action[sizes[i]] = '\0';
            const char *text = text_of(&item.base, WD_REQUEST_WHOLE, &budget);
            assert_non_null(text);
            assert_true(strlen(text) <= WD_REQUEST_TEXT_BYTES);
            assert_string_equal(text + strlen(text) - 3, "\"}}");
            bool cut = strstr(text, " bytes more)") != NULL;
            assert_true(cut == (sizes[i] > 3072 || (c != 'x' && sizes[i] > 1)));
            free(item.action);
            if (c != 'x')
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_07_neither_tokens_nor_named_secrets_are_kept),
        cmocka_unit_test(claim_07_a_token_of_escaped_characters_is_one),
        cmocka_unit_test(no_place_of_a_token_in_a_text_lets_its_secret_through),
        cmocka_unit_test(what_is_set_is_told_by_name_and_of_one_item),
        cmocka_unit_test(claim_07_a_request_of_any_size_is_a_row_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
