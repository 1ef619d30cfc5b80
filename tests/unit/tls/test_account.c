/* Whose requests and replies are in memory. */
#include <stdbool.h>

#include "check.h"
#include "proto/tls/account.h"

enum { BUDGET = 400, SHARE = BUDGET / 4 };

static const char *const names[] = {"a", "b", "c", "d", "e"};

static void a_share_is_a_quarter_to_the_byte(void **state)
{
    static const struct {
        uint64_t bytes;
        wd_tls_charge answer;
    } cases[] = {{0, WD_TLS_CHARGED},
                 {SHARE - 1, WD_TLS_CHARGED},
                 {SHARE, WD_TLS_CHARGED},
                 {SHARE + 1, WD_TLS_OVER_SHARE},
                 {BUDGET, WD_TLS_OVER_SHARE},
                 {BUDGET + 1, WD_TLS_OVER_SHARE},
                 {UINT64_MAX, WD_TLS_OVER_SHARE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
        wd_tls_account *account = wd_tls_account_open(ledger, "a");
        bool charged = cases[i].answer == WD_TLS_CHARGED;
        assert_int_equal(wd_tls_account_charge(account, cases[i].bytes),
                         cases[i].answer);
        assert_int_equal(wd_tls_ledger_used(ledger), charged ? cases[i].bytes : 0);
        wd_tls_account_close(account);
        assert_int_equal(wd_tls_ledger_used(ledger), 0);
    }
}

static void connections_of_a_principal_share_its_share(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
    wd_tls_account *one = wd_tls_account_open(ledger, "a");
    wd_tls_account *two = wd_tls_account_open(ledger, "a");
    wd_tls_account *other = wd_tls_account_open(ledger, "b");

    (void)state;
    assert_int_equal(wd_tls_account_charge(one, SHARE - 1), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(two, 2), WD_TLS_OVER_SHARE);
    assert_int_equal(wd_tls_account_charge(two, 1), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(other, SHARE), WD_TLS_CHARGED);
    wd_tls_account_close(one);
    assert_int_equal(wd_tls_account_charge(two, SHARE - 1), WD_TLS_CHARGED);
    wd_tls_account_close(two);
    wd_tls_account_close(other);
    assert_int_equal(wd_tls_ledger_used(ledger), 0);
}

/* Three principals with a whole share each, and two that share the fourth. */
static void the_budget_holds_to_the_byte(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 3; more++) {
        WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
        wd_tls_account *accounts[5];
        for (size_t i = 0; i < 5; i++)
            accounts[i] = wd_tls_account_open(ledger, names[i]);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(wd_tls_account_charge(accounts[i], SHARE), WD_TLS_CHARGED);
            wd_tls_account_whole(accounts[i]); /* nobody yields */
        }
        assert_int_equal(wd_tls_account_charge(accounts[3], more), WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge(accounts[4], 2), WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge(accounts[4], SHARE - 3),
                         more <= 1 ? WD_TLS_CHARGED : WD_TLS_OVER_BUDGET);
        for (size_t i = 0; i < 5; i++)
            wd_tls_account_close(accounts[i]);
        assert_int_equal(wd_tls_ledger_used(ledger), 0);
    }
}

static void what_was_taken_outlives_its_connection(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
    wd_tls_account *account = wd_tls_account_open(ledger, "a");
    wd_tls_account *again = NULL;
    WD_AUTO(wd_tls_account) *mine =
        wd_tls_account_find(ledger, wd_tls_account_id(account));

    (void)state;
    assert_ptr_equal(mine, account);
    assert_int_equal(wd_tls_account_charge(account, 50), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(account, 30), WD_TLS_CHARGED);
    wd_tls_account_take(mine, 50);
    wd_tls_account_close(account); /* with 30 that nobody took */
    assert_int_equal(wd_tls_ledger_used(ledger), 50);
    assert_null(wd_tls_account_find(ledger, wd_tls_account_id(mine)));
    again = wd_tls_account_open(ledger, "a"); /* still the same principal's share */
    assert_int_equal(wd_tls_account_charge(again, SHARE - 50 + 1), WD_TLS_OVER_SHARE);
    wd_tls_account_release(mine, 50);
    assert_int_equal(wd_tls_ledger_used(ledger), 0);
    wd_tls_account_close(again);
}

