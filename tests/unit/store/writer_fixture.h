/* writer_fixture.h - a store behind the VFS shim, with its writer, and jobs that note
 * what happened to them.
 *
 * Threads: the test's; jobs run on the writer's. */
#ifndef WD_TESTS_WRITER_FIXTURE_H
#define WD_TESTS_WRITER_FIXTURE_H

#include <semaphore.h>
#include <stdbool.h>

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

typedef struct job {
    wd_store_job base; /* first */
    journal *log;
    sem_t done;
    sem_t *gate;    /* apply waits here first ... */
    sem_t *begun;   /* ... and has said so here; NULL: nowhere */
    int fail_after; /* fails after so many rows; 0: one row, no failure */
    int n_applied;
    wd_head head;
    wd_store *store;
} job;

/* cmocka's set-up and tear-down. */
int wd_writer_set_up(void **state);
int wd_writer_tear_down(void **state);

/* The jobs' own apply, for those that do more. */
wd_status wd_job_apply(wd_store *store, wd_store_job *base, wd_error *err);

void wd_job_prepare(fixture *f, job *j); /* apply, unless it has one, and done */
void wd_job_submit(fixture *f, job *j);
void wd_job_wait(job *j);
void wd_job_run(fixture *f, job *j); /* both */

/* The job was answered UNAVAILABLE / AUDIT_UNWRITABLE. */
void wd_job_assert_unwritable(const job *j);

/* The chain verifies, has so many rows, and the head says so. */
void wd_assert_chain(fixture *f, uint64_t rows);

#endif
