/* ending.h - how an action ended, in words, where its own output does not tell.
 *
 * What stopped it, a signal, or an exit code that nothing on stderr explains. The model
 * reads these words in its observation: they hold numbers that its caller chose, and
 * nothing of this host.
 *
 * Threads: any; pure. */
#ifndef WD_SERVER_SERVICE_ENDING_H
#define WD_SERVER_SERVICE_ENDING_H

#include "server/config.h"
#include "warded/exec/v1/job.pb-c.h"

#include <stdbool.h>

#define WD_ENDING_BYTES 96U /* the longest text, with its NUL */

typedef struct wd_ending {
    const Warded__Exec__V1__Done *done; /* of an action that ran: outcome ENDED */
    wd_action_limits limits;            /* that it ran under */
    bool silent;                        /* it wrote nothing to stderr */
} wd_ending;

/* "stopped: memory limit of 512 MiB", "ended by signal 11 (SIGSEGV)", "exit code 7"; ""
 * when there is nothing to say: it ended well, told why itself, or was cancelled. */
void wd_ending_text(const wd_ending *ending, char ret[WD_ENDING_BYTES]);

#endif
