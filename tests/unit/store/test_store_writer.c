/* The writer: groups in order, savepoints, nothing told before it is durable. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/token_table.h"
#include "tests/unit/store/writer_fixture.h"

static void claim_08_row_is_synced_before_its_job_is_done(void **state)
{
    fixture *f = *state;
    f->log = (journal){0};
    for (int i = 0; i < 3; i++) {
        job j = {0};
        wd_job_run(f, &j);
        assert_int_equal(j.base.status, WD_OK);
    }
    assert_memory_equal(f->log.text, "aSdaSdaSd", 9); /* the first sync may be two */
}

static void what_queues_while_a_commit_runs_is_one_group(void **state)
{
    fixture *f = *state;
    sem_t gate;
    sem_t begun;
    job first = {.gate = &gate, .begun = &begun};
    job more[10] = {0};
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    wd_job_submit(f, &first);
    assert_int_equal(sem_wait(&begun), 0); /* the writer has it, and it alone */
    for (int i = 0; i < 10; i++)
        wd_job_submit(f, &more[i]);
    f->log.n = 0;
    assert_int_equal(sem_post(&gate), 0);
    wd_job_wait(&first);
    for (int i = 0; i < 10; i++)
        wd_job_wait(&more[i]);
    size_t syncs = 0;
    for (size_t i = 0; i < f->log.n; i++)
        syncs += f->log.text[i] == 'S';
    assert_int_equal(syncs, 2); /* one for the first, one for the ten */
    for (int i = 0; i < 10; i++)
        assert_int_equal(more[i].head.seq, 11);
    wd_assert_chain(f, 11);
    (void)sem_destroy(&begun);
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
    wd_job_submit(f, &first);
    wd_job_submit(f, &good[0]);
    wd_job_submit(f, &bad);
    wd_job_submit(f, &good[1]);
    assert_int_equal(sem_post(&gate), 0);
    wd_job_wait(&first);
    wd_job_wait(&good[0]);
    wd_job_wait(&bad);
    wd_job_wait(&good[1]);
    assert_int_equal(bad.base.status, WD_NOT_FOUND);
    assert_int_equal(good[0].base.status, WD_OK);
    assert_int_equal(good[1].base.status, WD_OK);
    wd_assert_chain(f, 3); /* and none of the three rows of the one that failed */
    (void)sem_destroy(&gate);
}

static void stop_writes_what_is_queued(void **state)
{
    fixture *f = *state;
    job jobs[20] = {0};
    for (int i = 0; i < 20; i++)
        wd_job_submit(f, &jobs[i]);
    wd_writer_stop(f->writer);
    f->writer = NULL;
    for (int i = 0; i < 20; i++) {
        wd_job_wait(&jobs[i]);
        assert_int_equal(jobs[i].base.status, WD_OK);
    }
    wd_assert_chain(f, 20);
}

/* Tries again until it is written; `more` counts the tries. */
typedef struct stubborn {
    job base; /* first */
    wd_writer *writer;
    void (*told)(wd_store_job *); /* the fixture's done */
    _Atomic int more;
    _Atomic bool dropped;
} stubborn;

static void retry(wd_store_job *base)
{
    stubborn *j = (stubborn *)base;
    if (base->status != WD_OK) {
        assert_int_equal(base->error.reason, WD_REASON_AUDIT_UNWRITABLE);
        atomic_fetch_add(&j->more, 1);
        if (wd_writer_retry(j->writer, base))
            return;
        atomic_store(&j->dropped, true);
    }
    j->told(base);
}

static void submit_stubborn(fixture *f, stubborn *j)
{
    wd_job_prepare(f, &j->base);
    j->writer = f->writer;
    j->told = j->base.base.done;
    j->base.base.done = retry;
    wd_writer_submit(f->writer, &j->base.base);
}

static void fail_syncs(fixture *f, int n)
{
    atomic_store(&f->shim.fail_code, SQLITE_IOERR_FSYNC);
    atomic_store(&f->shim.fail_more, n - 1);
    atomic_store(&f->shim.fail_in[WD_SHIM_SYNC], n > 0);
}

static void retry_is_written_by_itself_once_the_disk_is_back(void **state)
{
    fixture *f = *state;
    stubborn j = {0};
    fail_syncs(f, 2 * 2); /* a group is written twice: two tries fail */
    submit_stubborn(f, &j);
    wd_job_wait(&j.base);
    assert_int_equal(j.base.base.status, WD_OK);
    assert_int_equal(atomic_load(&j.more), 2);
    assert_false(wd_store_degraded(f->base.store));
    wd_assert_chain(f, 1);
}

static void retry_goes_before_the_next_group_in_its_order(void **state)
{
    fixture *f = *state;
    stubborn owed[2] = {0};
    job next = {0};
    fail_syncs(f, 1000);
    for (int i = 0; i < 2; i++)
        submit_stubborn(f, &owed[i]);
    while (atomic_load(&owed[1].more) == 0)
        (void)sched_yield();
    fail_syncs(f, 0);
    wd_job_run(f, &next);
    assert_int_equal(next.base.status, WD_OK);
    for (int i = 0; i < 2; i++) {
        wd_job_wait(&owed[i].base);
        assert_int_equal(owed[i].base.base.status, WD_OK);
    }
    wd_assert_chain(f, 3);
}

static void stop_gives_back_what_still_cannot_be_written(void **state)
{
    fixture *f = *state;
    stubborn j = {0};
    fail_syncs(f, 1000);
    submit_stubborn(f, &j);
    while (atomic_load(&j.more) == 0)
        (void)sched_yield();
    wd_writer_stop(f->writer);
    f->writer = NULL;
    wd_job_wait(&j.base);
    assert_true(atomic_load(&j.dropped));
    assert_int_equal(j.base.base.status, WD_UNAVAILABLE);
    fail_syncs(f, 0);
    wd_assert_chain(f, 0);
}

typedef struct token_job {
    job base; /* first */
    wd_token *token;
} token_job;

static wd_status apply_insert(wd_store *store, wd_store_job *base, wd_error *err)
{
    token_job *j = (token_job *)base;
    const wd_audit_row by = {.principal = "local:0"};
    WD_TRY(wd_tokens_add(store, j->token, &by, err));
    return wd_job_apply(store, base, err);
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
        wd_job_submit(f, &j.base);
        wd_job_wait(&j.base);
        assert_int_equal(wd_token_table_count(table), 1 - fails);
    }
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, wd_writer_set_up, wd_writer_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(claim_08_row_is_synced_before_its_job_is_done),
        TEST(what_queues_while_a_commit_runs_is_one_group),
        TEST(failed_job_leaves_the_others_of_its_group),
        TEST(stop_writes_what_is_queued),
        TEST(retry_is_written_by_itself_once_the_disk_is_back),
        TEST(retry_goes_before_the_next_group_in_its_order),
        TEST(stop_gives_back_what_still_cannot_be_written),
        TEST(token_is_known_once_durable_and_never_when_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
