/* The trail: rows hashed as documented, text kept as it is, queries that are true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/sha256.h"
#include "store/audit_verify.h"
#include "tests/support/store_fixture.h"

/* --- the hash --------------------------------------------------------------------- */

static void add_null(wd_sha256 *sha)
{
    wd_sha256_add(sha, "\0", 1);
}

static void add_integer(wd_sha256 *sha, uint64_t number)
{
    uint8_t bytes[9] = {1};
    for (int i = 8; i > 0; i--, number >>= 8)
        bytes[i] = (uint8_t)number;
    wd_sha256_add(sha, bytes, sizeof(bytes));
}

static void add_text(wd_sha256 *sha, const char *text)
{
    size_t size = strlen(text);
    uint8_t head[5] = {2, 0, 0, (uint8_t)(size >> 8), (uint8_t)size};
    wd_sha256_add(sha, head, sizeof(head));
    wd_sha256_add(sha, text, size);
}

/* Written out once more, from the documentation: what an outsider would compute. */
static void row_one_has_the_documented_hash(void **state)
{
    wd_fixture *f = *state;
    static const uint8_t zero[32] = {0};
    wd_audit_row row = {.event = "token.issue", .code = 7, .bytes_out = 258, .item = 3};
    wd_fixture_append(f, &row);

    wd_sha256 sha;
    uint8_t expected[32];
    wd_sha256_init(&sha);
    wd_sha256_add(&sha, "warded-audit-v1", 15);
    wd_sha256_add(&sha, zero, sizeof(zero));
    add_integer(&sha, 1);
    add_text(&sha, wd_store_chain_id(f->store));
    add_integer(&sha, WD_FIXTURE_NOW_MS);
    add_integer(&sha, WD_FIXTURE_NOW_MS * 1000000);
    add_text(&sha, "token.issue");
    add_null(&sha); /* outcome */
    add_integer(&sha, 7);
    for (int i = 0; i < 12; i++) /* reason .. trace_id */
        add_null(&sha);
    add_integer(&sha, 0); /* duration_us */
    add_integer(&sha, 0);
    add_integer(&sha, 258);
    for (int i = 0; i < 3; i++) /* digest, detail, tool */
        add_null(&sha);
    add_integer(&sha, 3);
    wd_sha256_end(&sha, expected);

    wd_head head = wd_audit_head(f->store);
    assert_int_equal(head.seq, 1);
    assert_memory_equal(head.hash, expected, sizeof(expected));
}

