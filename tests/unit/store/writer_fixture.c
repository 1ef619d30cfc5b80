#include "tests/unit/store/writer_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "store/audit_verify.h"

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

int wd_writer_set_up(void **state)
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

int wd_writer_tear_down(void **state)
{
    fixture *f = *state;
    wd_writer_stop(f->writer);
    wd_fixture_done(&f->base);
    wd_shim_unregister(&f->shim);
    return 0;
}

/* --- jobs ------------------------------------------------------------------------- */

wd_status wd_job_apply(wd_store *store, wd_store_job *base, wd_error *err)
{
    job *j = (job *)base;
    wd_audit_row row = {.event = "call.begin"};
    if (j->begun != NULL && j->n_applied == 0)
        (void)sem_post(j->begun);
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

void wd_job_prepare(fixture *f, job *j)
{
    if (j->base.apply == NULL)
        j->base.apply = wd_job_apply;
    j->base.done = done;
    j->log = &f->log;
    j->store = f->base.store;
    assert_int_equal(sem_init(&j->done, 0, 0), 0);
}

void wd_job_submit(fixture *f, job *j)
{
    wd_job_prepare(f, j);
    wd_writer_submit(f->writer, &j->base);
}

void wd_job_wait(job *j)
{
    struct timespec until;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += 20;
    assert_int_equal(sem_timedwait(&j->done, &until), 0);
    (void)sem_destroy(&j->done);
}

void wd_job_run(fixture *f, job *j)
{
    wd_job_submit(f, j);
    wd_job_wait(j);
}

void wd_job_assert_unwritable(const job *j)
{
    assert_int_equal(j->base.status, WD_UNAVAILABLE);
    assert_int_equal(j->base.error.reason, WD_REASON_AUDIT_UNWRITABLE);
}

void wd_assert_chain(fixture *f, uint64_t rows)
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
