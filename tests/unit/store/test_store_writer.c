/* The writer: groups, savepoints, and what happens when the disk says no. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "store/audit_verify.h"
#include "store/token_table.h"
#include "tests/support/store_fixture.h"
#include "tests/support/vfs_shim.h"

#define LOG_EVENTS 4096

typedef struct journal { /* what happened, in order; one thread writes at a time */
    char text[LOG_EVENTS];
    size_t n;
} journal;

typedef struct fixture {
    wd_fixture base; /* first */
    wd_shim shim;
    journal log;
    _Atomic uint64_t free_bytes;
    wd_writer *writer;
} fixture;

static void note(journal *log, char c)
{
    if (log->n + 1 < LOG_EVENTS)
        log->text[log->n++] = c;
}

/* S: a sync of the WAL has returned well. */
static void on_event(void *arg, const wd_shim_event *event)
{
    bool wal = (event->open_flags & SQLITE_OPEN_WAL) != 0;
    if (wal && event->op == WD_SHIM_SYNC && event->when == WD_SHIM_AFTER &&
        event->code == SQLITE_OK)
        note(arg, 'S');
}

static int fake_free(void *arg, const char *dir, uint64_t *ret_bytes)
{
    (void)dir;
    *ret_bytes = atomic_load((_Atomic uint64_t *)arg);
    return 0;
}

static int set_up(void **state)
{
    static fixture f; /* cmocka's state needs an address */
    memset(&f, 0, sizeof(f));
    f.shim.event = on_event;
    f.shim.arg = &f.log;
    atomic_store(&f.free_bytes, 1ULL << 40);
    assert_int_equal(wd_shim_register(&f.shim, "test-shim"), SQLITE_OK);
    wd_fixture_init(&f.base);
    f.base.options.vfs = "test-shim";
    f.base.options.disk.free_bytes = fake_free;
    f.base.options.disk.arg = &f.free_bytes;
    f.base.options.reserve_bytes = 24U << 20;
    wd_fixture_open(&f.base);
    assert_int_equal(wd_writer_start(f.base.store, &f.writer, NULL), WD_OK);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    wd_writer_stop(f->writer);
    wd_fixture_done(&f->base);
    wd_shim_unregister(&f->shim);
    return 0;
}

/* --- jobs ------------------------------------------------------------------------- */

typedef struct job {
    wd_store_job base; /* first */
    journal *log;
    sem_t done;
    sem_t *gate;    /* apply waits here first */
    int fail_after; /* fails after so many rows; 0: one row, no failure */
    int n_applied;
    wd_head head;
    wd_store *store;
} job;

static wd_status apply(wd_store *store, wd_store_job *base, wd_error *err)
{
    job *j = (job *)base;
    wd_audit_row row = {.event = "call.begin"};
    if (j->gate != NULL && j->n_applied == 0)
        (void)sem_wait(j->gate);
    j->n_applied++;
    for (int i = 0; i < j->fail_after; i++)
        WD_TRY(wd_audit_append(store, &row, err));
    if (j->fail_after > 0)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "told to fail");
    note(j->log, 'a');
    return wd_audit_append(store, &row, err);
}

static void done(wd_store_job *base)
{
    job *j = (job *)base;
    j->head = wd_audit_head(j->store);
    note(j->log, base->status == WD_OK ? 'd' : 'f');
    (void)sem_post(&j->done);
}

static void submit(fixture *f, job *j)
{
    if (j->base.apply == NULL)
        j->base.apply = apply;
    j->base.done = done;
    j->log = &f->log;
    j->store = f->base.store;
    assert_int_equal(sem_init(&j->done, 0, 0), 0);
    wd_writer_submit(f->writer, &j->base);
}

static void wait_for(job *j)
{
    struct timespec until;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += 20;
    assert_int_equal(sem_timedwait(&j->done, &until), 0);
    (void)sem_destroy(&j->done);
}

static void run_one(fixture *f, job *j)
{
    submit(f, j);
    wait_for(j);
}

static void assert_unwritable(const job *j)
{
    assert_int_equal(j->base.status, WD_UNAVAILABLE);
    assert_int_equal(j->base.error.reason, WD_REASON_AUDIT_UNWRITABLE);
}

