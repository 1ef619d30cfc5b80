/* slot_walls.h - what a process takes from itself before it runs an action.
 *
 * Each function puts up one wall for the calling process and all that it will start;
 * none can be taken down again. Order matters: limits and capabilities while still root
 * of the namespace, the filter last.
 *
 * Threads: one.  Owns: the calling process's rights.
 * Source:  landlock(7), seccomp(2), capabilities(7), setrlimit(2). */
#ifndef WD_EXECUTOR_SLOT_WALLS_H
#define WD_EXECUTOR_SLOT_WALLS_H

#include "server/executor/slot_fault.h"
#include "server/executor/slot_spec.h"

/* No dump of its memory; it looks at the host's /proc. See core_limit.h. */
bool wd_slot_wall_core(wd_slot_fault *fault);

/* Other resource limits, hard and soft. Files, processes and address space by the spec. */
bool wd_slot_wall_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault);

/* Empty bounding set, ids 1000, no groups, no capability in any set. */
bool wd_slot_wall_capabilities(wd_slot_fault *fault);

bool wd_slot_wall_no_new_privs(wd_slot_fault *fault);

/* Landlock: sandbox.roots and /etc to read and run, /proc and /dev to read, /work, /tmp
 * and /dev/shm to write; no TCP (ABI >= 4); no signal or abstract socket out of here
 * (ABI >= 6). */
bool wd_slot_wall_landlock(const wd_slot_spec *spec, wd_slot_fault *fault);

/* The kernel's Landlock ABI; -1: errno. */
int wd_slot_landlock_abi(void);

/* Load the filter (struct sock_filter[]) that `filter_fd` holds. */
bool wd_slot_wall_seccomp(int filter_fd, wd_slot_fault *fault);

/* Signals as after a boot: none ignored, none blocked. */
void wd_slot_reset_signals(void);

#endif