/* Given back by the end of the connection, taken all the same: it is there. */
static void what_is_taken_late_is_charged_again(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
    wd_tls_account *account = wd_tls_account_open(ledger, "a");
    WD_AUTO(wd_tls_account) *mine = wd_tls_account_ref(account);

    (void)state;
    assert_int_equal(wd_tls_account_charge(account, 50), WD_TLS_CHARGED);
    wd_tls_account_close(account);
    assert_int_equal(wd_tls_ledger_used(ledger), 0);
    wd_tls_account_take(mine, 50);
    assert_int_equal(wd_tls_ledger_used(ledger), 50);
    wd_tls_account_release(mine, 50);
    assert_int_equal(wd_tls_ledger_used(ledger), 0);
}

enum { FREE = WD_FREE_REPLY_BYTES, ROOM = 40 * FREE, PART = ROOM / WD_SHARES };

static void a_reply_is_charged_until_its_connection_has_taken_it(void **state)
{
    static const struct {
        uint64_t bytes, charged;
        wd_tls_charge answer;
    } cases[] = {{0, 0, WD_TLS_CHARGED},
                 {FREE, 0, WD_TLS_CHARGED},
                 {FREE + 1, FREE + 1, WD_TLS_CHARGED},
                 {PART, PART, WD_TLS_CHARGED},
                 {PART + 1, 0, WD_TLS_OVER_SHARE},
                 {UINT64_MAX, 0, WD_TLS_OVER_SHARE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(ROOM);
        wd_tls_account *account = wd_tls_account_open(ledger, "a");
        for (int close = 0; close < 2; close++) {
            assert_int_equal(wd_tls_account_charge_reply(account, cases[i].bytes),
                             cases[i].answer);
            assert_int_equal(wd_tls_ledger_replies(ledger), cases[i].charged);
            if (close)
                wd_tls_account_close(account);
            else
                wd_tls_account_reply_gone(account, cases[i].bytes);
            assert_int_equal(wd_tls_ledger_replies(ledger), 0);
        }
    }
}

static void replies_fill_their_budget_and_leave_that_of_requests(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(ROOM);
    wd_tls_account *accounts[5];

    (void)state;
    for (size_t i = 0; i < 5; i++)
        accounts[i] = wd_tls_account_open(ledger, names[i]);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(wd_tls_account_charge_reply(accounts[i], PART),
                         WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge_reply(accounts[4], PART),
                     WD_TLS_OVER_BUDGET);
    assert_int_equal(wd_tls_account_charge_reply(accounts[4], FREE), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge(accounts[0], PART), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_ledger_used(ledger), PART);
    for (size_t i = 0; i < 5; i++)
        wd_tls_account_close(accounts[i]);
    assert_int_equal(wd_tls_ledger_replies(ledger), 0);
    assert_int_equal(wd_tls_ledger_used(ledger), 0);
}

/* Its connection has ended before, or nobody has charged it: nothing is given back. */
static void a_reply_that_is_not_charged_gives_nothing_back(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(ROOM);
    wd_tls_account *other = wd_tls_account_open(ledger, "a");
    wd_tls_account *account = wd_tls_account_open(ledger, "a");
    WD_AUTO(wd_tls_account) *mine = wd_tls_account_ref(account);

    (void)state;
    assert_int_equal(wd_tls_account_charge_reply(other, PART), WD_TLS_CHARGED);
    wd_tls_account_reply_gone(mine, PART);
    wd_tls_account_close(account);
    assert_int_equal(wd_tls_account_charge_reply(mine, UINT64_MAX), WD_TLS_CHARGED);
    wd_tls_account_reply_gone(mine, PART);
    assert_int_equal(wd_tls_ledger_replies(ledger), PART);
    wd_tls_account_close(other);
}

static void no_budget_asks_nothing(void **state)
{
    (void)state;
    assert_null(wd_tls_account_find(NULL, 1));
    assert_null(wd_tls_account_ref(NULL));
    wd_tls_account_take(NULL, 1);
    wd_tls_account_release(NULL, 1);
    assert_int_equal(wd_tls_account_charge_reply(NULL, UINT64_MAX), WD_TLS_CHARGED);
    wd_tls_account_reply_gone(NULL, UINT64_MAX);
    wd_tls_account_close(NULL);
    wd_tls_account_free(NULL);
    wd_tls_ledger_free(NULL);
}

static void a_ledger_lives_as_long_as_its_last_account(void **state)
{
    wd_tls_ledger *ledger = wd_tls_ledger_new(BUDGET);
    wd_tls_account *account = wd_tls_account_open(ledger, "a");

    (void)state;
    wd_tls_ledger_free(ledger);
    assert_int_equal(wd_tls_account_charge(account, 1), WD_TLS_CHARGED);
    wd_tls_account_close(account);
}

static void a_connection_is_cut_off_once(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
    wd_tls_account *account = wd_tls_account_open(ledger, "a");
    wd_tls_account *other = wd_tls_account_open(ledger, "a");

    (void)state;
    assert_false(wd_tls_account_is_cut(account));
    assert_true(wd_tls_account_cut(account));
    assert_false(wd_tls_account_cut(account));
    assert_true(wd_tls_account_is_cut(account));
    assert_false(wd_tls_account_is_cut(other));
    wd_tls_account_close(account);
    wd_tls_account_close(other);
    assert_false(wd_tls_account_cut(NULL));
    assert_false(wd_tls_account_is_cut(NULL));
}

/* Growth is the owner's, whatever becomes of the connection, and within the share. */
static void what_a_message_grows_to_is_charged_to_the_byte(void **state)
{
    static const struct {
        uint64_t grows;
        wd_tls_charge answer;
    } cases[] = {{SHARE - 11, WD_TLS_CHARGED},
                 {SHARE - 10, WD_TLS_CHARGED},
                 {SHARE - 9, WD_TLS_OVER_SHARE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET);
        WD_AUTO(wd_tls_account) *owner = NULL;
        wd_tls_account *account = wd_tls_account_open(ledger, "a");
        uint64_t grown = cases[i].answer == WD_TLS_CHARGED ? cases[i].grows : 0;
        owner = wd_tls_account_ref(account);
        assert_int_equal(wd_tls_account_charge(account, 10), WD_TLS_CHARGED);
        wd_tls_account_take(account, 10);
        assert_int_equal(wd_tls_account_grow(owner, cases[i].grows), cases[i].answer);
        wd_tls_account_close(account);
        assert_int_equal(wd_tls_ledger_used(ledger), 10 + grown);
        assert_int_equal(wd_tls_account_grow(owner, 0), WD_TLS_CHARGED);
        wd_tls_account_release(owner, 10 + grown);
        assert_int_equal(wd_tls_ledger_used(ledger), 0);
    }
    assert_int_equal(wd_tls_account_grow(NULL, UINT64_MAX), WD_TLS_CHARGED);
}

static void expect_used(const wd_tls_account *account, uint64_t requests,
                        uint64_t replies)
{
    uint64_t used[2] = {1, 1};

    wd_tls_account_used(account, &used[0], &used[1]);
    assert_int_equal(used[0], requests);
    assert_int_equal(used[1], replies);
}

/* Also what its messages' owners have, and none of another's. */
static void an_account_tells_what_it_has_charged(void **state)
{
    WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(ROOM);
    wd_tls_account *one = wd_tls_account_open(ledger, "a");
    wd_tls_account *other = wd_tls_account_open(ledger, "a");
    WD_AUTO(wd_tls_account) *mine = wd_tls_account_ref(one);

    (void)state;
    expect_used(NULL, 0, 0);
    expect_used(one, 0, 0);
    assert_int_equal(wd_tls_account_charge(one, 50), WD_TLS_CHARGED);
    assert_int_equal(wd_tls_account_charge_reply(one, FREE + 1), WD_TLS_CHARGED);
    expect_used(one, 50, FREE + 1);
    wd_tls_account_take(mine, 30);
    expect_used(one, 50, FREE + 1);
    assert_int_equal(wd_tls_account_grow(mine, 7), WD_TLS_CHARGED);
    expect_used(one, 57, FREE + 1);
    wd_tls_account_reply_gone(mine, FREE + 1);
    wd_tls_account_give_back(one, 5);
    expect_used(one, 52, 0);
    expect_used(other, 0, 0);
    wd_tls_account_close(one);
    expect_used(mine, 37, 0);
    wd_tls_account_release(mine, 37);
    expect_used(mine, 0, 0);
    wd_tls_account_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_a_quarter_to_the_byte),
        cmocka_unit_test(connections_of_a_principal_share_its_share),
        cmocka_unit_test(the_budget_holds_to_the_byte),
        cmocka_unit_test(what_was_taken_outlives_its_connection),
        cmocka_unit_test(what_is_taken_late_is_charged_again),
        cmocka_unit_test(what_a_message_grows_to_is_charged_to_the_byte),
        cmocka_unit_test(a_reply_is_charged_until_its_connection_has_taken_it),
        cmocka_unit_test(replies_fill_their_budget_and_leave_that_of_requests),
        cmocka_unit_test(a_reply_that_is_not_charged_gives_nothing_back),
        cmocka_unit_test(a_connection_is_cut_off_once),
        cmocka_unit_test(an_account_tells_what_it_has_charged),
        cmocka_unit_test(no_budget_asks_nothing),
        cmocka_unit_test(a_ledger_lives_as_long_as_its_last_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
