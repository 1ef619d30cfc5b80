/* slot_outer.h - new namespaces, and the ids that hold in them.
 *
 * Threads: one.  Source: user_namespaces(7), clone(2). */
#ifndef WD_EXECUTOR_SLOT_OUTER_H
#define WD_EXECUTOR_SLOT_OUTER_H

#include "server/executor/slot_fault.h"
#include "server/executor/slot_spec.h"

#define WD_SLOT_NAMESPACES                                                             \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |        \
     CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What to run inside, and in which new namespaces. */
typedef struct wd_slot_child {
    unsigned long flags; /* CLONE_NEW*; CLONE_NEWUSER among them */
    int (*run)(const wd_slot_spec *spec, const void *context); /* its exit status */
    const void *context;
} wd_slot_child;

/* Runs a child as root of new namespaces: ids 0 and 1000 inside are the spec's outside.
 * It is killed when the caller ends. Returns when it has ended.
 * false: *fault says what failed outside. *ret_status: its wait status. */
bool wd_slot_outer_run(const wd_slot_spec *spec, const wd_slot_child *child,
                       int *ret_status, wd_slot_fault *fault);

/* The spec from WD_SLOT_SPEC_FD. */
bool wd_slot_read_spec(wd_slot_spec *ret_spec, wd_slot_fault *fault);

#endif
