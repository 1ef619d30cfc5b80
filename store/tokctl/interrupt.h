/* interrupt.h - Ctrl-C: what is half made goes, and the exit status is 130.
 *
 * The signal is taken by a thread of its own, so that it may tidy up in peace: no
 * handler, no state of the program's.
 *
 * Threads: any.
 * Owns:    the thread, which lives as long as the program. */
#ifndef WD_TOKCTL_INTERRUPT_H
#define WD_TOKCTL_INTERRUPT_H

#include "store/tokctl/tokctl.h"

/* Call it before any other thread begins. NULL: no memory; then the signal kills, as it
 * does where the program was started with it ignored. */
wd_interrupt *wd_interrupt_start(void);

/* This file is half made: it goes when the program is interrupted. NULL: none is. Both
 * are fine with a NULL interrupt. */
void wd_interrupt_guard(wd_interrupt *interrupt, const char *path);

#endif
