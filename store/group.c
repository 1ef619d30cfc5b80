/* One commit for all the jobs that have queued: BEGIN, a savepoint each, COMMIT. */
#include <stdio.h>

#include "store/internal.h"
#include "store/told.h"

#define KEEP_TIME_MS 1000 /* how far the highest time may run ahead of the kept one */
#define IO_ATTEMPTS  2    /* a group is written again once after EIO, rows and all */

/* SQLite has lost the transaction, or a row could not be written: the whole group's
 * matter, not this job's. */
static bool is_fault(sqlite3 *db, const wd_store_job *job)
{
    return sqlite3_get_autocommit(db) != 0 ||
           job->error.reason == WD_REASON_AUDIT_UNWRITABLE;
}

static wd_status run(wd_store *store, wd_store_stmt which, wd_error *err)
{
    return wd_sql_run(store->stmts[which], err);
}

/* A job failed by itself: its changes go, those of its group stay. */
static wd_status undo_job(wd_store *store, const wd_head *head,
                          const wd_token_change *changes, wd_error *err)
{
    store->pending = *head;
    wd_tokens_undo(store, changes);
    return run(store, WD_STMT_UNDO_JOB, err);
}

/* Whoever waits for the job tells a caller of it. */
static void explain(wd_store_job *job)
{
    if (job->error.status == WD_OK)
        (void)wd_refuse(&job->error, WD_REASON_BUG,
                        "a change of the store failed and did not say why");
    wd_store_tell(&job->error);
    job->status = job->error.status;
}

static wd_status write_job(wd_store *store, wd_store_job *job, wd_error *err)
{
    wd_head head = store->pending;
    const wd_token_change *changes = store->changes;
    WD_TRY(run(store, WD_STMT_SAVEPOINT, err));
    job->error = (wd_error){0};
    job->status = job->apply(store, job, &job->error);
    if (job->status != WD_OK) {
        if (is_fault(store->db, job))
            return wd_fail(err, WD_UNAVAILABLE, "%s", job->error.msg);
        explain(job);
        WD_TRY(undo_job(store, &head, changes, err));
    }
    return run(store, WD_STMT_RELEASE, err);
}

/* The highest wall time goes with a group once it has run a second ahead. */
static wd_status keep_time(wd_store *store, int64_t *kept_ms, wd_error *err)
{
    int64_t now = wd_store_now_ms(store);
    *kept_ms = store->kept_highest_ms;
    if (now - store->kept_highest_ms < KEEP_TIME_MS)
        return WD_OK;
    char text[24];
    char at[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)now);
    (void)snprintf(at, sizeof(at), "%lld", (long long)wd_clock_wall_ms(store->clock));
    char mono[WD_STORE_KEPT_BYTES];
    (void)snprintf(mono, sizeof(mono), "%lld %s",
                   (long long)wd_clock_mono_ms(store->clock), store->boot_id);
    wd_sql_bind_text(store->stmts[WD_STMT_KEEP_TIME], 1, text);
    wd_sql_bind_text(store->stmts[WD_STMT_KEEP_TIME], 2, at);
    wd_sql_bind_text(store->stmts[WD_STMT_KEEP_TIME], 3, mono);
    *kept_ms = now;
    return run(store, WD_STMT_KEEP_TIME, err);
}

static wd_status write_all(wd_store *store, wd_store_job *jobs, wd_error *err)
{
    int64_t kept_ms = 0;
    WD_TRY(run(store, WD_STMT_BEGIN, err));
    for (wd_store_job *job = jobs; job != NULL; job = job->next)
        WD_TRY(write_job(store, job, err));
    WD_TRY(keep_time(store, &kept_ms, err));
    WD_TRY(run(store, WD_STMT_COMMIT, err));
    store->kept_highest_ms = kept_ms;
    return WD_OK;
}

/* The transaction may be gone already: SQLite undoes some failures by itself. */
static void undo_all(wd_store *store)
{
    wd_error ignored;
    if (sqlite3_get_autocommit(store->db) == 0)
        (void)run(store, WD_STMT_ROLLBACK, &ignored);
    store->pending = wd_audit_head(store);
    wd_tokens_undo(store, NULL);
}

/* Writes the group, and again where that can help. A full disk: room from the reserve,
 * for as long as there is any. EIO: the same handle writes every row again, for it
 * alone knows which bytes the disk may never have got. */
static wd_status write_until(wd_store *store, wd_store_job *jobs, wd_error *err)
{
    bool was_full = false;
    for (int io_errors = 0;;) {
        wd_status status = write_all(store, jobs, err);
        int code = sqlite3_errcode(store->db) & 0xff;
        if (status == WD_OK) {
            if (was_full)
                (void)sqlite3_wal_checkpoint_v2(store->db, NULL,
                                                SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
            return WD_OK;
        }
        undo_all(store);
        if (code == SQLITE_FULL && wd_place_shorten(&store->place))
            was_full = true;
        else if (code != SQLITE_IOERR || ++io_errors >= IO_ATTEMPTS)
            return status;
    }
}

static void fail_all(wd_store_job *jobs, const wd_error *cause)
{
    for (wd_store_job *job = jobs; job != NULL; job = job->next)
        job->status = wd_refuse(
            &job->error, WD_REASON_AUDIT_UNWRITABLE,
            "the record could not be written, so nothing was done: %s", cause->msg);
}

bool wd_group_write(wd_store *store, wd_store_job *jobs)
{
    wd_error cause;
    if (write_until(store, jobs, &cause) != WD_OK) {
        atomic_store(&store->degraded, true);
        fail_all(jobs, &cause);
        return false;
    }
    wd_store_publish_head(store, &store->pending);
    wd_tokens_settle(store);
    return true;
}

wd_status wd_store_run(wd_store *store, wd_store_job *job, wd_error *err)
{
    job->next = NULL;
    (void)wd_group_write(store, job);
    wd_status status = job->status;
    if (status != WD_OK && err != NULL)
        *err = job->error;
    if (job->done != NULL)
        job->done(job);
    return status;
}
