/* Figures of the trail: what there is, of what, and when the disk is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/audit_stats.h"
#include "store/audit_where.h"
#include "tests/unit/store/segments_fixture.h"

#define DAY_MS (24LL * 60 * 60 * 1000)
#define FREE   (1000ULL << 20)

static int some_free(void *arg, const char *dir, uint64_t *ret_bytes)
{
    (void)dir;
    *ret_bytes = *(const uint64_t *)arg;
    return 0;
}

static void read_stats(wd_fixture *f, int64_t since_ms, uint64_t free_bytes,
                       wd_audit_stats *ret_stats)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_stats_ask ask = {.since_ms = since_ms,
                              .now_ms = atomic_load(&f->clock.now_ms),
                              .reserve_bytes = 1U << 20,
                              .disk = {.arg = &free_bytes, .free_bytes = some_free}};
    wd_error err = {0};
    if (wd_audit_stats_read(reader, &ask, ret_stats, &err) != WD_OK)
        fail_msg("stats: %s", err.msg);
}

static uint64_t count_of(const wd_audit_stats *stats, const char *what,
                         const char *value)
{
    for (size_t i = 0; i < stats->n_counts; i++) {
        if (strcmp(stats->counts[i].what, what) == 0 &&
            strcmp(stats->counts[i].value, value) == 0)
            return stats->counts[i].rows;
    }
    return 0;
}

static void append(wd_fixture *f, const char *event, const char *token, int n)
{
    const wd_audit_row row = {.event = event, .token_id = token, .outcome = "ok"};
    for (int i = 0; i < n; i++)
        wd_fixture_append(f, &row);
}

static void claim_07_counts_are_of_sealed_and_open_rows_together(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS stats = {0};
    append(f, "call.begin", "0123456789", 5);
    append(f, "auth", NULL, 3);
    wd_segments_seal(f); /* all but the newest */
    append(f, "call.begin", "abcdefghij", 4);
    read_stats(f, 0, FREE, &stats);
    assert_int_equal(stats.rows, 12);
    assert_int_equal(stats.head.seq, 12);
    assert_int_equal(stats.n_segments, 2);
    assert_true(stats.segments[0].sealed && !stats.segments[1].sealed);
    assert_int_equal(stats.segments[0].first, 1);
    assert_int_equal(stats.segments[0].last, 7);
    assert_int_equal(stats.segments[1].first, 8);
    assert_int_equal(stats.segments[1].last, 12);
    assert_int_equal(stats.bytes, stats.segments[0].bytes + stats.segments[1].bytes);
    assert_int_equal(count_of(&stats, "event", "call.begin"), 9);
    assert_int_equal(count_of(&stats, "event", "auth"), 3);
    assert_int_equal(count_of(&stats, "outcome", "ok"), 12);
    assert_int_equal(count_of(&stats, "token", "0123456789"), 5);
    assert_int_equal(count_of(&stats, "token", "abcdefghij"), 4);
    assert_int_equal(count_of(&stats, "reason", ""), 0);
}

static void counts_may_be_of_the_newer_segments_alone(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS stats = {0};
    append(f, "call.begin", NULL, 5);
    atomic_fetch_add(&f->clock.now_ms, DAY_MS);
    append(f, "auth", NULL, 1);
    wd_segments_seal(f);
    append(f, "auth", NULL, 2);
    read_stats(f, WD_FIXTURE_NOW_MS + DAY_MS, FREE, &stats);
    assert_int_equal(stats.rows, 8);
    assert_int_equal(count_of(&stats, "event", "call.begin"), 0);
    assert_int_equal(count_of(&stats, "event", "auth"), 3);
}

static void of_each_kind_the_most_frequent_are_told_first(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS stats = {0};
    size_t events = 0;
    for (int i = 0; i < (int)WD_STATS_COUNTS + 2; i++) {
        char event[16];
        (void)snprintf(event, sizeof(event), "e%02d", i);
        append(f, event, NULL, i == 20 ? 3 : 1);
    }
    read_stats(f, 0, FREE, &stats);
    for (size_t i = 0; i < stats.n_counts; i++)
        events += strcmp(stats.counts[i].what, "event") == 0;
    assert_int_equal(events, WD_STATS_COUNTS);
    assert_string_equal(stats.counts[0].value, "e20");
    assert_string_equal(stats.counts[1].value, "e00");
}

