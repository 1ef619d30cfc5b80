/* process.h - which process a number names: numbers are used again, starts are not.
 *
 * Threads: any.  Owns: nothing.
 * Source:  proc_pid_stat(5). */
#ifndef WD_PROCESS_H
#define WD_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* When the process started, in ticks since boot; 0: there is none. Together with the
 * number it names a process for good. *ret_state: 'R', 'S', ..., 'Z' dead and not
 * reaped, which may have threads that still end; NULL: not asked. */
uint64_t wd_process_start(pid_t pid, char *ret_state);

#endif
