/* Whose connection is closed when replies that are not read hold too many contexts. */
#include "tests/unit/proto/proto_test.h"

#include <stdlib.h>

#include "server/unread.h"

enum { PEERS = 4, EACH = 40, LATE = WD_GATE_OVERDUE_MS, LEAST = WD_GATE_OVERDUE };

/* Of 0 and 1 the principal is one. */
static const char *const uris[PEERS] = {"a", "a", "b", "c"};

typedef struct world {
    wd_tls_ledger *ledger;
    wd_peers *peers;
    wd_unread *unread;
    wd_peer of[PEERS];
    wd_unread_reply replies[PEERS][EACH];
    size_t waiting[PEERS];
    size_t told[PEERS]; /* how many were overdue when it was cut */
} world;

static int make_world(void **state)
{
    world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->ledger = wd_tls_ledger_new(1000);
    w->peers = wd_peers_new();
    w->unread = wd_unread_new();
    for (size_t i = 0; i < PEERS; i++) {
        w->of[i].principal = wd_peers_principal(w->peers, uris[i]);
        w->of[i].account = wd_tls_account_open(w->ledger, uris[i]);
    }
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;

    for (size_t i = 0; i < PEERS; i++) {
        while (w->waiting[i] > 0)
            wd_unread_remove(w->unread, &w->replies[i][--w->waiting[i]]);
        wd_tls_account_close(w->of[i].account);
    }
    wd_unread_free(w->unread);
    wd_peers_free(w->peers);
    wd_tls_ledger_free(w->ledger);
    free(w);
    return 0;
}

static void leave_unread(world *w, size_t peer, size_t n, int64_t at_ms)
{
    for (size_t i = 0; i < n; i++)
        wd_unread_add(w->unread, &w->replies[peer][w->waiting[peer]++], &w->of[peer],
                      at_ms);
}

static void cut(void *arg, const wd_peer *peer, size_t overdue)
{
    world *w = arg;

    assert_true(wd_tls_account_cut(peer->account));
    w->told[peer - w->of] = overdue;
}

/* With how many overdue each was cut; 0: it was not. */
static void assert_cut(const world *w, size_t a, size_t a2, size_t b, size_t c)
{
    const size_t expected[PEERS] = {a, a2, b, c};

    for (size_t i = 0; i < PEERS; i++)
        assert_int_equal(w->told[i], expected[i]);
}

static void claim_03_a_reply_is_overdue_after_its_time(void **state)
{
    world *w = *state;

    leave_unread(w, 2, LEAST, 1000);
    wd_unread_relieve(w->unread, 1, 1000 + LATE - 1, cut, w);
    assert_cut(w, 0, 0, 0, 0);
    wd_unread_relieve(w->unread, 1, 1000 + LATE, cut, w);
    assert_cut(w, 0, 0, LEAST, 0);
}

static void claim_03_a_few_overdue_ones_are_nobodys_fault(void **state)
{
    world *w = *state;

    leave_unread(w, 0, LEAST - 1, 0);
    leave_unread(w, 2, LEAST - 1, 0);
    wd_unread_relieve(w->unread, 1, LATE, cut, w);
    assert_cut(w, 0, 0, 0, 0);
    leave_unread(w, 1, 1, 0); /* of the same principal */
    wd_unread_relieve(w->unread, 1, LATE, cut, w);
    assert_cut(w, LEAST, 0, 0, 0);
}

/* Who reads at full speed has many that wait, and none for long. */
static void claim_03_who_reads_loses_nothing_to_who_does_not(void **state)
{
    world *w = *state;

    leave_unread(w, 2, EACH, 0);
    leave_unread(w, 3, EACH, LATE);
    wd_unread_relieve(w->unread, 2 * EACH, 2 * LATE - 1, cut, w);
    assert_cut(w, 0, 0, EACH, 0);
}

