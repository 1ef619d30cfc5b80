/* Whose request bytes are in memory. */
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

/* Four principals with a whole share each, then a fifth. */
static void the_budget_holds_to_the_byte(void **state)
{
    (void)state;
    for (uint64_t free_bytes = 0; free_bytes < 3; free_bytes++) {
        WD_AUTO(wd_tls_ledger) *ledger = wd_tls_ledger_new(BUDGET + free_bytes);
        wd_tls_account *accounts[5];
        for (size_t i = 0; i < 5; i++)
            accounts[i] = wd_tls_account_open(ledger, names[i]);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(wd_tls_account_charge(accounts[i], SHARE), WD_TLS_CHARGED);
        assert_int_equal(wd_tls_account_charge(accounts[4], 1),
                         free_bytes >= 1 ? WD_TLS_CHARGED : WD_TLS_OVER_BUDGET);
        assert_int_equal(wd_tls_account_charge(accounts[4], 1),
                         free_bytes >= 2 ? WD_TLS_CHARGED : WD_TLS_OVER_BUDGET);
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

static void no_budget_asks_nothing(void **state)
{
    (void)state;
    assert_null(wd_tls_account_find(NULL, 1));
    assert_null(wd_tls_account_ref(NULL));
    wd_tls_account_take(NULL, 1);
    wd_tls_account_release(NULL, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_a_quarter_to_the_byte),
        cmocka_unit_test(connections_of_a_principal_share_its_share),
        cmocka_unit_test(the_budget_holds_to_the_byte),
        cmocka_unit_test(what_was_taken_outlives_its_connection),
        cmocka_unit_test(what_is_taken_late_is_charged_again),
        cmocka_unit_test(no_budget_asks_nothing),
        cmocka_unit_test(a_ledger_lives_as_long_as_its_last_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
