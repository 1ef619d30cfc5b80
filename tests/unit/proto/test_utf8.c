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

static const struct {
    const char *name, *text, *escaped;
    size_t bad_at; /* SIZE_MAX: printable */
} shown[] = {
    {"nothing", "", "", SIZE_MAX},
    {"ascii, first to last", " az~", " az~", SIZE_MAX},
    {"letters", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", NULL, SIZE_MAX},
    {"after C1", "\xC2\xA0", NULL, SIZE_MAX},
    {"a joiner within a word", "\xE2\x80\x8C\xE2\x80\x8D", NULL, SIZE_MAX},
    {"a dash before the separators", "\xE2\x80\xA7", NULL, SIZE_MAX},
    {"a thin space after the bidi controls", "\xE2\x80\xAF", NULL, SIZE_MAX},
    {"newline", "a\nb", "a\\nb", 1},
    {"tab", "a\t", "a\\t", 1},
    {"return", "\r", "\\x0d", 0},
    {"escape", "ab\x1b[2J", "ab\\x1b[2J", 2},
    {"unit separator", "\x1f", "\\x1f", 0},
    {"DEL", "a\x7f", "a\\x7f", 1},
    {"C1, first", "\xC2\x80", "\\u0080", 0},
    {"CSI", "a\xC2\x9Bm", "a\\u009bm", 1},
    {"C1, last", "\xC2\x9F", "\\u009f", 0},
    {"CSI as a byte", "a\x9Bm", "a\\x9bm", 1},
    {"half a character", "\xE2\x82", "\\xe2\\x82", 0},
    {"soft hyphen", "\xC2\xAD", "\\u00ad", 0},
    {"arabic letter mark", "\xD8\x9C", "\\u061c", 0},
    {"zero width space", "\xE2\x80\x8B", "\\u200b", 0},
    {"right-to-left mark", "\xE2\x80\x8F", "\\u200f", 0},
    {"line separator", "a\xE2\x80\xA8", "a\\u2028", 1},
    {"right-to-left override", "a\xE2\x80\xAE", "a\\u202e", 1},
    {"isolate", "\xE2\x81\xA6", "\\u2066", 0},
    {"byte order mark", "\xEF\xBB\xBF", "\\ufeff", 0},
    {"tag letter", "\xF3\xA0\x81\x81", "\\U000e0041", 0},
};

static void what_a_terminal_acts_on_is_not_printable_and_is_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shown); i++) {
        print_message("  %s\n", shown[i].name);
        wd_span text = {(const uint8_t *)shown[i].text, strlen(shown[i].text)};
        const char *want = shown[i].escaped != NULL ? shown[i].escaped : shown[i].text;
        size_t bad_at = SIZE_MAX;
        assert_int_equal(wd_utf8_printable(text, &bad_at), shown[i].bad_at == SIZE_MAX);
        assert_int_equal(bad_at, shown[i].bad_at);
        WD_AUTO_BUFFER out = WD_BUFFER_INIT;
        assert_true(wd_utf8_append_escaped(&out, text));
        assert_true(wd_utf8_printable(wd_buffer_span(&out), NULL));
        assert_int_equal(out.size, strlen(want));
        if (out.size > 0)
            assert_memory_equal(out.data, want, out.size);
    }
}

static void every_character_is_read_as_what_it_is(void **state)
{
    (void)state;
    size_t size = 0;
    assert_int_equal(wd_utf8_next(SPAN("A"), &size), 'A');
    assert_int_equal(wd_utf8_next(SPAN("\xC3\xA9z"), &size), 0xE9);
    assert_int_equal(size, 2);
    assert_int_equal(wd_utf8_next(SPAN("\xE2\x82\xACz"), &size), 0x20AC);
    assert_int_equal(size, 3);
    assert_int_equal(wd_utf8_next(SPAN("\xF4\x8F\xBF\xBF"), &size), 0x10FFFF);
    assert_int_equal(size, 4);
    assert_int_equal(wd_utf8_next(SPAN("\xED\xA0\x80"), &size), WD_UTF8_NONE);
    assert_int_equal(size, 1);
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

static void what_is_no_text_is_mended_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"abc", "abc"},
        {"a\xE2\x82\xAC", "a\xE2\x82\xAC"},
        {"a\xC3", "a?"},
        {"a\xE2\x82", "a??"},
        {"\xF0\x9F\x98", "???"},
        {"\xFFz\x80", "?z?"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%s", cases[i].text);
        wd_utf8_mend(text);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_unicode),
        cmocka_unit_test(nul_is_valid_here),
        cmocka_unit_test(lossy_text_is_valid_and_keeps_what_was_good),
        cmocka_unit_test(what_a_terminal_acts_on_is_not_printable_and_is_escaped),
        cmocka_unit_test(every_character_is_read_as_what_it_is),
        cmocka_unit_test(cutting_splits_no_character),
        cmocka_unit_test(a_tail_starts_at_a_character),
        cmocka_unit_test(a_failure_is_text_whatever_it_quotes),
        cmocka_unit_test(what_is_no_text_is_mended_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