static void assert_chain(fixture *f, uint64_t rows)
{
    WD_AUTO(wd_reader) *reader = NULL;
    wd_audit_report report;
    wd_audit_range all = {0};
    wd_error err = {0};
    assert_int_equal(wd_reader_open(f->base.dir, NULL, &reader, NULL), WD_OK);
    if (wd_audit_verify(reader, &all, &report, &err) != WD_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(report.rows, rows);
    assert_int_equal(wd_audit_head(f->base.store).seq, rows);
}

/* --- groups ----------------------------------------------------------------------- */

static void claim_08_row_is_synced_before_its_job_is_done(void **state)
{
    fixture *f = *state;
    f->log = (journal){0};
    for (int i = 0; i < 3; i++) {
        job j = {0};
        run_one(f, &j);
        assert_int_equal(j.base.status, WD_OK);
    }
    assert_memory_equal(f->log.text, "aSdaSdaSd", 9); /* the first sync may be two */
}

static void what_queues_while_a_commit_runs_is_one_group(void **state)
{
    fixture *f = *state;
    sem_t gate;
    job first = {.gate = &gate};
    job more[10] = {0};
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    submit(f, &first);
    for (int i = 0; i < 10; i++)
        submit(f, &more[i]);
    f->log.n = 0;
    assert_int_equal(sem_post(&gate), 0);
    wait_for(&first);
    for (int i = 0; i < 10; i++)
        wait_for(&more[i]);
    /* in the order they came; one sync for the first, one for the ten (unless the writer
     * was slow to take the first: then one for all) */
    size_t syncs = 0;
    for (size_t i = 0; i < f->log.n; i++)
        syncs += f->log.text[i] == 'S';
    assert_in_range(syncs, 1, 2);
    for (int i = 0; i < 10; i++)
        assert_int_equal(more[i].head.seq, 11);
    assert_chain(f, 11);
    (void)sem_destroy(&gate);
}

static void failed_job_leaves_the_others_of_its_group(void **state)
{
    fixture *f = *state;
    sem_t gate;
    job first = {.gate = &gate};
    job good[2] = {0};
    job bad = {.fail_after = 3};
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    submit(f, &first);
    submit(f, &good[0]);
    submit(f, &bad);
    submit(f, &good[1]);
    assert_int_equal(sem_post(&gate), 0);
    wait_for(&first);
    wait_for(&good[0]);
    wait_for(&bad);
    wait_for(&good[1]);
    assert_int_equal(bad.base.status, WD_NOT_FOUND);
    assert_int_equal(good[0].base.status, WD_OK);
    assert_int_equal(good[1].base.status, WD_OK);
    assert_chain(f, 3); /* and none of the three rows of the one that failed */
    (void)sem_destroy(&gate);
}

static void stop_writes_what_is_queued(void **state)
{
    fixture *f = *state;
    job jobs[20] = {0};
    for (int i = 0; i < 20; i++)
        submit(f, &jobs[i]);
    wd_writer_stop(f->writer);
    f->writer = NULL;
    for (int i = 0; i < 20; i++) {
        wait_for(&jobs[i]);
        assert_int_equal(jobs[i].base.status, WD_OK);
    }
    assert_chain(f, 20);
}

/* --- the disk says no ------------------------------------------------------------- */

static void claim_09_group_that_cannot_be_synced_is_unwritable(void **state)
{
    fixture *f = *state;
    job good = {0};
    run_one(f, &good);
    job bad = {0};
    atomic_store(&f->shim.fail_code, SQLITE_IOERR_FSYNC);
    atomic_store(&f->shim.fail_more, 1000);
    atomic_store(&f->shim.fail_in[WD_SHIM_SYNC], 1);
    run_one(f, &bad);
    assert_unwritable(&bad);
    assert_int_equal(bad.head.seq, 1); /* the head did not move */
    assert_true(wd_store_degraded(f->base.store));
    atomic_store(&f->shim.fail_in[WD_SHIM_SYNC], 0);
    job after = {0};
    run_one(f, &after); /* recovery needs nobody */
    assert_int_equal(after.base.status, WD_OK);
    assert_false(wd_store_degraded(f->base.store));
    assert_chain(f, 2);
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
        run_one(f, &j);
        assert_int_equal(j.base.status, WD_OK);
        assert_int_equal(j.n_applied, 2);
        assert_true(atomic_load(&f->shim.count[WD_SHIM_WRITE]) - writes >= 2);
        assert_memory_equal(f->log.text, "aaSd", 4);
    }
    assert_chain(f, 2);
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
            run_one(f, &j);
            written += j.base.status == WD_OK;
            atomic_store(&f->shim.fail_in[op], 0);
            atomic_store(&f->shim.fail_more, 0);
            assert_chain(f, written);
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
    run_one(f, &j);
    assert_int_equal(j.base.status, WD_OK);
    assert_int_equal(j.n_applied, 2);
    assert_int_equal(reserve_size(f), 16 << 20);
    atomic_store(&f->free_bytes, 1ULL << 40);
    job next = {0};
    run_one(f, &next);
    wd_writer_stop(f->writer); /* the refill comes after the group */
    f->writer = NULL;
    assert_int_equal(reserve_size(f), 24 << 20);
    assert_chain(f, 2);
}

