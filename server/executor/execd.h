/* execd.h - the executor's loop: jobs in, actions run, results out.
 *
 * One thread and poll(2); nothing in it waits for anything else. A slot is *due* when
 * its canary has to run (at start, after a fault, every ten minutes) and serves no job
 * before that held. When one does not hold, everything is killed, what waits is
 * answered FAILED, the gate hears Unavailable, and canaries are tried again until all
 * slots hold: then it hears Ready.
 *
 * Threads: one.  Owns: runs, queue, job socket, canary. Borrows config and control. */
#ifndef WD_EXECUTOR_EXECD_H
#define WD_EXECUTOR_EXECD_H

#include "server/config.h"
#include "server/executor/canary.h"
#include "server/executor/link.h"
#include "server/executor/probe.h"
#include "server/executor/queue.h"
#include "server/executor/run.h"
#include "server/repeats.h"

/* What runs in a place. */
typedef enum wd_place_state {
    WD_PLACE_FREE,
    WD_PLACE_CANARY,
    WD_PLACE_JOB,
} wd_place_state;

/* A place where one action runs at a time: a slot number and its state. */
typedef struct wd_place {
    unsigned index;
    wd_place_state state;
    bool held;          /* its last canary held */
    int64_t due_ms;     /* when its canary has to run */
    wd_job *job;        /* of WD_PLACE_JOB; owned */
    bool forgotten;     /* the job's socket has ended: no answer */
    bool suspect;       /* a canary failed while it ran: its result is no observation */
    int64_t started_ns; /* of the job */
    wd_run run;
} wd_place;

typedef struct wd_execd {
    const wd_config *config;
    int control;
    int64_t canary_ms; /* between canaries of a slot */
    int claim;         /* of the slots' ids; -1: none yet */
    wd_slot_kit *kit;
    wd_canary *canary;
    wd_layer_state layers[WD_LAYER_COUNT];
    wd_place *places; /* config->sandbox.slots of them */
    unsigned n_places;
    wd_queue queue;
    wd_link link;
    int64_t sweep_ms; /* the next look for what a killed executor left; INT64_MAX */
    int next_fd;      /* a job socket that waits for the last one's runs to end; -1 */
    bool ending;      /* the socket has ended, its runs have not */
    bool was_ready;   /* 'R' was sent */
    wd_error refused; /* a canary could not be started before that; WD_OK: none */
    bool available;   /* every slot holds */
    wd_repeats distrusted, unstarted, failed; /* what the log need not say each time */
    bool stopping;
} wd_execd;

/* Try the layers and make what all slots share.
 * Errors: UNAVAILABLE a layer is missing: "LAYER: what"; its cure is still to be added */
WD_MUST_USE wd_status wd_execd_init(wd_execd *execd, const wd_config *config,
                                    int control, int64_t canary_ms, wd_error *err);
void wd_execd_done(wd_execd *execd);

/* Serve until the supervisor says stop or is gone; everything is dead then.
 * Errors: UNAVAILABLE the sandbox does not hold (before the first ready only) */
WD_MUST_USE wd_status wd_execd_run(wd_execd *execd, wd_error *err);

/* --- for the loop's own files ---------------------------------------------------------- */

/* execd_jobs.c: a frame of the gate. A failure ends the socket. */
WD_MUST_USE wd_status wd_execd_frame(void *execd, wd_span frame, wd_error *err);
/* Start what can be started; answer what waited too long. */
void wd_execd_schedule(wd_execd *execd);
/* The run of this place is over: answer, and free the place. */
wd_status wd_execd_finish(wd_execd *execd, wd_place *place, wd_error *err);
/* The gate is gone: kill and forget all that came from it. */
void wd_execd_forget(wd_execd *execd);
/* A canary did not hold: "LAYER: what" */
void wd_execd_distrust(wd_execd *execd, const char *surprise);

/* execd_say.c: messages to the gate; nothing happens without one. */
void wd_execd_say_ready(wd_execd *execd);
void wd_execd_say_unavailable(wd_execd *execd, const char *why);
void wd_execd_say_started(wd_execd *execd, uint64_t job_id);
void wd_execd_say_not_run(wd_execd *execd, const wd_job *job,
                          Warded__Exec__V1__Done__Outcome outcome, const char *why);
void wd_execd_say_done(wd_execd *execd, const wd_place *place,
                       const wd_run_result *result);

#endif
