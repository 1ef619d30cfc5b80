#include "proto/c/utf8.h"

#include "tests/unit/proto/proto_test.h"

typedef struct verdict {
    const char *name;
    wd_span text;
    bool valid;
    size_t bad_at;
    const char *lossy; /* with U+FFFD written as '?' */
} verdict;

#define GOOD(name, literal)            {name, BYTES(literal), true, 0, literal}
#define BAD(name, literal, at, mended) {name, BYTES(literal), false, at, mended}

static const verdict verdicts[] = {
    GOOD("empty", ""),
    GOOD("ascii", "print(1)"),
    GOOD("two bytes, lowest", "\xC2\x80"),
    GOOD("two bytes, highest", "\xDF\xBF"),
    GOOD("three bytes, lowest", "\xE0\xA0\x80"),
    GOOD("before the surrogates", "\xED\x9F\xBF"),
    GOOD("after the surrogates", "\xEE\x80\x80"),
    GOOD("noncharacter U+FFFF", "\xEF\xBF\xBF"),
    GOOD("four bytes, lowest", "\xF0\x90\x80\x80"),
    GOOD("last code point", "\xF4\x8F\xBF\xBF"),
    BAD("overlong slash C0 AF", "a\xC0\xAF", 1, "a??"),
    BAD("overlong C1", "\xC1\xBF", 0, "??"),
    BAD("overlong three bytes", "\xE0\x9F\xBF", 0, "???"),
    BAD("overlong four bytes", "\xF0\x8F\xBF\xBF", 0, "????"),
    BAD("surrogate ED A0 80", "ab\xED\xA0\x80", 2, "ab???"),
    BAD("above U+10FFFF", "\xF4\x90\x80\x80", 0, "????"),
    BAD("F5", "\xF5\x80\x80\x80", 0, "????"),
    BAD("FF", "x\xFFy", 1, "x?y"),
    BAD("cut E2 82", "\xE2\x82", 0, "?"),
    BAD("cut E2 82 before ascii", "\xE2\x82z", 0, "?z"),
    BAD("cut F0 9F 98", "ok\xF0\x9F\x98", 2, "ok?"),
    BAD("lone continuation", "\x80", 0, "?"),
    BAD("cut lead, then a good one", "\xC2\xC2\x80", 0, "?\xC2\x80"),
};

static void verdicts_are_those_of_unicode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        print_message("  %s\n", verdicts[i].name);
        uint8_t *owned = NULL;
        wd_span text = exact_copy(verdicts[i].text, &owned);
        size_t bad_at = 99;
        assert_int_equal(wd_utf8_valid(text, &bad_at), verdicts[i].valid);
        assert_int_equal(bad_at, verdicts[i].valid ? 99 : verdicts[i].bad_at);
        assert_int_equal(wd_utf8_valid(text, NULL), verdicts[i].valid);
        free(owned);
    }
}

static void nul_is_valid_here(void **state)
{
    (void)state;
    assert_true(wd_utf8_valid(SPAN("a\0b"), NULL));
}

static void lossy_text_is_valid_and_keeps_what_was_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        print_message("  %s\n", verdicts[i].name);
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        assert_true(wd_utf8_append_lossy(&out, verdicts[i].text));
        assert_true(wd_utf8_valid(wd_buffer_span(&out), NULL));

        WD_AUTO_BUFFER want = WD_BUFFER_INIT;
        for (const char *c = verdicts[i].lossy; *c != '\0'; c++)
            assert_true(*c == '?' ? wd_buffer_append(&want, "\xEF\xBF\xBD", 3)
                                  : wd_buffer_append(&want, c, 1));
        assert_int_equal(out.size, want.size);
        if (want.size > 0)
            assert_memory_equal(out.data, want.data, want.size);
    }
}

static void cutting_splits_no_character(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wd_span text;
        size_t max, want;
    } cases[] = {
        {"shorter than max", BYTES("abc"), 9, 3},
        {"exactly max", BYTES("abc"), 3, 3},
        {"ascii", BYTES("abcd"), 2, 2},
        {"to nothing", BYTES("abc"), 0, 0},
        {"before a two-byte one", BYTES("a\xC3\xA9z"), 2, 1},
        {"after a two-byte one", BYTES("a\xC3\xA9z"), 3, 3},
        {"four bytes, cut after one", BYTES("\xF0\x9F\x98\x80"), 1, 0},
        {"four bytes, cut after three", BYTES("x\xF0\x9F\x98\x80"), 4, 1},
        {"rubbish may be cut anywhere", BYTES("\x80\x80\x80\x80"), 2, 2},
        {"broken lead may be cut off", BYTES("\xE2\x28\x28\x28"), 1, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_utf8_cut(cases[i].text, cases[i].max), cases[i].want);
    }
}

static void a_tail_starts_at_a_character(void **state)
{
    (void)state;
    assert_int_equal(wd_utf8_skip(SPAN("")), 0);
    assert_int_equal(wd_utf8_skip(SPAN("abc")), 0);
    assert_int_equal(wd_utf8_skip(SPAN("\x98\x80z")), 2);
    assert_int_equal(wd_utf8_skip(SPAN("\x80\x80\x80\x80")), 3);
}

static void a_failure_is_text_whatever_it_quotes(void **state)
{
    (void)state;
    wd_error err;
    char longest[2 * WD_ERROR_MSG_BYTES];
    (void)wd_fail(&err, WD_NOT_FOUND, "no tool \"%.4s\"", "a\xE2\x82\xAC\xE2\x82\xAC");
    assert_string_equal(err.msg, "no tool \"a\xE2\x82\xAC\"");
    (void)wd_refuse(&err, WD_REASON_MALFORMED, "\"%.3s\" \xFF", "a\xE2\x82\xAC");
    assert_string_equal(err.msg, "\"a??\" ?");
    memset(longest, 'x', sizeof(longest));
    memcpy(longest + WD_ERROR_MSG_BYTES - 3, "\xE2\x82\xAC", 4); /* cut after two */
    (void)wd_fail(&err, WD_NOT_FOUND, "%s", longest);
    assert_string_equal(err.msg + WD_ERROR_MSG_BYTES - 4, "x??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_unicode),
        cmocka_unit_test(nul_is_valid_here),
        cmocka_unit_test(lossy_text_is_valid_and_keeps_what_was_good),
        cmocka_unit_test(cutting_splits_no_character),
        cmocka_unit_test(a_tail_starts_at_a_character),
        cmocka_unit_test(a_failure_is_text_whatever_it_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