/* Behind a slow line, or much that was asked for: whatever waits, it is being read. */
static void claim_03_who_takes_enough_in_that_time_loses_nothing(void **state)
{
    static const struct {
        int64_t took_ms;
        size_t told;
    } cases[] = {{0, EACH}, {999, EACH}, {1000, EACH}, {1001, 0}, {1000 + LATE, 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        void *made;
        make_world(&made);
        world *w = made;
        leave_unread(w, 2, EACH, 1);
        wd_tls_account_set_took(w->of[2].account, cases[i].took_ms);
        wd_unread_relieve(w->unread, EACH, 1000 + LATE, cut, w);
        assert_cut(w, 0, 0, cases[i].told, 0);
        end_world(&made);
    }
}

/* However late his are: another one fills the contexts, and reads in time. */
static void claim_03_who_has_half_as_many_as_another_loses_nothing(void **state)
{
    static const struct {
        size_t waiting, others, told;
    } cases[] = {{LEAST, 2 * LEAST - 1, LEAST},
                 {LEAST, 2 * LEAST, LEAST},
                 {LEAST, 2 * LEAST + 1, LEAST},
                 {LEAST, 2 * LEAST + 2, 0},
                 {LEAST + 1, 2 * LEAST + 2, LEAST + 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        void *made;
        make_world(&made);
        world *w = made;
        leave_unread(w, 2, cases[i].waiting, 0);
        leave_unread(w, 3, cases[i].others, LATE);
        wd_unread_relieve(w->unread, 1, LATE, cut, w);
        assert_cut(w, 0, 0, cases[i].told, 0);
        end_world(&made);
    }
}

/* The one that reads one now and then has as many overdue as before. */
static void claim_03_a_little_that_is_read_saves_nobody(void **state)
{
    world *w = *state;

    leave_unread(w, 2, LEAST + 1, 0);
    wd_unread_remove(w->unread, &w->replies[2][0]);
    wd_unread_add(w->unread, &w->replies[2][0], &w->of[2], LATE - 1);
    wd_unread_relieve(w->unread, 1, LATE, cut, w);
    assert_cut(w, 0, 0, LEAST, 0);
}

static void claim_03_no_more_are_closed_than_it_takes(void **state)
{
    static const struct {
        size_t wanted;
        bool second, other;
    } cases[] = {{EACH - 1, false, false}, {EACH, false, false},
                 {EACH + 1, true, false},  {EACH + 10, true, false},
                 {EACH + 11, true, true},  {EACH + 100, true, true}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        void *made;
        make_world(&made);
        world *w = made;
        leave_unread(w, 0, EACH, 0);
        leave_unread(w, 1, 10, 1);
        leave_unread(w, 2, EACH, 0);
        wd_unread_relieve(w->unread, cases[i].wanted, 1 + LATE, cut, w);
        assert_cut(w, EACH + 10, cases[i].second ? EACH + 10 : 0,
                   cases[i].other ? EACH : 0, 0);
        end_world(&made);
    }
}

/* Those that were cut before count, and are not cut again. */
static void claim_03_what_is_about_to_go_is_waited_for(void **state)
{
    world *w = *state;

    leave_unread(w, 2, EACH, 0);
    leave_unread(w, 3, EACH, 0);
    wd_unread_relieve(w->unread, EACH, LATE, cut, w);
    assert_cut(w, 0, 0, EACH, 0);
    wd_unread_relieve(w->unread, EACH, LATE + 1, cut, w);
    assert_cut(w, 0, 0, EACH, 0);
    wd_unread_relieve(w->unread, EACH + 1, LATE + 1, cut, w);
    assert_cut(w, 0, 0, EACH, EACH);
}

/* Whose connection is gone already can't be cut: its replies go by themselves. */
static void claim_03_who_is_gone_already_is_passed_over(void **state)
{
    world *w = *state;
    wd_tls_account *account = w->of[3].account;

    w->of[3].account = NULL;
    leave_unread(w, 3, EACH, 0);
    leave_unread(w, 2, LEAST, 0);
    wd_unread_relieve(w->unread, EACH, LATE, cut, w);
    assert_cut(w, 0, 0, 0, 0);
    wd_unread_relieve(w->unread, EACH + 1, LATE, cut, w);
    assert_cut(w, 0, 0, LEAST, 0);
    w->of[3].account = account;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(claim_03_a_reply_is_overdue_after_its_time),
        TEST(claim_03_a_few_overdue_ones_are_nobodys_fault),
        TEST(claim_03_who_reads_loses_nothing_to_who_does_not),
        cmocka_unit_test(claim_03_who_takes_enough_in_that_time_loses_nothing),
        cmocka_unit_test(claim_03_who_has_half_as_many_as_another_loses_nothing),
        TEST(claim_03_a_little_that_is_read_saves_nobody),
        cmocka_unit_test(claim_03_no_more_are_closed_than_it_takes),
        TEST(claim_03_what_is_about_to_go_is_waited_for),
        TEST(claim_03_who_is_gone_already_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
