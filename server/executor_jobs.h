/* executor_jobs.h - where each job of the link stands: to be sent, sent, or ended.
 *
 * Threads: the link's.  Owns: nothing; jobs are embedded in what they work for.
 * Source:  server/executor_link.h for wd_exec_job. */
#ifndef WD_SERVER_EXECUTOR_JOBS_H
#define WD_SERVER_EXECUTOR_JOBS_H

#include "server/executor_link.h"

#define WD_JOB_BUCKETS 4096U /* a power of two; ids count up */

typedef struct wd_job_list {
    wd_exec_job *first, *last;
} wd_job_list;

/* All zero is empty. */
typedef struct wd_exec_jobs {
    wd_job_list outbox;                /* not yet sent */
    wd_exec_job *sent[WD_JOB_BUCKETS]; /* the executor may answer */
    size_t n_sent;
    wd_job_list ended;  /* `done` is due */
    size_t n_withdrawn; /* in the outbox, cancelled */
    uint32_t running;   /* started, not ended */
    uint64_t waiting;   /* not started, not ended */
    uint64_t last_id;
} wd_exec_jobs;

/* A new job: to be sent, or, with another end than NONE, ended by it. */
void wd_jobs_enter(wd_exec_jobs *jobs, wd_exec_job *job, wd_job_end end);

/* The next to be sent; NULL: none. It stands nowhere until sent or end. */
wd_exec_job *wd_jobs_take(wd_exec_jobs *jobs);
void wd_jobs_sent(wd_exec_jobs *jobs, wd_exec_job *job);
void wd_jobs_end(wd_exec_jobs *jobs, wd_exec_job *job, wd_job_end end);

/* A sent job by its id, or NULL; remove takes it out of the table. */
wd_exec_job *wd_jobs_find(const wd_exec_jobs *jobs, uint64_t id);
wd_exec_job *wd_jobs_remove(wd_exec_jobs *jobs, uint64_t id);

void wd_jobs_started(wd_exec_jobs *jobs, wd_exec_job *job);

/* End what was cancelled before it was sent. */
void wd_jobs_sweep(wd_exec_jobs *jobs);

/* The executor is gone: the sent ones are LOST, the others UNAVAILABLE. */
void wd_jobs_lose_all(wd_exec_jobs *jobs);

/* Whether a sent job should have ended before `mono_ms`. */
bool wd_jobs_overdue(const wd_exec_jobs *jobs, int64_t mono_ms);

/* Call `done` of all that have ended, and of what ends by that. */
void wd_jobs_tell(wd_exec_jobs *jobs);

#endif
