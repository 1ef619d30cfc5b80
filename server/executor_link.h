/* executor_link.h - the gate's end of the job socket: jobs out, results in.
 *
 * One thread with a poll loop owns the socket and every job on it. Others give it tasks;
 * what runs there must not wait. When the socket ends, every job on it ends as LOST.
 *
 * Threads: attach, post, ready: any. run and cancel: only inside a posted task or a
 *          job's `done`, that is, on the link's thread.
 * Owns:    the socket; a job from run until its `done` is called.
 * Source:  proto/warded/exec/v1/job.proto. */
#ifndef WD_SERVER_EXECUTOR_LINK_H
#define WD_SERVER_EXECUTOR_LINK_H

#include "proto/c/clock.h"
#include "proto/c/span.h"
#include "proto/c/status.h"
#include "server/pool.h"
#include "warded/exec/v1/job.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a job left us. */
typedef enum wd_job_end {
    WD_JOB_NONE = 0,
    WD_JOB_DONE,        /* the executor answered: see `done_message` */
    WD_JOB_LOST,        /* the executor died, or broke the protocol, with the job */
    WD_JOB_UNAVAILABLE, /* never sent: there is no executor that is ready */
    WD_JOB_WITHDRAWN,   /* never sent: cancelled before */
    WD_JOB_FULL,        /* never sent: limits.queue jobs wait already */
} wd_job_end;

/* Embed it; fill the first group; wd_link_run. */
typedef struct wd_exec_job {
    const char *tool; /* borrowed, like all of this group, until `done` */
    wd_span code;
    wd_span stdin_data;
    Warded__Exec__V1__Limits limits;
    int64_t start_by_ms; /* monotonic */
    int64_t end_by_ms;
    void (*done)(struct wd_exec_job *job); /* on the link's thread; never inside run */

    /* The link's. */
    struct wd_exec_job *next;
    uint64_t id;
    bool sent, started, cancelled;

    /* Set before `done`. */
    wd_job_end end;
    Warded__Exec__V1__Done *done_message; /* the job's owner frees it; may be NULL */
} wd_exec_job;

typedef struct wd_link_options {
    const wd_clock *clock;
    uint64_t queue;             /* jobs that may wait to be started; 0: any number */
    void (*changed)(void *arg); /* became ready, or is not any more; may be NULL */
    void *changed_arg;
    void (*before_write)(
        void *arg); /* a job's first byte is about to go; may be NULL */
    void *before_write_arg;
} wd_link_options;

typedef struct wd_link wd_link;

WD_MUST_USE wd_status wd_link_start(const wd_link_options *options, wd_link **ret_link,
                                    wd_error *err);

/* Lets go of the socket: the executor then kills what is left. NULL is fine. */
void wd_link_stop(wd_link *link);

/* Use this socket (taken) from now on; the one before, if any, is closed first. */
void wd_link_attach(wd_link *link, int fd);

/* Run a task on the link's thread. */
void wd_link_post(wd_link *link, wd_task *task);

/* Send a job, or end it as UNAVAILABLE or FULL. `done` comes later, once. */
void wd_link_run(wd_link *link, wd_exec_job *job);

/* Free an answer; NULL is fine. */
void wd_exec_done_free(Warded__Exec__V1__Done *done);

/* Ask for the job's end; `done` comes as ever. A job that has ended: ignored. */
void wd_link_cancel(wd_link *link, wd_exec_job *job);

/* What the executor said of itself; counted, so that it outlives a change. */
typedef struct wd_link_ready {
    size_t refs;
    Warded__Exec__V1__Ready *message;
} wd_link_ready;

/* NULL when the executor is not ready; *ret_problem (of `size` bytes) then says why. */
wd_link_ready *wd_link_get_ready(wd_link *link, char *ret_problem, size_t size);
void wd_link_ready_unref(wd_link *link, wd_link_ready *ready);

/* Another limit than that of the options, from now on. Any thread. */
void wd_link_set_queue(wd_link *link, uint64_t queue);

/* Actions that run inside the executor now. */
uint32_t wd_link_running(wd_link *link);

#endif
