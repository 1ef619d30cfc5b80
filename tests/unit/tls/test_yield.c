/* Who gets the last bytes of a budget, and who gives some up. */
#include "check.h"
#include "proto/tls/account.h"

enum { BUDGET = 400, SHARE = BUDGET / WD_SHARES, RESERVE = BUDGET / WD_RESERVE_PART };
enum { MIB = 1 << 20, REPLIES = 4 * MIB, MANY = WD_SHARES + 1, LAST = MANY - 1 };

static const char *const names[MANY] = {"a", "b", "c", "d", "e"};

typedef struct fixture {
    wd_tls_ledger *ledger;
    wd_tls_account *accounts[MANY]; /* of five principals */
    unsigned hurries;
} fixture;

static void hurry(void *arg)
{
    fixture *f = arg;

    f->hurries++;
}

static void start(fixture *f, uint64_t budget)
{
    *f = (fixture){.ledger = wd_tls_ledger_new(budget)};
    wd_tls_ledger_on_yield(f->ledger, hurry, f);
    for (size_t i = 0; i < MANY; i++)
        f->accounts[i] = wd_tls_account_open(f->ledger, names[i]);
}

static void stop(fixture *f)
{
    for (size_t i = 0; i < MANY; i++)
        wd_tls_account_close(f->accounts[i]);
    assert_int_equal(wd_tls_ledger_used(f->ledger), 0);
    assert_int_equal(wd_tls_ledger_replies(f->ledger), 0);
    wd_tls_ledger_free(f->ledger);
}

/* All of it, by four; of whole messages nobody can yield any. */
static void fill_with_whole_ones(fixture *f, uint64_t budget)
{
    for (size_t i = 0; i < LAST; i++) {
        assert_int_equal(wd_tls_account_charge(f->accounts[i], budget / WD_SHARES),
                         WD_TLS_CHARGED);
        wd_tls_account_whole(f->accounts[i]);
    }
}

/* Nearly all of it, b most; of unfinished ones. */
static void fill(fixture *f)
{
    static const uint64_t bytes[LAST] = {97, 100, 99, 98};

    for (size_t i = 0; i < LAST; i++)
        assert_int_equal(wd_tls_account_charge(f->accounts[i], bytes[i]),
                         WD_TLS_CHARGED);
}

static void assert_causes(const fixture *f, size_t who, wd_tls_cause cause)
{
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(wd_tls_account_cause(f->accounts[i]),
                         i == who ? cause : WD_TLS_NONE);
}

static void a_reserve_is_kept_to_the_byte(void **state)
{
    static const struct {
        uint64_t bytes;
        wd_tls_charge answer;
    } cases[] = {{RESERVE - 1, WD_TLS_CHARGED},
                 {RESERVE, WD_TLS_CHARGED},
                 {RESERVE + 1, WD_TLS_OVER_BUDGET}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        start(&f, BUDGET);
        fill_with_whole_ones(&f, BUDGET);
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], cases[i].bytes),
                         cases[i].answer);
        assert_causes(&f, LAST, WD_TLS_NONE);
        stop(&f);
    }
}

static void the_reserve_is_for_what_is_small(void **state)
{
    (void)state;
    for (uint64_t bytes = WD_LITTLE_BYTES - 1; bytes <= WD_LITTLE_BYTES + 1; bytes++) {
        fixture f;
        start(&f, 64 * (uint64_t)MIB);
        fill_with_whole_ones(&f, 64 * (uint64_t)MIB);
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], bytes),
                         bytes > WD_LITTLE_BYTES ? WD_TLS_OVER_BUDGET : WD_TLS_CHARGED);
        stop(&f);
    }
}

static void the_reserve_is_for_who_holds_little(void **state)
{
    enum { PART = BUDGET / WD_LITTLE_PART };

    (void)state;
    for (int more = -1; more <= 1; more++) {
        fixture f;
        start(&f, BUDGET);
        assert_int_equal(
            wd_tls_account_charge(f.accounts[LAST], (uint64_t)(PART + more)),
            WD_TLS_CHARGED);
        fill_with_whole_ones(&f, BUDGET - 8); /* 392: what is left is another's */
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], RESERVE - PART - 1),
                         more > 0 ? WD_TLS_OVER_BUDGET : WD_TLS_CHARGED);
        stop(&f);
    }
}

static void who_holds_most_yields_to_who_would_hold_less(void **state)
{
    static const struct {
        uint64_t bytes;
        wd_tls_charge answer;
    } cases[] = {{SHARE - 2, WD_TLS_CHARGED},
                 {SHARE - 1, WD_TLS_CHARGED},
                 {SHARE, WD_TLS_OVER_BUDGET}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool charged = cases[i].answer == WD_TLS_CHARGED;
        fixture f;
        start(&f, BUDGET);
        fill(&f);
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], cases[i].bytes),
                         cases[i].answer);
        assert_causes(&f, 1, charged ? WD_TLS_REQUEST_YIELDED : WD_TLS_NONE);
        assert_int_equal(f.hurries, charged ? 1 : 0);
        assert_int_equal(wd_tls_account_is_cut(f.accounts[1]), charged);
        stop(&f);
    }
}

