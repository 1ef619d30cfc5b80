/* What an action wrote becomes text: nothing invalid, no character split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/utf8.h"
#include "server/service/output.h"

#define BAD    "\xEF\xBF\xBD"
#define EURO   "\xE2\x82\xAC"
#define PLENTY 4096U

typedef struct output_case {
    const char *name;
    const char *data;
    size_t size;   /* of data */
    uint64_t head; /* bytes of data before the cut; = size: none */
    uint64_t original;
    const char *want;
    uint64_t want_head, want_tail;
    uint64_t want_cut; /* bytes of the original that are in neither */
    bool cut;
} output_case;

#define TEXT(s) (s), sizeof(s) - 1

static const output_case cases[] = {
    {"plain", TEXT("abc\n"), 4, 4, "abc\n", 4, 0, 0, false},
    {"text of three bytes a character", TEXT(EURO EURO), 6, 6, EURO EURO, 6, 0, 0,
     false},
    {"a byte that is none", TEXT("a\xFFz"), 3, 3, "a" BAD "z", 5, 0, 0, false},
    {"a NUL", TEXT("a\0z"), 3, 3, "a" BAD "z", 5, 0, 0, false},
    {"a NUL at the end", TEXT("a\0"), 2, 2, "a" BAD, 4, 0, 0, false},
    {"a character cut off by the end", TEXT("a\xE2\x82"), 3, 3, "a" BAD, 4, 0, 0,
     false},
    {"a surrogate", TEXT("\xED\xA0\x80"), 3, 3, BAD BAD BAD, 9, 0, 0, false},
    {"head and tail", TEXT("headtail"), 4, 100, "headtail", 4, 4, 92, true},
    {"the head's last character split", TEXT("he\xE2\x82tail"), 4, 100, "hetail", 2, 4,
     94, true},
    {"the tail's first character split", TEXT("head\x82\xACil"), 4, 100, "headil", 4, 2,
     94, true},
    {"a whole character at the cut", TEXT(EURO "tail"), 3, 100, EURO "tail", 3, 4, 93,
     true},
    {"nothing kept", TEXT(""), 0, 5, "", 0, 0, 5, true},
    {"head longer than the data", TEXT("abc"), 9, 100, "abc", 3, 0, 97, true},
    {"bytes that are none, on both sides of a cut",
     TEXT("a\xFF"
          "b\xFFz"),
     3, 100, "a" BAD "b" BAD "z", 5, 4, 95, true},
};

static void check(const output_case *c)
{
    Warded__Exec__V1__Output from = WARDED__EXEC__V1__OUTPUT__INIT;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    char data[64];
    wd_output out;

    memcpy(data, c->data, c->size);
    from.data.data = (uint8_t *)data;
    from.data.len = c->size;
    from.head_bytes = c->head;
    from.original_bytes = c->original;
    assert_int_equal(wd_output_make(&from, PLENTY, budget, &out, NULL), WD_OK);
    assert_string_equal(out.text, c->want);
    assert_int_equal(out.head_bytes, c->want_head);
    assert_int_equal(out.tail_bytes, c->want_tail);
    assert_int_equal(out.cut, c->cut);
    assert_int_equal(out.original_bytes, c->want_head + c->want_tail + c->want_cut);
    assert_false(out.shortened);
}

static void output_becomes_text_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        check(&cases[i]);
    }
}

static void no_output_is_an_empty_text(void **state)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    wd_output out;

    (void)state;
    assert_int_equal(wd_output_make(NULL, PLENTY, budget, &out, NULL), WD_OK);
    assert_string_equal(out.text, "");
    assert_false(out.cut);
}

/* Every length of what may be kept, over text where each cut may split a character. */
static void what_is_cut_to_fit_stays_valid(void **state)
{
    Warded__Exec__V1__Output from = WARDED__EXEC__V1__OUTPUT__INIT;
    char data[300];
    (void)state;

    for (size_t i = 0; i + 7 <= sizeof(data); i += 7)
        memcpy(data + i, "a" EURO EURO, 7);
    from.data.data = (uint8_t *)data;
    from.data.len = from.head_bytes = from.original_bytes = 294;
    for (size_t keep = 2; keep < 294; keep++) {
        WD_AUTO(wd_budget) *budget = wd_budget_new(0);
        wd_output out;
        assert_int_equal(wd_output_make(&from, keep, budget, &out, NULL), WD_OK);
        size_t size = strlen(out.text);
        assert_true(size <= keep && size + 7 > keep);
        assert_int_equal(out.head_bytes + out.tail_bytes, size);
        assert_true(out.cut && out.shortened);
        assert_int_equal(out.original_bytes, 294);
        assert_true(wd_utf8_valid((wd_span){(const uint8_t *)out.text, size}, NULL));
    }
}

static void the_bound_holds_for_the_worst(void **state)
{
    Warded__Exec__V1__Output from = WARDED__EXEC__V1__OUTPUT__INIT;
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    uint8_t data[1000];
    wd_output out;

    (void)state;
    memset(data, 0xFF, sizeof(data));
    from.data.data = data;
    from.data.len = from.head_bytes = from.original_bytes = sizeof(data);
    assert_int_equal(wd_output_make(&from, PLENTY, budget, &out, NULL), WD_OK);
    assert_true(strlen(out.text) < wd_output_bound(&from));
    assert_int_equal(wd_output_bound(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_becomes_text_as_the_table_says),
        cmocka_unit_test(no_output_is_an_empty_text),
        cmocka_unit_test(what_is_cut_to_fit_stays_valid),
        cmocka_unit_test(the_bound_holds_for_the_worst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
