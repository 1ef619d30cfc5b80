/* What a caller is told of the store's own failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/told.h"

static const struct {
    const char *name;
    wd_status status;
    wd_reason want;
} cases[] = {
    {"no such row", WD_NOT_FOUND, WD_REASON_NOT_ON_RECORD},
    {"no memory", WD_RESOURCE_EXHAUSTED, WD_REASON_CAPACITY},
    {"damage", WD_DATA_LOSS, WD_REASON_CHAIN_BROKEN},
    {"not read", WD_UNAVAILABLE, WD_REASON_STORE_UNAVAILABLE},
    {"not opened", WD_PERMISSION_DENIED, WD_REASON_STORE_UNAVAILABLE},
    {"no store", WD_FAILED_PRECONDITION, WD_REASON_STORE_UNAVAILABLE},
    {"a misuse of SQLite", WD_INTERNAL, WD_REASON_BUG},
    {"none of the store's", WD_ABORTED, WD_REASON_BUG},
    {"a mistake without its field", WD_INVALID_ARGUMENT, WD_REASON_BUG},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void claim_01_a_failure_of_the_store_gets_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        wd_error err;
        print_message("  %s\n", cases[i].name);
        (void)wd_fail(&err, cases[i].status, "%s", cases[i].name);
        wd_store_tell(&err);
        assert_int_equal(err.reason, cases[i].want);
        assert_int_equal(err.status, wd_reason_status(cases[i].want));
        assert_string_equal(err.msg, cases[i].name);
    }
}

static void claim_01_no_status_is_told_without_a_reason(void **state)
{
    static const wd_status all[] = {
#define X(name, number, text) name,
        WD_STATUS_MAP(X)
#undef X
    };
    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        wd_error err;
        (void)wd_fail(&err, all[i], "why");
        wd_store_tell(&err);
        assert_true((all[i] == WD_OK) == (err.reason == WD_REASON_NONE));
        assert_true(all[i] == WD_OK || err.status == wd_reason_status(err.reason));
    }
}

static void a_reason_that_is_there_stays(void **state)
{
    wd_error err;
    (void)state;
    (void)wd_refuse(&err, WD_REASON_RUN_TIMEOUT, "late");
    err.retry_after_ms = 7;
    wd_store_tell(&err);
    assert_int_equal(err.reason, WD_REASON_RUN_TIMEOUT);
    assert_int_equal(err.status, WD_DEADLINE_EXCEEDED);
    assert_int_equal(err.retry_after_ms, 7);
    wd_store_tell(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_01_a_failure_of_the_store_gets_its_reason),
        cmocka_unit_test(claim_01_no_status_is_told_without_a_reason),
        cmocka_unit_test(a_reason_that_is_there_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
