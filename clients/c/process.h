/* process.h - is this the process whose NNG we may use?
 *
 * NNG's threads do not survive fork(), and NNG ends the program when it is used in the
 * child. So the first channel of a process tree claims NNG for its process.
 *
 * Threads: any.
 * Owns:    one word of the program, as NNG itself does: see tests/lint/globals.allow. */
#ifndef WD_CLIENT_PROCESS_H
#define WD_CLIENT_PROCESS_H

#include <stdbool.h>

/* True for the process that claimed it first, and for none that was forked off it. */
bool wd_process_claim(void);

#endif
