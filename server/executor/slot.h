/* slot.h - the seam between the executor's loop and what makes a sandbox.
 *
 * The loop knows only this page: start an action in slot i, watch three descriptors,
 * stop it, take its report. Today a slot is *cold*: fresh namespaces and an exec of the
 * interpreter per action (slot_cold.c and the program warded-slot). A warm slot keeps
 * namespaces and an interpreter between actions and fills in the same functions.
 *
 * The result of an action is what the kernel says: the wait status of the exact process
 * (from warded-slot's init, on a pipe that the action never holds) and the bytes on its
 * pipes. Nothing that the action writes is believed.
 *
 * Threads: one: the executor's loop. Nothing here blocks.
 * Owns:    a wd_slot its descriptors, its cgroup and its processes. */
#ifndef WD_EXECUTOR_SLOT_H
#define WD_EXECUTOR_SLOT_H

#include "proto/c/cleanup.h"
#include "proto/c/span.h"
#include "proto/c/status.h"
#include "server/config.h"
#include "server/executor/cgroup.h"
#include "server/executor/slot_spec.h"

#include <sys/types.h>

/* What all slots share; made once, before the first action. */
typedef struct wd_slot_kit wd_slot_kit;

/* Builds the system-call filter and opens the cgroup tree; removes what a killed
 * executor left of it. The process becomes a subreaper and must have no children but
 * slots. `config` must outlive the kit.
 * Errors: UNAVAILABLE a layer is missing: the text begins with its name */
WD_MUST_USE wd_status wd_slot_kit_new(const wd_config *config, wd_slot_kit **ret_kit,
                                      wd_error *err);
void wd_slot_kit_free(wd_slot_kit *kit);
WD_DEFINE_AUTO(wd_slot_kit, wd_slot_kit_free)

/* What a killed executor left may take long to die: try again to remove it. true: there
 * is nothing left to remove. */
bool wd_slot_kit_sweep(const wd_slot_kit *kit);

/* What to run. All borrowed, and only until wd_slot_start returns. */
typedef struct wd_action {
    const char *interpreter; /* absolute path, seen from inside */
    wd_span code;
    wd_span stdin_data; /* the action reads end of file after it */
    wd_action_limits limits;
    int64_t end_by_ms; /* CLOCK_MONOTONIC, for the loop; INT64_MAX: none */
} wd_action;

/* A running action. */
typedef struct wd_slot {
    unsigned index; /* 0..; uids are sandbox.uid_base + 2 x index and the next */
    pid_t pid;      /* warded-slot, outside the namespaces; -1: reaped */
    int process_fd; /* pidfd of it: readable when it has ended */
    int report_fd;  /* a wd_slot_report comes, or end of file */
    int control_fd; /* to the slot's init; closing it kills everything */
    int out_fd;     /* stdout and stderr, non-blocking; the loop reads to the end */
    int err_fd;
    wd_cgroup cgroup;
} wd_slot;

/* Start an action in slot `index`, which must be free. On failure nothing is left.
 * Errors: UNAVAILABLE the sandbox can't be made: the text begins with the layer */
WD_MUST_USE wd_status wd_slot_start(const wd_slot_kit *kit, unsigned index,
                                    const wd_action *action, wd_slot *ret_slot,
                                    wd_error *err);

/* Kill everything of the action, at once, and let nothing new start. Repeatable. */
typedef enum wd_slot_force {
    WD_SLOT_KILL_ACTION, /* its init lives on, reaps and reports */
    WD_SLOT_KILL_INIT,   /* which did not answer: there may be no report */
    WD_SLOT_KILL_ALL,    /* warded-slot too, which reaps init */
} wd_slot_force;
void wd_slot_kill(wd_slot *slot, wd_slot_force force);

/* The report, if it is there. Call when report_fd is readable. */
typedef enum wd_slot_reading {
    WD_SLOT_NOTHING_YET,
    WD_SLOT_REPORTED, /* *ret_report is set */
    WD_SLOT_LOST,     /* end of file without one: init was killed */
} wd_slot_reading;
wd_slot_reading wd_slot_read(wd_slot *slot, wd_slot_report *ret_report);

/* What the action has used so far; counts that the kernel keeps, not the action. */
void wd_slot_usage(const wd_slot *slot, wd_cgroup_usage *ret_usage);

/* It has run for long: let others go first. */
void wd_slot_yield(const wd_slot *slot);

/* Collect what has ended; true when no process and no cgroup of it is left. Call when
 * process_fd is readable and again (a few ms later) while it answers false. */
bool wd_slot_gone(wd_slot *slot);

/* Collect children that have died, whoever's they were. true: there is none at all. */
bool wd_slot_reap(void);

/* Close the descriptors of a slot that is gone. */
void wd_slot_done(wd_slot *slot);

#endif
