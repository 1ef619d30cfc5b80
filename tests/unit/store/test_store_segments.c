/* Sealed segments and the open one: every reader sees all rows, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/tokens.h"
#include "tests/unit/store/segments_fixture.h"

static const char *const events[] = {"call.begin", "call.end",   "call.begin",
                                     "call.end",   "host.adopt", "conn"};

/* Six kinds of rows in turn; a seal after each `every`. */
static void fill_segments(wd_fixture *f, int n, int every)
{
    for (int i = 1; i <= n; i++) {
        const wd_audit_row row = {
            .event = events[(i - 1) % 6],
            .owner = i % 10 == 0 ? "ann" : "bob",
            .token_id = i == 17 ? "rare000000" : "common0000",
            .wall_ms = 1000 * i,
            .code = i % 25 == 0 ? 7 : 0,
        };
        wd_fixture_append(f, &row);
        if (i % every == 0)
            wd_segments_seal(f);
    }
}

static void claim_07_queries_read_across_segments(void **state)
{
    wd_fixture *f = *state;
    static const uint32_t denied[] = {7};
    static const struct {
        const char *name;
        wd_audit_filter filter;
        size_t n;
        uint64_t first, last, next;
    } cases[] = {
        {"all", {.limit = 60}, 50, 1, 50, 0},
        {"page over a seam", {.from_seq = 10, .limit = 20}, 20, 10, 29, 30},
        {"backwards", {.newest_first = true, .limit = 60}, 50, 50, 1, 0},
        {"backwards, a page",
         {.newest_first = true, .from_seq = 40, .limit = 30},
         30,
         40,
         11,
         10},
        {"owner", {.owner = "ann"}, 5, 10, 50, 0},
        {"rare", {.token_id = "rare000000"}, 1, 17, 17, 0},
        {"glob", {.event = "host.*", .limit = 60}, 8, 5, 47, 0},
        {"codes", {.codes = denied, .n_codes = 1}, 2, 25, 50, 0},
        {"since", {.since_ms = 45000}, 6, 45, 50, 0},
        {"until", {.until_ms = 4000}, 3, 1, 3, 0},
        {"both", {.since_ms = 20000, .until_ms = 23000, .owner = "bob"}, 2, 21, 22, 0},
        {"nobody", {.owner = "eve"}, 0, 0, 0, 0},
        {"to", {.to_seq = 15, .from_seq = 14}, 2, 14, 15, 0},
        {"two", {.owner = "ann", .event = "call.end"}, 4, 10, 50, 0},
    };
    fill_segments(f, 50, 12);
    wd_segments_verify(f, 50, 4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_seen s;
        uint64_t next = wd_segments_query(f, &cases[i].filter, &s);
        if (s.n != cases[i].n || next != cases[i].next ||
            (s.n > 0 &&
             (s.seqs[0] != cases[i].first || s.seqs[s.n - 1] != cases[i].last)))
            fail_msg("%s: %zu rows, %llu..%llu, next %llu", cases[i].name, s.n,
                     (unsigned long long)s.seqs[0],
                     (unsigned long long)(s.n > 0 ? s.seqs[s.n - 1] : 0),
                     (unsigned long long)next);
    }
}

static void claim_07_the_newest_rows_come_from_both(void **state)
{
    wd_fixture *f = *state;
    wd_seen s = {0};
    const wd_audit_sink sink = {wd_segments_see, &s};
    fill_segments(f, 30, 12);
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_filter filter = {.limit = 10};
    assert_int_equal(wd_audit_tail(reader, &filter, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 10);
    assert_int_equal(s.seqs[0], 21);
    assert_int_equal(s.seqs[9], 30);
}

static void calls_that_a_crash_cut_off_are_found_in_segments(void **state)
{
    wd_fixture *f = *state;
    wd_seen s = {0};
    const wd_audit_sink sink = {wd_segments_see, &s};
    const wd_audit_row rows[] = {
        {.event = "call.begin", .call_id = "old"},
        {.event = "gate.start"},
        {.event = "call.begin", .call_id = "ends later"},
        {.event = "call.begin", .call_id = "never ends", .principal = "p"},
        {.event = "call.begin", .call_id = "ends here"},
        {.event = "call.end", .call_id = "ends here"},
        {.event = "call.end", .call_id = "never ends", .principal = "q"},
        {.event = "call.end", .call_id = "ends later"},
        {.event = "call.begin", .call_id = "open"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wd_fixture_append(f, &rows[i]);
        if (i == 4 || i == 6 || i == 7) /* the newest stays out of each */
            wd_segments_seal(f);
    }
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    assert_int_equal(wd_audit_open_calls(reader, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.seqs[0], 4);
    assert_int_equal(s.seqs[1], 9);
    wd_segments_seal(f);
    const wd_audit_row start = {.event = "gate.start"};
    wd_fixture_append(f, &start);
    s.n = 0;
    assert_int_equal(wd_audit_open_calls(reader, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 0);
}

static void recent_calls_come_from_segments_too(void **state)
{
    wd_fixture *f = *state;
    wd_seen s = {0};
    const wd_audit_sink sink = {wd_segments_see, &s};
    fill_segments(f, 30, 12);
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    assert_int_equal(wd_audit_recent_calls(reader, 20000, &sink, NULL), WD_OK);
    assert_int_equal(s.n, 7); /* of 20 to 30 those of calls */
    assert_int_equal(s.seqs[0], 28);
    assert_int_equal(s.seqs[6], 20);
}

static void tokens_are_told_by_sealed_rows(void **state)
{
    wd_fixture *f = *state;
    static const char *const scopes[] = {"observe:x"};
    const wd_token_spec spec = {.name = "t",
                                .scopes = scopes,
                                .n_scopes = 1,
                                .bind = "uri:spiffe://d/ns/n/owner/o/client/c"};
    WD_AUTO_ISSUED issued = {0};
    assert_int_equal(wd_tokens_issue_now(f->store, &spec, "local:0", &issued, NULL),
                     WD_OK);
    wd_fixture_fill(f, 10);
    wd_segments_seal(f);
    wd_fixture_close(f);
    wd_fixture_open(f); /* the start compares tokens and trail */
    wd_segments_verify(f, 11, 1);
    wd_fixture_sql(f, "UPDATE tokens SET expires_ms = expires_ms + 1");
    wd_fixture_close(f);
    wd_fixture_refused(f, WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN, "expires_ms");
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_queries_read_across_segments),
        TEST(claim_07_the_newest_rows_come_from_both),
        TEST(calls_that_a_crash_cut_off_are_found_in_segments),
        TEST(recent_calls_come_from_segments_too),
        TEST(tokens_are_told_by_sealed_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