static void from_the_reserve_nobody_yields(void **state)
{
    fixture f;

    (void)state;
    start(&f, BUDGET);
    fill(&f); /* 394 */
    assert_int_equal(wd_tls_account_charge(f.accounts[LAST], 6 + RESERVE),
                     WD_TLS_CHARGED);
    assert_int_equal(f.hurries, 0);
    assert_causes(&f, LAST, WD_TLS_NONE);
    stop(&f);
}

static void of_who_holds_most_the_oldest_unfinished_one_yields(void **state)
{
    fixture f;
    wd_tls_account *more[3];

    (void)state;
    start(&f, BUDGET);
    for (size_t i = 0; i < 3; i++) {
        more[i] = wd_tls_account_open(f.ledger, "b");
        assert_int_equal(wd_tls_account_charge(more[i], 30), WD_TLS_CHARGED);
    }
    wd_tls_account_whole(more[0]);
    for (size_t i = 0; i < LAST; i++) {
        if (i == 1)
            continue;
        assert_int_equal(wd_tls_account_charge(f.accounts[i], 89), WD_TLS_CHARGED);
        wd_tls_account_whole(f.accounts[i]);
    }
    assert_int_equal(wd_tls_account_charge(f.accounts[LAST], 73), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_cause(more[0]), WD_TLS_NONE);
    assert_int_equal(wd_tls_account_cause(more[1]), WD_TLS_REQUEST_YIELDED);
    assert_int_equal(wd_tls_account_cause(more[2]), WD_TLS_NONE);
    assert_causes(&f, LAST, WD_TLS_NONE);
    for (size_t i = 0; i < 3; i++)
        wd_tls_account_close(more[i]);
    stop(&f);
}

/* Until it is gone it is charged nothing more, and what was read of it is taken. */
static void who_yields_is_still_counted(void **state)
{
    fixture f;
    wd_tls_account *yields;

    (void)state;
    start(&f, BUDGET);
    fill(&f);
    yields = f.accounts[1];
    assert_int_equal(wd_tls_account_charge(f.accounts[LAST], 90), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_ledger_used(f.ledger), 394 + 90);
    assert_int_equal(wd_tls_account_charge(yields, 1), WD_TLS_OVER_BUDGET);
    assert_int_equal(wd_tls_account_charge_reply(yields, MIB), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_ledger_replies(f.ledger), 0);
    assert_false(wd_tls_account_cut(yields));
    wd_tls_account_give_back(yields, 10);
    wd_tls_account_take(yields, 50);
    wd_tls_account_release(yields, 50);
    assert_int_equal(wd_tls_ledger_used(f.ledger), 394 + 90 - 10 - 50);
    stop(&f);
}

/* What is about to go lies beside the budget: up to a share of it, and no more. */
static void what_is_about_to_go_is_bounded(void **state)
{
    (void)state;
    for (int more = 0; more <= 1; more++) {
        fixture f;
        wd_tls_account *fifth, *sixth;
        start(&f, BUDGET);
        fill(&f); /* 394 */
        fifth = wd_tls_account_open(f.ledger, "f");
        sixth = wd_tls_account_open(f.ledger, "g");
        assert_int_equal(wd_tls_account_charge(fifth, 60), WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge(sixth, (uint64_t)(71 + more)),
                         more > 0 ? WD_TLS_OVER_BUDGET : WD_TLS_CHARGED);
        if (more > 0) /* it was for the fifth; for the sixth nobody does */
            assert_causes(&f, 1, WD_TLS_REQUEST_YIELDED);
        wd_tls_account_close(fifth);
        wd_tls_account_close(sixth);
        stop(&f);
    }
}

/* What runs can't yield: nobody is closed for the little beside it, and in vain. */
static void claim_03_nobody_yields_in_vain(void **state)
{
    static const struct {
        uint64_t bytes;
        wd_tls_charge answer;
    } cases[] = {{9, WD_TLS_CHARGED}, {10, WD_TLS_CHARGED}, {11, WD_TLS_OVER_BUDGET}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool charged = cases[i].answer == WD_TLS_CHARGED;
        wd_tls_account *uploads[LAST];
        fixture f;
        start(&f, BUDGET);
        fill_with_whole_ones(&f, BUDGET - 2 * LAST - 2); /* 97 each, of 390 */
        for (size_t k = 0; k < LAST; k++) {
            uploads[k] = wd_tls_account_open(f.ledger, names[k]);
            assert_int_equal(wd_tls_account_charge(uploads[k], 2), WD_TLS_CHARGED);
        } /* 396, 8 of it can go */
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], 2), WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge(f.accounts[LAST], cases[i].bytes),
                         cases[i].answer);
        for (size_t k = 0; k < LAST; k++) {
            if (!charged)
                assert_int_equal(wd_tls_account_cause(uploads[k]), WD_TLS_NONE);
            wd_tls_account_close(uploads[k]);
        }
        stop(&f);
    }
}

