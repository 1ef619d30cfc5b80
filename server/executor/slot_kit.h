/* slot_kit.h - inside slot.h: what all slots share, and how warded-slot is started.
 *
 * Threads: one.  Owns: a kit its filter, its program and its cgroup tree.
 * For slot_*.c and probe.c only. */
#ifndef WD_EXECUTOR_SLOT_KIT_H
#define WD_EXECUTOR_SLOT_KIT_H

#include "server/executor/slot.h"

struct wd_slot_kit {
    const wd_config *config; /* borrowed */
    wd_cgroup_tree cgroups;
    int filter_fd;
    char program[PATH_MAX]; /* warded-slot */
};

/* Path of warded-slot: beside the running program.
 * Errors: UNAVAILABLE "descriptors: ..." it is not there */
WD_MUST_USE wd_status wd_slot_program(char ret_path[PATH_MAX], wd_error *err);

/* sandbox.roots must be outside what the slot makes itself (that they show none of our
 * state is config.h's rule).
 * Errors: UNAVAILABLE "mounts: ..." */
WD_MUST_USE wd_status wd_slot_check_roots(const wd_config *config, wd_error *err);

/* What warded-slot needs to know for slot `index`.
 * Errors: UNAVAILABLE a text of the configuration does not fit */
WD_MUST_USE wd_status wd_slot_spec_fill(const wd_config *config, unsigned index,
                                        const wd_action *action, wd_slot_spec *ret_spec,
                                        wd_error *err);

/* A sealed memfd with a copy of `bytes`, at its beginning; the caller's. -1: errno. */
int wd_slot_memfd(const char *name, wd_span bytes);

/* A process of warded-slot to be. */
typedef struct wd_slot_birth {
    const char *program;
    const char *probe;            /* layer to try; NULL: run the action */
    const wd_cgroup *cgroup;      /* joined before the exec; NULL: none */
    int fds[WD_SLOT_LAST_FD + 1]; /* what becomes 0..7; borrowed; -1: /dev/null */
} wd_slot_birth;

/* Fork and exec with an empty environment and those descriptors only; it dies with us.
 * What fails in the child comes as a report. -1: errno. */
pid_t wd_slot_spawn(const wd_slot_birth *birth);

/* Become the parent of processes whose own has died (subreaper). false: errno. */
bool wd_slot_adopt_orphans(void);

#endif
