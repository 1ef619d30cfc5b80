/* Refusals are put on record without filling it, and none is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/rejects.h"
#include "tests/support/store_fixture.h"

static const char ann[] = "spiffe://x/ns/a/owner/ann/client/a";
static const char bob[] = "spiffe://x/ns/a/owner/bob/client/b";

typedef struct scene {
    wd_fixture base;
    wd_writer *writer;
    wd_rejects *rejects;
    _Atomic uint64_t free_bytes;
} scene;

static int free_bytes(void *arg, const char *dir, uint64_t *ret_bytes)
{
    (void)dir;
    *ret_bytes = atomic_load((_Atomic uint64_t *)arg);
    return 0;
}

static int set_up(void **state)
{
    static scene s; /* cmocka's state needs an address */
    wd_fixture_init(&s.base);
    atomic_store(&s.free_bytes, 1U << 30);
    s.base.options.disk.free_bytes = free_bytes;
    s.base.options.disk.arg = &s.free_bytes;
    wd_fixture_open(&s.base);
    assert_int_equal(wd_writer_start(s.base.store, &s.writer, NULL), WD_OK);
    s.rejects = wd_rejects_new();
    assert_non_null(s.rejects);
    *state = &s;
    return 0;
}

static void settle(scene *s) /* what was flushed is written, or back */
{
    wd_writer_stop(s->writer);
    assert_int_equal(wd_writer_start(s->base.store, &s->writer, NULL), WD_OK);
}

static int tear_down(void **state)
{
    scene *s = *state;
    wd_writer_stop(s->writer);
    wd_rejects_free(s->rejects);
    wd_fixture_done(&s->base);
    return 0;
}

static wd_reject of(const char *who, const char *reason, const char *address)
{
    return (wd_reject){
        .event = who != NULL ? "auth" : "tls.reject",
        .address = address,
        .reason = reason,
        .detail = "why",
        .principal = who,
        .code = who != NULL ? WD_UNAUTHENTICATED : WD_OK,
    };
}

static bool first(scene *s, wd_reject reject)
{
    return wd_rejects_first(s->rejects, &reject);
}

static void note(scene *s, wd_reject reject)
{
    wd_rejects_note(s->rejects, &reject);
}

/* --- the rows that came of it ----------------------------------------------------------- */

typedef struct seen {
    size_t n_rows;
    uint64_t n_counted;
    bool told_of_more;
} seen;

static bool look(void *arg, const wd_audit_row *row)
{
    seen *all = arg;
    unsigned long long count = 0;
    all->n_rows++;
    assert_int_equal(sscanf(row->detail, "{\"count\":%llu", &count), 1);
    all->n_counted += count;
    assert_string_equal(row->outcome, "refused");
    all->told_of_more |= strcmp(row->reason, "more_than_100_a_second") == 0;
    return true;
}

static seen rows(scene *s)
{
    seen all = {0};
    uint64_t next = 0;
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_filter filter = {.limit = WD_AUDIT_QUERY_ROWS};
    const wd_audit_sink sink = {look, &all};
    settle(s);
    assert_int_equal(wd_reader_open(s->base.dir, NULL, &reader, NULL), WD_OK);
    assert_int_equal(wd_audit_query(reader, &filter, &sink, &next, NULL), WD_OK);
    return all;
}

/* --- tests ------------------------------------------------------------------------------- */

static void
claim_05_the_first_of_its_kind_has_its_row_the_others_are_counted(void **state)
{
    scene *s = *state;
    assert_true(first(s, of(ann, "TOKEN_MISSING", "10.0.0.1:1")));
    for (int i = 0; i < 5000; i++)
        assert_false(first(s, of(ann, "TOKEN_MISSING", "10.0.0.1:2")));
    wd_rejects_flush(s->rejects, s->writer);
    seen all = rows(s);
    assert_int_equal(all.n_rows, 1);
    assert_int_equal(all.n_counted, 5000);
    assert_true(first(s, of(ann, "TOKEN_MISSING", "10.0.0.1:3"))); /* the next second */
}

static void each_kind_has_its_own_first(void **state)
{
    scene *s = *state;
    wd_reject mine = of(ann, "SCOPE_MISSING", "10.0.0.1:1");
    assert_true(first(s, mine));
    assert_true(first(s, of(ann, "SCOPE_MISSING", "10.0.0.2:1")));
    assert_true(first(s, of(bob, "SCOPE_MISSING", "10.0.0.1:1")));
    assert_true(first(s, of(ann, "TOKEN_REVOKED", "10.0.0.1:1")));
    mine.event = "authz.deny";
    assert_true(first(s, mine));
    mine.token_id = "0123456789";
    assert_true(first(s, mine));
    assert_false(first(s, mine));
    wd_rejects_flush(s->rejects, s->writer);
    assert_int_equal(rows(s).n_counted, 1);
}

