/* Questions to the trail: every filter, both directions, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit.h"
#include "tests/support/store_fixture.h"

#define CERT "aa00000000000000000000000000000000000000000000000000000000000000"

#define TRACE "0af7651916cd43dd8448eb211c80319c"

/* The digits of the seqs that were seen. */
typedef struct seen {
    char seqs[16];
    size_t n;
} seen;

static bool see(void *arg, const wd_audit_row *row)
{
    seen *s = arg;
    s->seqs[s->n++] = (char)('0' + row->seq);
    return true;
}

static void fill(wd_fixture *f)
{
    const wd_audit_row rows[] = {
        {.event = "gate.start", .principal = "spiffe://d/ns/n/owner/o/gate/g"},
        {.event = "call.begin",
         .owner = "ann",
         .family = "fam1000000",
         .session_id = "s1",
         .trace_id = TRACE,
         .peer_cert = CERT},
        {.event = "call.end",
         .owner = "ann",
         .family = "fam1000000",
         .code = 7,
         .outcome = "refused",
         .reason = "SCOPE_MISSING",
         .peer_addr = "10.0.0.7:40000"},
        {.event = "call.end", .owner = "bob", .pool = "gpu", .episode_id = "e1"},
        {.event = "call.end",
         .code = 4,
         .outcome = "failed",
         .tool = "python_code",
         .principal = "spiffe://d/ns/n/owner/ann/client/c"},
        {.event = "audit.query", .owner = "aud"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        wd_fixture_append(f, &rows[i]);
}

static uint64_t query(wd_fixture *f, const wd_audit_filter *filter, seen *s)
{
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_sink sink = {see, s};
    uint64_t next = 0;
    wd_error err = {0};
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    *s = (seen){0};
    if (wd_audit_query(reader, filter, &sink, &next, &err) != WD_OK)
        fail_msg("query: %s", err.msg);
    return next;
}

static void claim_07_every_filter_passes_its_rows_alone(void **state)
{
    wd_fixture *f = *state;
    static const uint32_t denied[] = {7};
    static const uint32_t both[] = {4, 7};
    static const struct {
        wd_audit_filter filter;
        const char *seqs;
    } cases[] = {
        {{0}, "123456"},
        {{.owner = "ann"}, "23"},
        {{.owner = "an"}, ""},
        {{.family = "fam1000000", .event = "call.end"}, "3"},
        {{.pool = "gpu"}, "4"},
        {{.session_id = "s1"}, "2"},
        {{.episode_id = "e1"}, "4"},
        {{.trace_id = TRACE}, "2"},
        {{.tool = "python_code"}, "5"},
        {{.reason = "SCOPE_MISSING"}, "3"},
        {{.outcome = "failed"}, "5"},
        {{.codes = denied, .n_codes = 1}, "3"},
        {{.codes = both, .n_codes = 2}, "35"},
        {{.codes = both, .n_codes = 2, .owner = "ann"}, "3"},
        {{.peer = "10.0.0.*"}, "3"},
        {{.peer = "spiffe://*/owner/ann/*"}, "5"},
        {{.peer = CERT}, "2"},
        {{.peer = "aa*", .owner = "bob"}, ""},
        {{.without_reads = true, .from_seq = 5}, "5"},
        {{.newest_first = true}, "654321"},
        {{.newest_first = true, .from_seq = 4}, "4321"},
        {{.newest_first = true, .from_seq = 4, .to_seq = 3}, "43"},
        {{.newest_first = true, .owner = "ann"}, "32"},
    };
    fill(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        seen s;
        assert_int_equal(query(f, &cases[i].filter, &s), 0);
        if (strcmp(s.seqs, cases[i].seqs) != 0)
            fail_msg("case %zu: %s, not %s", i, s.seqs, cases[i].seqs);
    }
}

static void claim_07_cursors_hold_while_rows_come_in_both_directions(void **state)
{
    wd_fixture *f = *state;
    seen s;
    wd_audit_filter up = {.event = "call.end", .limit = 2};
    wd_audit_filter down = {.event = "call.end", .limit = 2, .newest_first = true};
    fill(f);
    up.from_seq = query(f, &up, &s);
    assert_string_equal(s.seqs, "34");
    down.from_seq = query(f, &down, &s);
    assert_string_equal(s.seqs, "54");
    wd_audit_row late = {.event = "call.end"};
    wd_fixture_append(f, &late);
    assert_int_equal(query(f, &up, &s), 0);
    assert_string_equal(s.seqs, "57");
    assert_int_equal(query(f, &down, &s), 0);
    assert_string_equal(s.seqs, "3");
}

static void what_is_out_of_bounds_is_refused(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO(wd_reader) *reader = NULL;
    uint32_t codes[WD_AUDIT_CODES + 1] = {0};
    const uint32_t no_code[] = {WD_AUDIT_CODES};
    char glob[WD_AUDIT_PEER_BYTES + 2];
    memset(glob, 'x', sizeof(glob));
    glob[sizeof(glob) - 1] = '\0';
    const wd_audit_filter bad[] = {
        {.codes = codes, .n_codes = WD_AUDIT_CODES + 1},
        {.codes = no_code, .n_codes = 1},
        {.peer = glob},
        {.event = glob},
        {.limit = WD_AUDIT_QUERY_ROWS + 1},
    };
    const wd_audit_filter good[] = {
        {.codes = codes, .n_codes = WD_AUDIT_CODES},
        {.peer = glob + 1},
        {.event = glob + (sizeof(glob) - 1 - WD_AUDIT_EVENT_BYTES)},
        {.limit = WD_AUDIT_QUERY_ROWS},
    };
    seen s = {0};
    const wd_audit_sink sink = {see, &s};
    uint64_t next = 0;
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wd_error err = {0};
        assert_int_equal(wd_audit_query(reader, &bad[i], &sink, &next, &err),
                         WD_INVALID_ARGUMENT);
        assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(wd_audit_query(reader, &good[i], &sink, &next, NULL), WD_OK);
}

#define UUID  "0190163d-8694-739b-aea5-966c26f8ad91"
#define WHOLE "wdt1_0123456789aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A filter that no row passes is no answer where no row could. */
static void what_no_row_can_have_is_refused_by_name(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        const char *told;
        wd_audit_filter filter;
    } bad[] = {
        {"--token", {.token_id = "nope"}},
        {"--token", {.token_id = "01234567890"}},
        {"--token", {.token_id = "012345678-"}},
        {"--token", {.token_id = WHOLE}},
        {"--family", {.family = "fam1"}},
        {"--family", {.family = WHOLE}},
        {"--call", {.call_id = "nope"}},
        {"--call", {.call_id = "0190163D-8694-739b-aea5-966c26f8ad91"}},
        {"--call", {.call_id = UUID "0"}},
        {"--outcome", {.outcome = "maybe"}},
        {"--outcome", {.outcome = "OK"}},
        {"--reason", {.reason = "BOGUS"}},
        {"--reason", {.reason = "token_expired"}},
        {"--event", {.event = "CALL.END"}},
        {"--event", {.event = "call end"}},
        {"--principal", {.principal = "trainer"}},
        {"--principal", {.principal = "spiffe:"}},
        {"--principal", {.principal = ":x"}},
        {"--principal", {.principal = "spiffe://a b"}},
        {"--method", {.method = "Token/Issue"}},
        {"--method", {.method = "/warded.v1.Token/Issue "}},
        {"--trace", {.trace_id = "0af7651916cd43dd8448eb211c80319"}},
        {"--trace", {.trace_id = "0AF7651916cd43dd8448eb211c80319c"}},
        {"--owner", {.owner = WHOLE}},
        {"--owner", {.owner = "a\nb"}},
        {"--pool", {.pool = WHOLE}},
        {"--session", {.session_id = WHOLE}},
        {"--episode", {.episode_id = WHOLE}},
        {"--trajectory", {.trajectory_id = "\x1b[2J"}},
        {"--tool", {.tool = "\xff"}},
        {"--peer", {.peer = WHOLE}},
    };
    seen s = {0};
    const wd_audit_sink sink = {see, &s};
    WD_AUTO(wd_reader) *reader = NULL;
    assert_int_equal(wd_reader_open(f->dir, NULL, &reader, NULL), WD_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wd_error err = {0};
        uint64_t next = 0;
        if (wd_audit_query(reader, &bad[i].filter, &sink, &next, &err) !=
                WD_INVALID_ARGUMENT ||
            err.reason != WD_REASON_FIELD_INVALID ||
            strstr(err.msg, bad[i].told) == NULL ||
            strstr(err.msg, "allowed: ") == NULL)
            fail_msg("%zu: %s", i, err.msg);
        if (strstr(err.msg, "aaaaaaaa") != NULL)
            fail_msg("%zu tells a secret: %s", i, err.msg);
    }
}

static void what_rows_have_is_asked_for(void **state)
{
    wd_fixture *f = *state;
    static const wd_audit_filter good[] = {
        {.token_id = "0Az3456789"},  {.call_id = UUID},
        {.outcome = "ok"},           {.outcome = "refused"},
        {.reason = "TOKEN_EXPIRED"}, {.reason = "STORE_UNAVAILABLE"},
        {.reason = "unknown_ca"},    {.reason = "asked_again"},
        {.reason = "NONE"},          {.reason = "more_than_100_a_second"},
        {.principal = "local:0"},    {.principal = "gate"},
        {.event = "tok?n.[a-z]*"},   {.method = "/warded.v1.Token/Issue"},
        {.trace_id = TRACE},         {.trajectory_id = "caf\xc3\xa9 7"},
    };
    seen s;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(query(f, &good[i], &s), 0);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_every_filter_passes_its_rows_alone),
        TEST(claim_07_cursors_hold_while_rows_come_in_both_directions),
        TEST(what_is_out_of_bounds_is_refused),
        TEST(what_no_row_can_have_is_refused_by_name),
        TEST(what_rows_have_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
