/* slot_root.h - the file system that an action sees.
 *
 *     /            tmpfs, read-only     /usr ...   sandbox.roots, read-only binds
 *     /etc         made here            /dev       null zero full random urandom
 *     /proc        fresh, own pids only, read-only
 *     /work /tmp /dev/shm   one tmpfs of limits.files_bytes; /var/tmp -> /tmp
 *
 * All mounts are made while nothing but our own code runs in the namespace, so no
 * name that is followed here was made by an action.
 *
 * Threads: one.  Owns: the calling process's mount namespace.
 * Source:  mount_setattr(2), pivot_root(2), open_tree(2). */
#ifndef WD_EXECUTOR_SLOT_ROOT_H
#define WD_EXECUTOR_SLOT_ROOT_H

#include "server/executor/slot_fault.h"
#include "server/executor/slot_spec.h"

/* Build it and make it the root. The caller is root of a new user, mount and pid
 * namespace. false: *fault says which layer (MOUNTS or PROC). */
bool wd_slot_root_build(const wd_slot_spec *spec, wd_slot_fault *fault);

#endif
