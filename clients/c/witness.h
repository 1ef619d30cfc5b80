/* witness.h - the audit heads that this process saw, kept for `tokctl audit verify`.
 *
 * A line `SEQ HEXHASH` at most once a second, a file a process, bounded; under
 * $XDG_STATE_HOME/warded/heads/CHAIN/. Replies do not name their chain, so CHAIN is made
 * of the gate's URI and the CA's digest, as the Python client makes it. What can't be
 * kept never fails a call.
 *
 * Threads: any; its lock is private.
 * Owns:    nothing between calls.  Source: docs/protocol.md section 5. */
#ifndef WD_CLIENT_WITNESS_H
#define WD_CLIENT_WITNESS_H

#include "proto/c/cleanup.h"
#include "proto/c/limits.h"

#include <stdint.h>

typedef struct wd_notes wd_notes;

/* NULL: no memory, or no home to keep them in. */
wd_notes *wd_notes_new(void);
/* Writes the newest head down first. NULL is fine. */
void wd_notes_free(wd_notes *notes);
WD_DEFINE_AUTO(wd_notes, wd_notes_free)

/* A reply of `gate`, proved by the CA `trust`, carried this head. NULL notes are fine. */
void wd_notes_take(wd_notes *notes, const char *gate, const char *trust, uint64_t seq,
                   const uint8_t hash[WD_SHA256_BYTES]);

#endif
