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
         .family = "fam1",
         .session_id = "s1",
         .trace_id = "t1",
         .peer_cert = CERT},
        {.event = "call.end",
         .owner = "ann",
         .family = "fam1",
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
        {{.family = "fam1", .event = "call.end"}, "3"},
        {{.pool = "gpu"}, "4"},
        {{.session_id = "s1"}, "2"},
        {{.episode_id = "e1"}, "4"},
        {{.trace_id = "t1"}, "2"},
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

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_every_filter_passes_its_rows_alone),
        TEST(claim_07_cursors_hold_while_rows_come_in_both_directions),
        TEST(what_is_out_of_bounds_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
