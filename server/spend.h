/* spend.h - giving back what a call took from its token; the stage is in stages.h.
 *
 * Threads: the call's owner. */
#ifndef WD_SERVER_SPEND_H
#define WD_SERVER_SPEND_H

#include "server/call.h"

/* The call is not under way any more. Also when it took nothing. */
void wd_spend_release(wd_call *call);

#endif
