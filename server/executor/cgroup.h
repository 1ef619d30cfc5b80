/* cgroup.h - memory, process and processor limits of one action, on cgroup v1 or v2.
 *
 * A leaf per action, below the cgroup that warded-execd itself was put in (never beside
 * it, so the limits of a container around us hold), named warded-PID.START-SLOT after its
 * executor: fresh, so that no count is carried over from the action before. Memory and pids are mandatory;
 * cpu and cpuacct are used where they are.
 *
 * Threads: one at a time.
 * Source:  kernel Documentation/admin-guide/cgroup-v1/{memory,pids}.rst, cgroup-v2.rst. */
#ifndef WD_EXECUTOR_CGROUP_H
#define WD_EXECUTOR_CGROUP_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WD_CGROUP_NAME_BYTES 56

/* Where the controllers are. Kinds of hierarchy that a leaf may need. */
typedef enum wd_cgroup_controller {
    WD_CGROUP_MEMORY,
    WD_CGROUP_PIDS,
    WD_CGROUP_CPU,
    WD_CGROUP_CPUACCT, /* v2: part of every cgroup (cpu.stat) */
    WD_CGROUP_CONTROLLERS,
} wd_cgroup_controller;

typedef struct wd_cgroup_tree {
    bool v2[WD_CGROUP_CONTROLLERS];
    char *parent[WD_CGROUP_CONTROLLERS]; /* folder to make leaves in; NULL: not there */
} wd_cgroup_tree;

/* Find the controllers by /proc/self/mountinfo and /proc/self/cgroup. Changes nothing.
 * Errors: INTERNAL those files can't be read */
WD_MUST_USE wd_status wd_cgroup_find(wd_cgroup_tree *ret_tree, wd_error *err);
/* The same from given texts, for tests. `mountinfo`, `self`: the files' contents. */
WD_MUST_USE wd_status wd_cgroup_parse(wd_cgroup_tree *ret_tree, const char *mountinfo,
                                      const char *self, wd_error *err);
void wd_cgroup_tree_done(wd_cgroup_tree *tree);

/* v2 only (else nothing happens): hand the controllers down. Where processes stand in
 * the folder itself they are moved to its child "warded-main", since a v2 cgroup has
 * either processes or controlled children.
 * Errors: UNAVAILABLE not delegated: names the file and the cure */
WD_MUST_USE wd_status wd_cgroup_enable(const wd_cgroup_tree *tree, wd_error *err);

/* Whether leaves can be made as it stands: v1, or wd_cgroup_enable was here before. */
bool wd_cgroup_enabled(const wd_cgroup_tree *tree);

/* Remove leaves whose executor is dead; kills what is still in them. Returns how many
 * could not be removed yet. */
unsigned wd_cgroup_sweep(const wd_cgroup_tree *tree);

typedef struct wd_cgroup_limits {
    uint64_t memory_bytes; /* swap included */
    uint64_t pids;
} wd_cgroup_limits;

/* One leaf: a folder in each hierarchy. */
typedef struct wd_cgroup {
    const wd_cgroup_tree *tree;
    char name[WD_CGROUP_NAME_BYTES];
} wd_cgroup;

/* Make a leaf and set its limits, which are read back.
 * Errors: UNAVAILABLE the text begins with the layer; nothing is left */
WD_MUST_USE wd_status wd_cgroup_make(const wd_cgroup_tree *tree, unsigned slot,
                                     const wd_cgroup_limits *limits,
                                     wd_cgroup *ret_cgroup, wd_error *err);

/* Move the calling process in. Only system calls: for a forked child. false: errno. */
WD_MUST_USE bool wd_cgroup_join(const wd_cgroup *cgroup);

/* A smaller share of the processors from now on, for what runs long: the gate and short
 * actions come first. Not mandatory: where it can't be had, nothing changes. */
void wd_cgroup_yield(const wd_cgroup *cgroup);

/* What is in it has to die: nothing new starts, and the processors' share is the
 * largest, since processes end on their own time. */
void wd_cgroup_hurry(const wd_cgroup *cgroup);

typedef struct wd_cgroup_usage {
    uint64_t cpu_us;       /* of all processes; 0 where nothing counts it */
    uint64_t oom_kills;    /* processes that the memory limit killed */
    uint64_t pids_refused; /* forks that the pids limit refused */
} wd_cgroup_usage;
void wd_cgroup_usage_read(const wd_cgroup *cgroup, wd_cgroup_usage *ret_usage);

/* SIGKILL to every process in it but the two of `spared` (0: none). After
 * wd_cgroup_hurry nothing is missed: no process can be new. */
void wd_cgroup_kill(const wd_cgroup *cgroup, const pid_t spared[2]);

/* Remove the leaf. false: something is still in it; call again later. */
bool wd_cgroup_remove(const wd_cgroup *cgroup);

#endif
