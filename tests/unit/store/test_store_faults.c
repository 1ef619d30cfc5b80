/* The disk says no: nothing acknowledged is lost, nothing hangs, and it goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/store/writer_fixture.h"

/* A row, while the store still tells that it cannot be written. */
static wd_status apply_degraded(wd_store *store, wd_store_job *base, wd_error *err)
{
    if (!wd_store_degraded(store))
        return wd_fail(err, WD_FAILED_PRECONDITION, "told as mended before it was");
    return wd_job_apply(store, base, err);
}

static void claim_09_group_that_cannot_be_synced_is_unwritable(void **state)
{
    fixture *f = *state;
    job good = {0};
    wd_job_run(f, &good);
    job bad = {0};
    atomic_store(&f->shim.fail_code, SQLITE_IOERR_FSYNC);
    atomic_store(&f->shim.fail_more, 1000);
    atomic_store(&f->shim.fail_in[WD_SHIM_SYNC], 1);
    wd_job_run(f, &bad);
    wd_job_assert_unwritable(&bad);
    assert_int_equal(bad.head.seq, 1); /* the head did not move */
    assert_true(wd_store_degraded(f->base.store));
    atomic_store(&f->shim.fail_in[WD_SHIM_SYNC], 0);
    job after = {.base.apply = apply_degraded};
    wd_job_run(f, &after); /* recovery needs nobody */
    assert_int_equal(after.base.status, WD_OK);
    assert_false(wd_store_degraded(f->base.store));
    wd_assert_chain(f, 2);
}

static void one_io_error_is_mended_by_writing_the_rows_again(void **state)
{
    fixture *f = *state;
    static const struct {
        wd_shim_op op;
        int code;
    } cases[] = {{WD_SHIM_SYNC, SQLITE_IOERR_FSYNC},
                 {WD_SHIM_WRITE, SQLITE_IOERR_WRITE}};
    for (size_t i = 0; i < 2; i++) {
        job j = {0};
        atomic_store(&f->shim.fail_code, cases[i].code);
        atomic_store(&f->shim.fail_in[cases[i].op], 1);
        f->log.n = 0;
        int writes = atomic_load(&f->shim.count[WD_SHIM_WRITE]);
        wd_job_run(f, &j);
        assert_int_equal(j.base.status, WD_OK);
        assert_int_equal(j.n_applied, 2);
        assert_true(atomic_load(&f->shim.count[WD_SHIM_WRITE]) - writes >= 2);
        assert_memory_equal(f->log.text, "aaSd", 4);
    }
    wd_assert_chain(f, 2);
}

/* Every write and every sync of a commit fails in turn, once and for good. */
static void claim_09_each_failing_write_or_sync_loses_no_acknowledged_row(void **state)
{
    fixture *f = *state;
    uint64_t written = 0;
    for (int op = 0; op <= WD_SHIM_SYNC; op++) {
        for (int n = 1; n <= 8; n++) {
            job j = {0};
            atomic_store(&f->shim.fail_code, SQLITE_IOERR_WRITE);
            atomic_store(&f->shim.fail_more, n % 2 == 0 ? 1000 : 0);
            atomic_store(&f->shim.fail_in[op], n);
            wd_job_run(f, &j);
            written += j.base.status == WD_OK;
            atomic_store(&f->shim.fail_in[op], 0);
            atomic_store(&f->shim.fail_more, 0);
            wd_assert_chain(f, written);
        }
    }
    assert_true(written >= 8);
}

static off_t reserve_size(fixture *f)
{
    struct stat st;
    assert_int_equal(stat(wd_fixture_path(&f->base, "reserve"), &st), 0);
    return st.st_size;
}

static void full_disk_takes_from_the_reserve_and_gives_back(void **state)
{
    fixture *f = *state;
    job j = {0};
    atomic_store(&f->free_bytes, 0);
    atomic_store(&f->shim.fail_code, SQLITE_FULL);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 1);
    wd_job_run(f, &j);
    assert_int_equal(j.base.status, WD_OK);
    assert_int_equal(j.n_applied, 2);
    assert_int_equal(reserve_size(f), 16 << 20);
    atomic_store(&f->free_bytes, 1ULL << 40);
    job next = {0};
    wd_job_run(f, &next);
    wd_writer_stop(f->writer); /* the refill comes after the group */
    f->writer = NULL;
    assert_int_equal(reserve_size(f), 24 << 20);
    wd_assert_chain(f, 2);
}

