/* slot_init.h - process 1 of a slot: starts the worker, then kills and reaps all.
 *
 * init is root of the slot's user namespace and never runs anything from the action. It
 * waits for the exact worker; then everything else in the pid namespace is killed and
 * reaped, the wait status is reported, and its own end lets the kernel close the rest.
 * A byte on the control pipe, or its end, kills everything at once.
 *
 * Threads: one.  Source: pid_namespaces(7), wait(2). */
#ifndef WD_EXECUTOR_SLOT_INIT_H
#define WD_EXECUTOR_SLOT_INIT_H

#include "server/executor/slot_spec.h"

/* Runs the slot of `spec` to its end. Called as process 1, root of the new namespaces,
 * with the descriptors of slot_spec.h. Returns the exit status: 0 reported. */
int wd_slot_init_run(const wd_slot_spec *spec, const void *unused);

#endif
