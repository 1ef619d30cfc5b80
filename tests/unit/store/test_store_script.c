/* A store's life with a fault of the disk at each of its writes, syncs, reads and
 * truncations in turn, once and for good: what was acknowledged is there afterwards, what
 * was not was refused, and the store goes on without a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/vfs_shim.h"
#include "tests/unit/store/store_script.h"

#define PROMISED_MS 100.0 /* for a refusal; a test fails at ten times that */
#define FOR_GOOD    1000000
#define STRIDE      7 /* of what is tried in the short form, where noted */

typedef struct fault {
    const char *name;
    wd_shim_op op;
    int code;
    int more;
    bool half;
    bool every; /* in the short form too */
} fault;

static const fault faults[] = {
    {"EIO at a write", WD_SHIM_WRITE, SQLITE_IOERR_WRITE, 0, false, true},
    {"EIO at each write from", WD_SHIM_WRITE, SQLITE_IOERR_WRITE, FOR_GOOD, false,
     false},
    {"ENOSPC at a write", WD_SHIM_WRITE, SQLITE_FULL, 0, false, false},
    {"ENOSPC at each write from", WD_SHIM_WRITE, SQLITE_FULL, FOR_GOOD, false, true},
    {"half of a write", WD_SHIM_WRITE, SQLITE_FULL, 0, true, true},
    {"half of a write, and no more from", WD_SHIM_WRITE, SQLITE_IOERR_WRITE, FOR_GOOD,
     true, false},
    {"EIO at a sync", WD_SHIM_SYNC, SQLITE_IOERR_FSYNC, 0, false, true},
    {"EIO at each sync from", WD_SHIM_SYNC, SQLITE_IOERR_FSYNC, FOR_GOOD, false, true},
    {"EIO at a truncation", WD_SHIM_TRUNCATE, SQLITE_IOERR_TRUNCATE, 0, false, true},
    {"EIO at each truncation from", WD_SHIM_TRUNCATE, SQLITE_IOERR_TRUNCATE, FOR_GOOD,
     false, true},
    {"EIO at a read", WD_SHIM_READ, SQLITE_IOERR_READ, 0, false, true},
    {"EIO at each read from", WD_SHIM_READ, SQLITE_IOERR_READ, FOR_GOOD, false, false},
};

/* One life with the nth operation failing. false: there are not so many. */
static bool run_with(wd_shim *shim, const fault *what, int n, double *worst_ms)
{
    char name[96];
    wd_script s;
    (void)snprintf(name, sizeof(name), "%s %d", what->name, n);
    wd_script_init(&s);
    s.base.options.vfs = "script-shim";
    atomic_store(&shim->fail_code, what->code);
    atomic_store(&shim->fail_more, what->more);
    atomic_store(&shim->fail_half, what->half);
    atomic_store(&shim->fail_in[what->op], n);
    int before = atomic_load(&shim->count[what->op]);
    wd_script_run(&s);
    bool came = atomic_load(&shim->count[what->op]) - before >= n;
    if (what->more == 0 && s.n_refused > 1)
        fail_msg("%s: one fault, %d refusals", name, s.n_refused);
    atomic_store(&shim->fail_in[what->op], 0);
    atomic_store(&shim->fail_more, 0);
    wd_script_recovers(&s, name);
    wd_script_check(&s, name);
    if (s.worst_ms > *worst_ms)
        *worst_ms = s.worst_ms;
    wd_script_done(&s);
    return came;
}

static void run_all(wd_shim *shim, const fault *what, double *worst_ms)
{
    int stride = what->every || getenv("WARDED_LONG") != NULL ? 1 : STRIDE;
    int runs = 0;
    int n = 1;
    for (; run_with(shim, what, n, worst_ms); n += stride)
        runs++;
    print_message("  %s: %d runs, up to number %d\n", what->name, runs, n - stride);
    assert_true(runs > 1);
}

static void without_a_fault_all_of_it_is_done(void **state)
{
    wd_script s;
    (void)state;
    wd_script_init(&s);
    wd_script_run(&s);
    assert_int_equal(s.n_heads, 2 * WD_SCRIPT_ROWS + 2);
    assert_int_equal(s.n_refused, 0);
    assert_true(s.sealed && s.revoked);
    wd_script_check(&s, "no fault");
    wd_script_done(&s);
}

static void claim_09_a_fault_at_each_operation_of_a_life_loses_nothing(void **state)
{
    static wd_shim shim; /* outlives the connections */
    double worst_ms = 0;
    (void)state;
    assert_int_equal(wd_shim_register(&shim, "script-shim"), SQLITE_OK);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        run_all(&shim, &faults[i], &worst_ms);
    wd_shim_unregister(&shim);
    print_message("  a refusal took %.1f ms at most, promised are %.0f\n", worst_ms,
                  PROMISED_MS);
    assert_true(worst_ms < 10 * PROMISED_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_fault_all_of_it_is_done),
        cmocka_unit_test(claim_09_a_fault_at_each_operation_of_a_life_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
