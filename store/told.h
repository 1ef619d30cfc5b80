/* told.h - a failure of the store's as the caller of a method may know it.
 *
 * Inside the store a failure has a status; across the wire it has a reason, and its
 * status follows from that. Whoever hands a failure on to a call asks for this first.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_STORE_TOLD_H
#define WD_STORE_TOLD_H

#include "proto/c/status.h"

/* Give *err (NULL is fine) the reason that its status has here; one that has a reason
 * keeps it. NOT_FOUND: NOT_ON_RECORD; memory or room is short: CAPACITY; damage:
 * CHAIN_BROKEN; what could not be opened, read or locked: STORE_UNAVAILABLE; BUG is what
 * should not be. The message stays. */
void wd_store_tell(wd_error *err);

#endif