/* 700 rows in a week and 300 before it: the disk lasts as long as the week says. */
static void claim_07_days_left_are_those_of_the_last_seven_days(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS stats = {0};
    append(f, "old", NULL, 300);
    for (int day = 0; day < 7; day++) {
        atomic_fetch_add(&f->clock.now_ms, day == 0 ? 10 * DAY_MS : DAY_MS);
        append(f, "new", NULL, 100);
    }
    read_stats(f, 0, FREE, &stats);
    assert_int_equal(stats.rows_per_day, 100);
    assert_int_equal(stats.free_bytes, FREE - (1U << 20));
    uint64_t each = stats.bytes / stats.rows;
    assert_in_range(stats.bytes_per_day, each * 100, (each + 1) * 100);
    assert_false(stats.no_end);
    assert_int_equal(stats.days_left, stats.free_bytes / stats.bytes_per_day);
    wd_audit_stats_done(&stats);
    read_stats(f, 0, 1U << 19, &stats); /* less than the reserve */
    assert_int_equal(stats.free_bytes, 0);
    assert_int_equal(stats.days_left, 0);
    assert_false(stats.no_end);
    wd_audit_stats_done(&stats);
    atomic_fetch_add(&f->clock.now_ms, 8 * DAY_MS); /* nothing comes any more */
    read_stats(f, 0, FREE, &stats);
    assert_int_equal(stats.rows_per_day, 0);
    assert_true(stats.no_end);
}

static void claim_07_days_left_know_of_retention(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS plain = {0};
    append(f, "new", NULL, 300);
    read_stats(f, 0, FREE, &plain);
    const uint64_t most = plain.bytes + plain.free_bytes; /* then it is full */
    const struct {
        const char *name, *exports; /* /proc: another file system than any store's */
        int64_t age_ms;
        uint64_t most_bytes;
        bool no_end;
    } cases[] = {
        {"none", "/proc", 0, 0, false},
        {"a size", "/proc/x/y", 0, 1, true},
        {"one byte less than there is", "/proc", 0, most - 1, true},
        {"as much as there is", "/proc", 0, most, true},
        {"one byte more", "/proc", 0, most + 1, false},
        {"an age", "/proc", DAY_MS, 0, true},
        {"an age that is too far", "/proc", 3650 * DAY_MS, 0, false},
        {"the nearer of both", "/proc", 3650 * DAY_MS, most, true},
        {"exports on the same disk", f->dir, DAY_MS, 1, false},
        {"in a folder that is to be made", "HERE/x/y", DAY_MS, 1, false},
    };
    uint64_t free_bytes = FREE;
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO_STATS stats = {0};
        char exports[160];
        const bool here = strncmp(cases[i].exports, "HERE", 4) == 0;
        (void)snprintf(exports, sizeof(exports), "%s%s", here ? f->dir : "",
                       cases[i].exports + (here ? 4 : 0));
        const wd_stats_ask ask = {.now_ms = atomic_load(&f->clock.now_ms),
                                  .reserve_bytes = 1U << 20,
                                  .age_ms = cases[i].age_ms,
                                  .most_bytes = cases[i].most_bytes,
                                  .exports = exports,
                                  .disk = {&free_bytes, NULL, some_free}};
        assert_int_equal(wd_audit_stats_read(reader, &ask, &stats, NULL), WD_OK);
        if (stats.no_end != cases[i].no_end ||
            stats.days_left != (stats.no_end ? 0 : plain.days_left))
            fail_msg("%s: %d, %llu days", cases[i].name, (int)stats.no_end,
                     (unsigned long long)stats.days_left);
    }
}

static void an_empty_trail_has_figures_too(void **state)
{
    wd_fixture *f = *state;
    WD_AUTO_STATS stats = {0};
    read_stats(f, 0, FREE, &stats);
    assert_int_equal(stats.rows, 0);
    assert_int_equal(stats.n_segments, 1);
    assert_int_equal(stats.n_counts, 0);
    assert_true(stats.no_end);
}

static void each_row_is_found_in_its_file(void **state)
{
    wd_fixture *f = *state;
    char where[WD_AUDIT_WHERE_BYTES];
    append(f, "x", NULL, 5);
    wd_segments_seal(f);
    append(f, "x", NULL, 1);
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    static const char *const wants[] = {"1-4.db", "1-4.db", "1-4.db",
                                        "1-4.db", "open",   "open"};
    for (uint64_t seq = 1; seq <= 6; seq++) {
        assert_int_equal(wd_audit_where(reader, seq, where, NULL), WD_OK);
        assert_string_equal(where, wants[seq - 1]);
    }
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_fixture_set_up, wd_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_07_counts_are_of_sealed_and_open_rows_together),
        TEST(counts_may_be_of_the_newer_segments_alone),
        TEST(of_each_kind_the_most_frequent_are_told_first),
        TEST(claim_07_days_left_are_those_of_the_last_seven_days),
        TEST(claim_07_days_left_know_of_retention),
        TEST(an_empty_trail_has_figures_too),
        TEST(each_row_is_found_in_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