/* b has most, and nearly all of it runs; c could give more back. */
static void claim_03_who_can_give_most_back_yields_first(void **state)
{
    wd_tls_account *upload;
    fixture f;

    (void)state;
    start(&f, BUDGET);
    assert_int_equal(wd_tls_account_charge(f.accounts[1], 95), WD_TLS_CHARGED);
    wd_tls_account_whole(f.accounts[1]);
    upload = wd_tls_account_open(f.ledger, "b");
    assert_int_equal(wd_tls_account_charge(upload, 5), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(f.accounts[0], 99), WD_TLS_CHARGED);
    wd_tls_account_whole(f.accounts[0]);
    assert_int_equal(wd_tls_account_charge(f.accounts[2], 99), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(f.accounts[3], 98), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(f.accounts[LAST], 90), WD_TLS_CHARGED);
    assert_causes(&f, 2, WD_TLS_REQUEST_YIELDED);
    assert_int_equal(wd_tls_account_cause(upload), WD_TLS_NONE);
    wd_tls_account_close(upload);
    stop(&f);
}

/* A reply that is sent to who yields gives no other reply's bytes back. */
static void claim_03_what_yields_gives_back_only_once(void **state)
{
    fixture f;

    (void)state;
    start(&f, REPLIES);
    for (size_t i = 0; i < LAST; i++)
        assert_int_equal(
            wd_tls_account_charge_reply(f.accounts[i], i == 1 ? MIB : MIB - 9),
            WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge_reply(f.accounts[LAST], MIB / 2),
                     WD_TLS_CHARGED);
    uint64_t before = wd_tls_ledger_replies(f.ledger);
    assert_int_equal(wd_tls_account_charge_reply(f.accounts[1], MIB / 4),
                     WD_TLS_CHARGED);
    wd_tls_account_reply_gone(f.accounts[1], MIB / 4);
    assert_int_equal(wd_tls_ledger_replies(f.ledger), before);
    stop(&f);
}

static void replies_yield_alike(void **state)
{
    static const struct {
        uint64_t bytes;
        wd_tls_charge answer;
    } cases[] = {{MIB - 2, WD_TLS_CHARGED},
                 {MIB - 1, WD_TLS_CHARGED},
                 {MIB, WD_TLS_OVER_BUDGET}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool charged = cases[i].answer == WD_TLS_CHARGED;
        fixture f;
        start(&f, REPLIES);
        for (size_t k = 0; k < LAST; k++)
            assert_int_equal(
                wd_tls_account_charge_reply(f.accounts[k], k == 1 ? MIB : MIB - 9),
                WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge_reply(f.accounts[LAST], cases[i].bytes),
                         cases[i].answer);
        assert_causes(&f, 1, charged ? WD_TLS_REPLY_YIELDED : WD_TLS_NONE);
        stop(&f);
    }
}

static void a_reply_that_was_read_yields_no_more(void **state)
{
    fixture f;
    wd_tls_account *reads;

    (void)state;
    start(&f, REPLIES);
    reads = wd_tls_account_open(f.ledger, "b");
    assert_int_equal(wd_tls_account_charge_reply(reads, MIB), WD_TLS_CHARGED);
    wd_tls_account_reply_gone(reads, MIB);
    for (size_t i = 0; i < LAST; i++)
        assert_int_equal(
            wd_tls_account_charge_reply(f.accounts[i], i == 1 ? MIB : MIB - 9),
            WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge_reply(f.accounts[LAST], MIB - 1),
                     WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_cause(reads), WD_TLS_NONE);
    assert_causes(&f, 1, WD_TLS_REPLY_YIELDED);
    wd_tls_account_close(reads);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reserve_is_kept_to_the_byte),
        cmocka_unit_test(the_reserve_is_for_what_is_small),
        cmocka_unit_test(the_reserve_is_for_who_holds_little),
        cmocka_unit_test(who_holds_most_yields_to_who_would_hold_less),
        cmocka_unit_test(from_the_reserve_nobody_yields),
        cmocka_unit_test(of_who_holds_most_the_oldest_unfinished_one_yields),
        cmocka_unit_test(who_yields_is_still_counted),
        cmocka_unit_test(what_is_about_to_go_is_bounded),
        cmocka_unit_test(claim_03_nobody_yields_in_vain),
        cmocka_unit_test(claim_03_who_can_give_most_back_yields_first),
        cmocka_unit_test(claim_03_what_yields_gives_back_only_once),
        cmocka_unit_test(replies_yield_alike),
        cmocka_unit_test(a_reply_that_was_read_yields_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