static void disk_that_stays_full_uses_the_reserve_up_then_refuses(void **state)
{
    fixture *f = *state;
    job j = {0};
    atomic_store(&f->free_bytes, 0);
    atomic_store(&f->shim.fail_code, SQLITE_FULL);
    atomic_store(&f->shim.fail_more, 1000);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 1);
    wd_job_run(f, &j);
    wd_job_assert_unwritable(&j);
    assert_int_equal(j.n_applied, 4); /* once, and after each of three steps */
    assert_int_equal(reserve_size(f), 0);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 0);
    job after = {0};
    wd_job_run(f, &after);
    assert_int_equal(after.base.status, WD_OK);
}

/* The reserve itself is for ends and revocations: readers do not use it up. */
static void claim_09_a_broken_reserve_is_for_what_must_be_written(void **state)
{
    fixture *f = *state;
    job breaks = {0};
    atomic_store(&f->free_bytes, 0);
    job read_before = {.base.rank = WD_JOB_MAY};
    wd_job_run(f, &read_before);
    assert_int_equal(read_before.base.status, WD_OK);
    atomic_store(&f->shim.fail_code, SQLITE_FULL);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 1);
    wd_job_run(f, &breaks);
    assert_int_equal(breaks.base.status, WD_OK);
    assert_int_equal(reserve_size(f), 16 << 20);
    job read = {.base.rank = WD_JOB_MAY};
    wd_job_run(f, &read);
    wd_job_assert_unwritable(&read);
    job end = {.base.rank = WD_JOB_MUST};
    wd_job_run(f, &end);
    assert_int_equal(end.base.status, WD_OK);
    atomic_store(&f->free_bytes, 64U << 20);
    job refill = {0};
    wd_job_run(f, &refill);
    job again = {.base.rank = WD_JOB_MAY};
    wd_job_run(f, &again);
    assert_int_equal(again.base.status, WD_OK);
}

static void below_the_reserve_only_what_may_be_refused_is(void **state)
{
    fixture *f = *state;
    atomic_store(&f->free_bytes, (24U << 20) - 1);
    job begin = {.base.rank = WD_JOB_IF_ROOM};
    job end = {0};
    struct timespec start;
    struct timespec stop;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    wd_job_run(f, &begin);
    (void)clock_gettime(CLOCK_MONOTONIC, &stop);
    wd_job_assert_unwritable(&begin);
    assert_int_equal(begin.n_applied, 0);
    assert_non_null(strstr(begin.base.error.msg, "audit.reserve_bytes"));
    assert_int_not_equal(begin.base.error.retry_after_ms, 0);
    assert_true(stop.tv_sec - start.tv_sec < 2); /* 0.1 s is the promise */
    wd_job_run(f, &end);
    assert_int_equal(end.base.status, WD_OK);
    assert_true(wd_store_degraded(f->base.store));
    atomic_store(&f->free_bytes, 24U << 20);
    job again = {.base.rank = WD_JOB_IF_ROOM};
    wd_job_run(f, &again);
    assert_int_equal(again.base.status, WD_OK);
    assert_false(wd_store_degraded(f->base.store));
    wd_assert_chain(f, 2);
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_writer_set_up, wd_writer_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_09_group_that_cannot_be_synced_is_unwritable),
        TEST(one_io_error_is_mended_by_writing_the_rows_again),
        TEST(claim_09_each_failing_write_or_sync_loses_no_acknowledged_row),
        TEST(full_disk_takes_from_the_reserve_and_gives_back),
        TEST(disk_that_stays_full_uses_the_reserve_up_then_refuses),
        TEST(claim_09_a_broken_reserve_is_for_what_must_be_written),
        TEST(below_the_reserve_only_what_may_be_refused_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