static void what_is_first_and_alone_leaves_no_second_row(void **state)
{
    scene *s = *state;
    assert_true(first(s, of(ann, "TOKEN_MISSING", "10.0.0.1:1")));
    wd_rejects_flush(s->rejects, s->writer);
    assert_int_equal(rows(s).n_rows, 0);
}

static void strangers_share_one_row_a_kind(void **state)
{
    scene *s = *state;
    for (int i = 0; i < 300; i++) {
        note(s, of(NULL, "unknown_ca", "[::1]:7"));
        note(s, of(NULL, "expired", "[::1]:8"));
    }
    wd_rejects_flush(s->rejects, s->writer);
    seen all = rows(s);
    assert_int_equal(all.n_rows, 2);
    assert_int_equal(all.n_counted, 600);
}

static void many_kinds_take_at_most_a_hundred_rows(void **state)
{
    static char who[300][16];
    scene *s = *state;
    size_t n_first = 0;
    for (int i = 0; i < 300; i++) {
        char address[32];
        (void)snprintf(who[i], sizeof(who[i]), "caller%d", i);
        (void)snprintf(address, sizeof(address), "10.0.0.%d:1", i);
        note(s, of(NULL, "unknown_ca", address));
        n_first += first(s, of(who[i], "TOKEN_MISSING", "10.0.0.1:1"));
        (void)first(s, of(who[i], "TOKEN_MISSING", "10.0.0.1:1"));
    }
    wd_rejects_flush(s->rejects, s->writer);
    seen all = rows(s);
    assert_in_range(n_first, 10, WD_REJECT_ROWS / 2);
    assert_in_range(all.n_rows + n_first, 101, 2 * WD_REJECT_ROWS);
    assert_int_equal(all.n_counted + n_first, 300 + 600);
    assert_true(all.told_of_more);
}

/* Short of room they are counted, not written, and written when there is room. */
/* From many addresses, to hide another's. */
static void claim_05_one_caller_leaves_room_for_the_others_refusals(void **state)
{
    scene *s = *state;
    char address[32];

    for (int i = 0; i < 500; i++) {
        (void)snprintf(address, sizeof(address), "127.0.1.%d:1", i);
        assert_int_equal(first(s, of(ann, "TOKEN_MISSING", address)),
                         i < (int)WD_REJECT_SHARE);
    }
    assert_true(first(s, of(bob, "TOKEN_NOT_YOURS", "10.0.0.1:1")));
    wd_rejects_flush(s->rejects, s->writer);
    seen all = rows(s);
    assert_int_equal(all.n_counted, 500 - WD_REJECT_SHARE);
    assert_true(all.told_of_more);
}

static void claim_09_refusals_do_not_eat_the_reserve(void **state)
{
    scene *s = *state;
    atomic_store(&s->free_bytes, 0);
    for (int second = 0; second < 5; second++) {
        for (int i = 0; i < 10; i++) {
            note(s, of(ann, "TOKEN_MISSING", "10.0.0.1:1"));
            note(s, of(NULL, "unknown_ca", "10.0.0.1:1"));
        }
        wd_rejects_flush(s->rejects, s->writer);
        if (second % 2 == 0) /* some come back while new ones are being counted */
            note(s, of(bob, "TOKEN_MISSING", "10.0.0.1:1"));
        assert_int_equal(rows(s).n_rows, 0);
    }
    atomic_store(&s->free_bytes, 1U << 30);
    wd_rejects_flush(s->rejects, s->writer);
    seen all = rows(s);
    assert_int_equal(all.n_rows, 3);
    assert_int_equal(all.n_counted, 103);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_05_the_first_of_its_kind_has_its_row_the_others_are_counted),
        TEST(each_kind_has_its_own_first),
        TEST(what_is_first_and_alone_leaves_no_second_row),
        TEST(strangers_share_one_row_a_kind),
        TEST(many_kinds_take_at_most_a_hundred_rows),
        TEST(claim_05_one_caller_leaves_room_for_the_others_refusals),
        TEST(claim_09_refusals_do_not_eat_the_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
