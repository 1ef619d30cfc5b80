/* cancel.h - the CANCEL request: a method of its own, without a path.
 *
 * Threads: any.  Source: docs/protocol.md, "Cancel". */
#ifndef WD_SERVER_CANCEL_H
#define WD_SERVER_CANCEL_H

#include "server/registry.h"

/* Static. Any live token, in the lane, one row `call.cancel`. */
const wd_route *wd_cancel_route(void);

#endif
