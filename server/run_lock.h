/* run_lock.h - the lock of RUN_DIR, which one supervisor holds, and who runs under it.
 *
 *     RUN_DIR/lock    PID of the supervisor, then a line PID START for each child
 *
 * A supervisor that was killed leaves children whom the kernel kills, which takes a
 * moment: until then they have the store, the port and the slots' ids. Whoever takes the
 * lock next reads their numbers and waits for them.
 *
 * Threads: one.  Owns: nothing; the descriptor is the caller's. */
#ifndef WD_SERVER_RUN_LOCK_H
#define WD_SERVER_RUN_LOCK_H

#include "proto/c/status.h"

#include <stdint.h>
#include <sys/types.h>

/* Hold RUN_DIR/lock for as long as the descriptor is open; waits up to `wait_ms` until
 * the children of who held it before are dead.
 * Errors: CONFLICT            another supervisor holds it; says which process
 *         FAILED_PRECONDITION it can't be made, or such a child did not die */
WD_MUST_USE wd_status wd_run_lock(const char *run_dir, int64_t wait_ms, int *ret_fd,
                                  wd_error *err);

/* Say who runs under the lock now; 0: nobody. What can't be written is not waited for
 * after a crash: it is no reason to stop. */
void wd_run_lock_note(int fd, const pid_t children[2]);

#define WD_RUN_HIDDEN (-1) /* whether a process holds it this account may not see */

/* The process that holds RUN_DIR/lock; 0: none; or WD_RUN_HIDDEN. */
pid_t wd_run_holder(const char *run_dir);

#endif
