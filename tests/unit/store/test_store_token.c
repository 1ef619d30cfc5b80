/* The text of a token: minted uniformly, read strictly, digested with its domain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/sha256.h"
#include "store/token.h"

/* Made by hand in Python: 10 x '0', 43 x 'A', zlib.crc32 in base 62. */
static const char known[] =
    "wdt1_0000000000AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1STXJX";

static void minted_token_has_shape_and_parses(void **state)
{
    (void)state;
    static const wd_token_kind kinds[] = {WD_TOKEN_DATA, WD_TOKEN_ADMIN, WD_TOKEN_WRAP,
                                          WD_TOKEN_JOIN};
    for (size_t i = 0; i < 4; i++) {
        wd_token_text text;
        wd_token_name name;
        wd_token_mint(kinds[i], NULL, NULL, &text);
        assert_int_equal(strlen(text.chars), WD_TOKEN_CHARS);
        assert_true(wd_token_parse(text.chars, &name));
        assert_int_equal(name.kind, kinds[i]);
        assert_memory_equal(name.id, text.chars + 5, WD_TOKEN_ID_CHARS);
        assert_true(wd_token_id_valid(name.id));
    }
}

static void two_tokens_differ(void **state)
{
    (void)state;
    wd_token_text a;
    wd_token_text b;
    wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &a);
    wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &b);
    assert_string_not_equal(a.chars, b.chars);
}

static void check_digits_are_crc32_in_base62(void **state)
{
    (void)state;
    wd_token_name name;
    assert_true(wd_token_parse(known, &name));
    assert_string_equal(name.id, "0000000000");
}

static void digest_has_its_domain(void **state)
{
    (void)state;
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    char hex[WD_SHA256_HEX_BYTES];
    wd_token_digest(known, digest);
    wd_hex((wd_span){digest, sizeof(digest)}, hex);
    assert_string_equal(
        hex, "e8ab29322d0c606c317faa7a5d811aaed1fa0059ed2a8456932b311a04581fa8");
}

/* Bytes 0, 1, 2, ... 255, 0, ...: 248 and above must leave no trace. */
static void counting(void *arg, void *bytes, size_t size)
{
    uint8_t *next = arg;
    for (size_t i = size; i-- > 0;) /* the drawer takes them from the end */
        ((uint8_t *)bytes)[i] = (*next)++;
}

static void biased_bytes_are_thrown_away(void **state)
{
    (void)state;
    uint8_t next = 248; /* eight unfair ones first, then 0, 1, ... */
    wd_token_text text;
    wd_token_mint(WD_TOKEN_DATA, counting, &next, &text);
    assert_memory_equal(text.chars + 5,
                        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq", 53);
}

static void each_character_is_drawn_equally_often(void **state)
{
    (void)state;
    unsigned count[128] = {0};
    for (int i = 0; i < 20000; i++) {
        wd_token_text text;
        wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &text);
        for (size_t at = 5; at < 58; at++)
            count[(unsigned char)text.chars[at]]++;
    }
    double expected = 20000.0 * 53 / 62; /* 17,097; standard deviation 130 */
    for (int c = 0; c < 128; c++) {
        if (count[c] != 0)
            assert_true(count[c] > expected - 900 && count[c] < expected + 900);
    }
}

static void claim_05_every_changed_character_is_malformed(void **state)
{
    (void)state;
    wd_token_text text;
    wd_token_name name;
    wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &text);
    for (size_t i = 0; i < WD_TOKEN_CHARS; i++) {
        wd_token_text wrong = text;
        wrong.chars[i] = text.chars[i] == 'x' ? 'y' : 'x';
        assert_false(wd_token_parse(wrong.chars, &name));
        wrong.chars[i] = '\n';
        assert_false(wd_token_parse(wrong.chars, &name));
    }
}

static void claim_05_every_prefix_and_longer_text_is_malformed(void **state)
{
    (void)state;
    wd_token_text text;
    wd_token_name name;
    wd_token_mint(WD_TOKEN_ADMIN, NULL, NULL, &text);
    for (size_t size = 0; size < WD_TOKEN_CHARS; size++) {
        char cut[WD_TOKEN_CHARS + 1];
        memcpy(cut, text.chars, size);
        cut[size] = '\0';
        assert_false(wd_token_parse(cut, &name));
    }
    char longer[WD_TOKEN_CHARS + 2];
    (void)snprintf(longer, sizeof(longer), "%s0", text.chars);
    assert_false(wd_token_parse(longer, &name));
    assert_false(wd_token_parse(NULL, &name));
}

static void ids_of_other_shapes_are_not_valid(void **state)
{
    (void)state;
    static const char *const cases[] = {"",           "123456789",  "12345678901",
                                        "12345678 0", "12345678-0", "12345678\xc3\xa9"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_false(wd_token_id_valid(cases[i]));
}

static void kinds_have_names(void **state)
{
    (void)state;
    wd_token_kind kind;
    assert_true(wd_token_kind_parse("admin", &kind));
    assert_int_equal(kind, WD_TOKEN_ADMIN);
    assert_string_equal(wd_token_kind_name(WD_TOKEN_DATA), "data");
    assert_false(wd_token_kind_parse("root", &kind));
    assert_false(wd_token_kind_parse("", &kind));
}

static void wiped_text_is_gone(void **state)
{
    (void)state;
    static const wd_token_text zero = {{0}};
    wd_token_text text;
    wd_token_mint(WD_TOKEN_DATA, NULL, NULL, &text);
    wd_token_text_wipe(&text);
    assert_memory_equal(&text, &zero, sizeof(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minted_token_has_shape_and_parses),
        cmocka_unit_test(two_tokens_differ),
        cmocka_unit_test(check_digits_are_crc32_in_base62),
        cmocka_unit_test(digest_has_its_domain),
        cmocka_unit_test(biased_bytes_are_thrown_away),
        cmocka_unit_test(each_character_is_drawn_equally_often),
        cmocka_unit_test(claim_05_every_changed_character_is_malformed),
        cmocka_unit_test(claim_05_every_prefix_and_longer_text_is_malformed),
        cmocka_unit_test(ids_of_other_shapes_are_not_valid),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(wiped_text_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
