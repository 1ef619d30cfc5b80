#include "server/executor_jobs.h"

static void append(wd_job_list *list, wd_exec_job *job)
{
    job->next = NULL;
    if (list->first == NULL)
        list->first = job;
    else
        list->last->next = job;
    list->last = job;
}

static wd_exec_job *shift(wd_job_list *list)
{
    wd_exec_job *job = list->first;

    if (job != NULL) {
        list->first = job->next;
        job->next = NULL;
    }
    return job;
}

void wd_jobs_enter(wd_exec_jobs *jobs, wd_exec_job *job, wd_job_end end)
{
    job->id = ++jobs->last_id;
    job->end = WD_JOB_NONE;
    job->sent = job->started = job->cancelled = false;
    job->done_message = NULL;
    jobs->waiting++;
    if (end == WD_JOB_NONE)
        append(&jobs->outbox, job);
    else
        wd_jobs_end(jobs, job, end);
}

wd_exec_job *wd_jobs_take(wd_exec_jobs *jobs)
{
    return shift(&jobs->outbox);
}

void wd_jobs_sent(wd_exec_jobs *jobs, wd_exec_job *job)
{
    wd_exec_job **bucket = &jobs->sent[job->id & (WD_JOB_BUCKETS - 1)];

    job->sent = true;
    job->next = *bucket;
    *bucket = job;
    jobs->n_sent++;
}

void wd_jobs_end(wd_exec_jobs *jobs, wd_exec_job *job, wd_job_end end)
{
    if (job->started)
        jobs->running--;
    else
        jobs->waiting--;
    job->end = end;
    append(&jobs->ended, job);
}

wd_exec_job *wd_jobs_find(const wd_exec_jobs *jobs, uint64_t id)
{
    wd_exec_job *at = jobs->sent[id & (WD_JOB_BUCKETS - 1)];

    while (at != NULL && at->id != id)
        at = at->next;
    return at;
}

wd_exec_job *wd_jobs_remove(wd_exec_jobs *jobs, uint64_t id)
{
    wd_exec_job **at = &jobs->sent[id & (WD_JOB_BUCKETS - 1)];

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    wd_exec_job *job = *at;
    if (job != NULL) {
        *at = job->next;
        job->next = NULL;
        jobs->n_sent--;
    }
    return job;
}

void wd_jobs_started(wd_exec_jobs *jobs, wd_exec_job *job)
{
    if (job->started)
        return;
    job->started = true;
    jobs->running++;
    jobs->waiting--;
}

void wd_jobs_sweep(wd_exec_jobs *jobs)
{
    wd_job_list all = jobs->outbox;

    if (jobs->n_withdrawn == 0)
        return;
    jobs->n_withdrawn = 0;
    jobs->outbox = (wd_job_list){NULL, NULL};
    for (wd_exec_job *job = shift(&all); job != NULL; job = shift(&all)) {
        if (job->cancelled)
            wd_jobs_end(jobs, job, WD_JOB_WITHDRAWN);
        else
            append(&jobs->outbox, job);
    }
}

void wd_jobs_lose_all(wd_exec_jobs *jobs)
{
    for (size_t i = 0; i < WD_JOB_BUCKETS; i++) {
        while (jobs->sent[i] != NULL) {
            wd_exec_job *job = jobs->sent[i];
            jobs->sent[i] = job->next;
            wd_jobs_end(jobs, job, WD_JOB_LOST);
        }
    }
    jobs->n_sent = 0;
    for (wd_exec_job *job = shift(&jobs->outbox); job != NULL;
         job = shift(&jobs->outbox))
        wd_jobs_end(jobs, job, WD_JOB_UNAVAILABLE);
    jobs->n_withdrawn = 0;
}

bool wd_jobs_overdue(const wd_exec_jobs *jobs, int64_t mono_ms)
{
    if (jobs->n_sent == 0)
        return false;
    for (size_t i = 0; i < WD_JOB_BUCKETS; i++) {
        for (const wd_exec_job *job = jobs->sent[i]; job != NULL; job = job->next) {
            if (mono_ms > job->end_by_ms)
                return true;
        }
    }
    return false;
}

void wd_jobs_tell(wd_exec_jobs *jobs)
{
    for (wd_exec_job *job = shift(&jobs->ended); job != NULL; job = shift(&jobs->ended))
        job->done(job);
}
