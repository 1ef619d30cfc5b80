/* writer.h - the one thread that changes the store: jobs in, groups committed, done.
 *
 * Threads: submit from any thread. `apply` and `done` run on the writer's thread.
 * Owns:    a job from submit until its `done` is called.
 * Source:  docs/architecture.md, "Threads of the gate". No linger: what has queued
 *          while the last commit ran is the next group. */
#ifndef WD_STORE_WRITER_H
#define WD_STORE_WRITER_H

#include <stdbool.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "store/store.h"

/* What becomes of a job when the disk is short of room: AUDIT_UNWRITABLE, or not. */
typedef enum wd_job_rank {
    WD_JOB_MUST = 0, /* ends, revocations, the gate's own rows: while there is any room,
                        the reserve included, which is theirs alone */
    WD_JOB_MAY, /* begin rows of what only reads: until the reserve is broken into */
    WD_JOB_IF_ROOM, /* begin rows of what changes something, refusals: while the free
                        space is not below the reserve */
} wd_job_rank;

/* Embed it in your own struct, fill apply and done, submit. */
typedef struct wd_store_job {
    struct wd_store_job *next; /* the queue's */

    /* Makes the changes, inside a savepoint: if it fails, its changes alone are undone
     * and the others of its group go on; only AUDIT_UNWRITABLE undoes the whole group.
     * Runs again when the group is written again, so it changes nothing but the
     * store. */
    wd_status (*apply)(wd_store *store, struct wd_store_job *job, wd_error *err);

    /* After the commit, or after the failure: hands the job on to its next owner and
     * returns at once. May free the job. */
    void (*done)(struct wd_store_job *job);

    wd_job_rank rank;

    /* Set before `done`. OK: durable. Else what `apply` answered, or UNAVAILABLE /
     * AUDIT_UNWRITABLE when the group could not be committed. */
    wd_status status;
    wd_error error;
} wd_store_job;

typedef struct wd_writer wd_writer;

/* Starts the thread. `store` is its own until wd_writer_stop. */
WD_MUST_USE wd_status wd_writer_start(wd_store *store, wd_writer **ret_writer,
                                      wd_error *err);

/* Queues a job. Never blocks, never fails. Not after wd_writer_stop. */
void wd_writer_submit(wd_writer *writer, wd_store_job *job);

/* From `done` of a job that answered AUDIT_UNWRITABLE: it is written with the next
 * group, or by itself after WD_STORE_RETRY_MS, and done again. Memory is the caller's
 * to bound. false: the writer is being stopped, and the job is the caller's. */
WD_MUST_USE bool wd_writer_retry(wd_writer *writer, wd_store_job *job);

/* Writes what is queued, ends the thread, frees the writer. NULL is fine. */
void wd_writer_stop(wd_writer *writer);
WD_DEFINE_AUTO(wd_writer, wd_writer_stop)

/* For programs without a writer thread (init, profile new, tokctl): applies one job and
 * commits it, here and now; `done` may be NULL. Returns job->status, copies its
 * error. */
WD_MUST_USE wd_status wd_store_run(wd_store *store, wd_store_job *job, wd_error *err);

/* For threads beside the writer: has it apply the job, and waits. `done` is taken. With a
 * NULL writer as wd_store_run. Returns job->status, copies its error. */
WD_MUST_USE wd_status wd_store_change(wd_store *store, wd_writer *writer,
                                      wd_store_job *job, wd_error *err);

#endif