static void disk_that_stays_full_uses_the_reserve_up_then_refuses(void **state)
{
    fixture *f = *state;
    job j = {0};
    atomic_store(&f->free_bytes, 0);
    atomic_store(&f->shim.fail_code, SQLITE_FULL);
    atomic_store(&f->shim.fail_more, 1000);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 1);
    run_one(f, &j);
    assert_unwritable(&j);
    assert_int_equal(j.n_applied, 4); /* once, and after each of three steps */
    assert_int_equal(reserve_size(f), 0);
    atomic_store(&f->shim.fail_in[WD_SHIM_WRITE], 0);
    job after = {0};
    run_one(f, &after);
    assert_int_equal(after.base.status, WD_OK);
}

static void below_the_reserve_only_what_may_be_refused_is(void **state)
{
    fixture *f = *state;
    atomic_store(&f->free_bytes, (24U << 20) - 1);
    job begin = {.base.refusable = true};
    job end = {0};
    struct timespec start;
    struct timespec stop;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    run_one(f, &begin);
    (void)clock_gettime(CLOCK_MONOTONIC, &stop);
    assert_unwritable(&begin);
    assert_int_equal(begin.n_applied, 0);
    assert_non_null(strstr(begin.base.error.msg, "audit.reserve_bytes"));
    assert_int_not_equal(begin.base.error.retry_after_ms, 0);
    assert_true(stop.tv_sec - start.tv_sec < 2); /* 0.1 s is the promise */
    run_one(f, &end);
    assert_int_equal(end.base.status, WD_OK);
    assert_true(wd_store_degraded(f->base.store));
    atomic_store(&f->free_bytes, 24U << 20);
    job again = {.base.refusable = true};
    run_one(f, &again);
    assert_int_equal(again.base.status, WD_OK);
    assert_false(wd_store_degraded(f->base.store));
    assert_chain(f, 2);
}

/* --- tokens through the writer ---------------------------------------------------- */

typedef struct token_job {
    job base; /* first */
    wd_token *token;
} token_job;

static wd_status apply_insert(wd_store *store, wd_store_job *base, wd_error *err)
{
    token_job *j = (token_job *)base;
    WD_TRY(wd_tokens_insert(store, j->token, err));
    return apply(store, base, err);
}

static void token_is_known_once_durable_and_never_when_not(void **state)
{
    fixture *f = *state;
    static const char *const scopes[] = {"observe:*"};
    wd_token_spec spec = {
        .name = "a", .scopes = scopes, .n_scopes = 1, .bind = "uri:spiffe://x/y"};
    wd_token_table *table = wd_store_tokens(f->base.store);
    for (int fails = 1; fails >= 0; fails--) {
        WD_AUTO_ISSUED issued = {0};
        assert_int_equal(wd_token_make(&spec, 1, &issued, NULL), WD_OK);
        token_job j = {.token = issued.token};
        j.base.fail_after = fails;
        j.base.base.apply = apply_insert;
        submit(f, &j.base);
        wait_for(&j.base);
        assert_int_equal(wd_token_table_count(table), 1 - fails);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_08_row_is_synced_before_its_job_is_done),
        TEST(what_queues_while_a_commit_runs_is_one_group),
        TEST(failed_job_leaves_the_others_of_its_group),
        TEST(stop_writes_what_is_queued),
        TEST(claim_09_group_that_cannot_be_synced_is_unwritable),
        TEST(one_io_error_is_mended_by_writing_the_rows_again),
        TEST(claim_09_each_failing_write_or_sync_loses_no_acknowledged_row),
        TEST(full_disk_takes_from_the_reserve_and_gives_back),
        TEST(disk_that_stays_full_uses_the_reserve_up_then_refuses),
        TEST(below_the_reserve_only_what_may_be_refused_is),
        TEST(token_is_known_once_durable_and_never_when_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