static void assert_verifies(wd_fixture *f, uint64_t rows)
{
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_audit_range all = {0};
    wd_audit_report report;
    wd_error err = {0};
    if (wd_audit_verify(reader, &all, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    assert_int_equal(report.rows, rows);
}

/* --- rows ------------------------------------------------------------------------- */

typedef struct seen {
    wd_audit_row last; /* its text is gone; numbers only */
    char detail[8192];
    char principal[8192];
    uint64_t seqs[64];
    size_t n;
    size_t most;
} seen;

static bool see(void *arg, const wd_audit_row *row)
{
    seen *s = arg;
    s->last = *row;
    (void)snprintf(s->detail, sizeof(s->detail), "%s", row->detail);
    (void)snprintf(s->principal, sizeof(s->principal), "%s", row->principal);
    s->seqs[s->n++] = row->seq;
    return s->n != s->most;
}

static uint64_t query(wd_fixture *f, const wd_audit_filter *filter, seen *s)
{
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_error err = {0};
    uint64_t next = 0;
    const wd_audit_sink sink = {see, s};
    s->n = 0;
    if (wd_audit_query(reader, filter, &sink, &next, &err) != WD_OK)
        fail_msg("query: %s", err.msg);
    return next;
}

static void numbers_survive_to_their_last_digit(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    wd_audit_row row = {.event = "x",
                        .duration_us = (1ULL << 53) + 1,
                        .bytes_in = INT64_MAX,
                        .bytes_out = UINT64_MAX, /* the largest that SQLite can hold */
                        .code = UINT32_MAX,
                        .item = 7};
    wd_fixture_append(f, &row);
    (void)query(f, &(wd_audit_filter){0}, &s);
    assert_int_equal(s.last.duration_us, (1ULL << 53) + 1);
    assert_int_equal(s.last.bytes_in, INT64_MAX);
    assert_int_equal(s.last.bytes_out, INT64_MAX);
    assert_int_equal(s.last.code, UINT32_MAX);
    assert_int_equal(s.last.item, 7);
    assert_verifies(f, 1);
}

static void hostile_text_is_one_row_and_verifies(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    static const char *const cases[] = {"a\r\nseq=9 event=forged",
                                        "\x1b]0;x\x07\x1b[2J",
                                        "'; DROP TABLE audit; --",
                                        "\xe2\x80\xae",
                                        "=cmd()",
                                        "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 6; i++) {
        wd_audit_row row = {.event = "auth", .principal = cases[i]};
        wd_fixture_append(f, &row);
        (void)query(f, &(wd_audit_filter){.from_seq = i + 1}, &s);
        assert_int_equal(s.n, 1);
        assert_string_equal(s.principal, cases[i]);
    }
    assert_verifies(f, 6);
}

static void text_that_is_not_utf8_or_too_long_is_mended(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    char long_text[WD_AUDIT_TEXT_BYTES + 100];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    memcpy(long_text + WD_AUDIT_TEXT_BYTES - 1, "\xc3\xa9", 2); /* across the limit */
    wd_audit_row row = {.event = "x", .principal = long_text, .detail = long_text};
    wd_fixture_append(f, &row);
    (void)query(f, &(wd_audit_filter){0}, &s);
    assert_int_equal(strlen(s.principal), WD_AUDIT_TEXT_BYTES - 1);
    assert_string_equal(s.detail, "{\"cut_bytes\":4195}");
    row = (wd_audit_row){.event = "x", .principal = "a\xff\xc0z", .detail = "\xe2\x82"};
    wd_fixture_append(f, &row);
    (void)query(f, &(wd_audit_filter){.from_seq = 2}, &s);
    assert_string_equal(s.principal, "a\xef\xbf\xbd\xef\xbf\xbdz");
    assert_string_equal(s.detail, "\xef\xbf\xbd");
    assert_verifies(f, 2);
}

/* --- queries ---------------------------------------------------------------------- */

#define CALL_A "0190163d-8694-739b-aea5-966c26f8ad91"
#define CALL_B "0190163d-8694-739b-aea5-966c26f8ad92"

static void fill_for_queries(wd_fixture *f)
{
    const wd_audit_row rows[] = {
        {.event = "gate.start", .wall_ms = 100},
        {.event = "call.begin",
         .wall_ms = 200,
         .call_id = CALL_A,
         .principal = "spiffe://p",
         .token_id = "t100000000",
         .method = "/m",
         .trajectory_id = "x"},
        {.event = "call.end",
         .wall_ms = 300,
         .call_id = CALL_A,
         .principal = "spiffe://p",
         .token_id = "t100000000",
         .method = "/m",
         .outcome = "ok"},
        {.event = "token.issue",
         .wall_ms = 400,
         .principal = "spiffe://q",
         .token_id = "t200000000"},
        {.event = "token.revoke",
         .wall_ms = 500,
         .principal = "spiffe://q",
         .token_id = "t200000000"},
        {.event = "call.begin",
         .wall_ms = 600,
         .call_id = CALL_B,
         .principal = "spiffe://q"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        wd_fixture_append(f, &rows[i]);
}

static void query_passes_what_every_filter_passes(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        wd_audit_filter filter;
        const char *seqs;
    } cases[] = {
        {{0}, "123456"},
        {{.from_seq = 4}, "456"},
        {{.to_seq = 2}, "12"},
        {{.since_ms = 300}, "3456"},
        {{.until_ms = 300}, "12"},
        {{.since_ms = 200, .until_ms = 400}, "23"},
        {{.event = "token.*"}, "45"},
        {{.event = "call.begin"}, "26"},
        {{.event = "*.[ir]*"}, "45"},
        {{.event = "token"}, ""},
        {{.outcome = "ok"}, "3"},
        {{.principal = "spiffe://q"}, "456"},
        {{.token_id = "t100000000"}, "23"},
        {{.method = "/m"}, "23"},
        {{.call_id = CALL_A}, "23"},
        {{.call_id = CALL_B}, "6"},
        {{.trajectory_id = "x"}, "2"},
        {{.principal = "spiffe://p", .event = "call.end"}, "3"},
        {{.principal = "spiffe://p", .event = "token.*"}, ""},
        {{.principal = "", .event = ""}, "123456"},
        {{.owner = "' OR 1=1 --"}, ""},
    };
    fill_for_queries(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        seen s = {0};
        char seqs[16] = "";
        assert_int_equal(query(f, &cases[i].filter, &s), 0);
        for (size_t k = 0; k < s.n; k++)
            seqs[k] = (char)('0' + s.seqs[k]);
        if (strcmp(seqs, cases[i].seqs) != 0)
            fail_msg("case %zu: %s, not %s", i, seqs, cases[i].seqs);
    }
}

static void query_pages_without_gap_or_repeat(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    wd_audit_filter filter = {.principal = "spiffe://q", .limit = 2};
    fill_for_queries(f);
    assert_int_equal(query(f, &filter, &s), 6);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.seqs[1], 5);
    filter.from_seq = 6;
    assert_int_equal(query(f, &filter, &s), 0);
    assert_int_equal(s.n, 1);
    s.most = 1; /* the sink has enough */
    assert_int_equal(query(f, &(wd_audit_filter){0}, &s), 2);
}

static void query_refuses_what_is_out_of_bounds(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    char glob[200];
    memset(glob, '*', sizeof(glob));
    glob[199] = '\0';
    const wd_audit_filter cases[] = {
        {.limit = WD_AUDIT_QUERY_ROWS + 1},
        {.from_seq = UINT64_MAX},
        {.to_seq = 1ULL << 63},
        {.since_ms = -1},
        {.until_ms = INT64_MIN},
        {.event = glob},
    };
    const wd_audit_sink sink = {see, NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_error err = {0};
        uint64_t next = 0;
        assert_int_equal(wd_audit_query(reader, &cases[i], &sink, &next, &err),
                         WD_INVALID_ARGUMENT);
        assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
    }
}

static void tail_gives_the_newest_oldest_first(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    const wd_audit_sink sink = {see, &s};
    fill_for_queries(f);
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    wd_audit_filter filter = {.principal = "spiffe://q", .limit = 2};
    assert_int_equal(wd_audit_tail(reader, &filter, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.seqs[0], 5);
    assert_int_equal(s.seqs[1], 6);
}

static void open_calls_are_those_that_a_crash_cut_off(void **state)
{
    wd_fixture *f = *state;
    const wd_audit_row rows[] = {
        {.event = "call.begin", .call_id = "old"}, /* before the last start: settled */
        {.event = "gate.start"},
        {.event = "call.begin", .call_id = "done", .principal = "p"},
        {.event = "call.end", .call_id = "done", .principal = "p"},
        {.event = "call.begin", .call_id = "half", .item = 0},
        {.event = "call.begin", .call_id = "half", .item = 1},
        {.event = "call.end", .call_id = "half", .item = 0},
        {.event = "call.begin", .call_id = "done", .principal = "q"}, /* another's id */
        {.event = "call.begin", .call_id = "cut"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        wd_fixture_append(f, &rows[i]);
    seen s = {0};
    const wd_audit_sink sink = {see, &s};
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    assert_int_equal(wd_audit_open_calls(reader, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.seqs[0], 6);
    assert_int_equal(s.seqs[1], 8);
    assert_int_equal(s.seqs[2], 9);
}

static void recent_calls_end_at_the_first_older_row(void **state)
{
    wd_fixture *f = *state;
    seen s = {0};
    const wd_audit_sink sink = {see, &s};
    fill_for_queries(f);
    WD_AUTO(wd_reader) *reader = wd_fixture_reader(f);
    assert_int_equal(wd_audit_recent_calls(reader, 300, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.seqs[0], 6);
    assert_int_equal(s.seqs[1], 3);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(row_one_has_the_documented_hash),
        TEST(numbers_survive_to_their_last_digit),
        TEST(hostile_text_is_one_row_and_verifies),
        TEST(text_that_is_not_utf8_or_too_long_is_mended),
        TEST(query_passes_what_every_filter_passes),
        TEST(query_pages_without_gap_or_repeat),
        TEST(query_refuses_what_is_out_of_bounds),
        TEST(tail_gives_the_newest_oldest_first),
        TEST(open_calls_are_those_that_a_crash_cut_off),
        TEST(recent_calls_end_at_the_first_older_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
