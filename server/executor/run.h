/* run.h - one action from its start until nothing of it is left.
 *
 * The loop asks which descriptors to watch and until when, and lets the run take its
 * step. A run ends only when its processes are reaped, its cgroup is removed and its
 * pipes have been read to their end.
 *
 * Threads: one.  Owns: its slot and what was captured. */
#ifndef WD_EXECUTOR_RUN_H
#define WD_EXECUTOR_RUN_H

#include "server/executor/capture.h"
#include "server/executor/slot.h"
#include "warded/exec/v1/job.pb-c.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define WD_RUN_FDS 4 /* process, report, stdout, stderr */

typedef Warded__Exec__V1__Done__Cause wd_cause;

typedef struct wd_run {
    wd_slot slot;
    wd_action_limits limits;
    wd_capture out, err;
    int64_t started_ns; /* CLOCK_MONOTONIC, as all times here */
    int64_t ended_ns;
    int64_t end_by_ms; /* killed then, with cause WALL */
    int64_t
        cpu_check_ms; /* when the processor time can have been used up at the earliest */
    int64_t hard_ms;  /* when to use more force; INT64_MAX: not killed */
    wd_slot_force force; /* the last that was used */
    int64_t retry_ms;    /* when to look again whether the cgroup is gone */
    bool yields;         /* it has had its brisk start */
    wd_cause killed;     /* why we killed it; NONE: we did not */
    wd_slot_reading reading;
    wd_slot_report report;
    wd_cgroup_usage usage;
    bool out_ended, err_ended;
    bool process_ended;
    bool gone;
} wd_run;

/* Start it.
 * Errors: UNAVAILABLE as wd_slot_start; nothing is left */
WD_MUST_USE wd_status wd_run_start(wd_run *run, const wd_slot_kit *kit, unsigned index,
                                   const wd_action *action, wd_error *err);

/* What to watch: always WD_RUN_FDS entries, -1 where nothing is awaited. */
void wd_run_watch(const wd_run *run, struct pollfd fds[WD_RUN_FDS]);
int64_t wd_run_wake_ms(const wd_run *run);

/* Handle what poll(2) found, and the time. true: nothing of the action is left; take
 * the result, then wd_run_done. */
bool wd_run_step(wd_run *run, const struct pollfd fds[WD_RUN_FDS]);

/* Kill it; the first reason stays. */
void wd_run_kill(wd_run *run, wd_cause cause);

/* How it ended. `failure` (of WD_ERROR_MSG_BYTES) is set when outcome is FAILED: the
 * layer, what was attempted, the cure. */
typedef struct wd_run_result {
    Warded__Exec__V1__Done__Outcome outcome; /* ENDED or FAILED */
    wd_cause cause;
    int wait_status;
    unsigned leftovers;
    wd_captured out, err; /* in the run */
    uint64_t run_us;
    char failure[WD_ERROR_MSG_BYTES];
} wd_run_result;
void wd_run_result_get(wd_run *run, wd_run_result *ret_result);

void wd_run_done(wd_run *run);

#endif
