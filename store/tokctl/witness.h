/* witness.h - the heads that clients have seen, read from their files.
 *
 * Threads: any.  Owns: the list.
 * Source:  docs/protocol.md section 5: a line "SEQ HEXHASH" a head. Clients keep them
 *          under $XDG_STATE_HOME/warded/heads/. */
#ifndef WD_TOKCTL_WITNESS_H
#define WD_TOKCTL_WITNESS_H

#include <stddef.h>

#include "store/audit.h"

typedef struct wd_witness {
    wd_head *heads; /* owned */
    size_t n;
    size_t room;
} wd_witness;

void wd_witness_done(wd_witness *witness);

/* Adds the heads of a file, or of every regular file in a folder (not below it). A last
 * line without its newline was being written: it is left out. Empty lines and lines
 * that begin with '#' are none; no line may be longer than 128 bytes.
 * Errors: NOT_FOUND         no such file; a folder without files
 *         INVALID_ARGUMENT  a line that is no head, named by file and number; neither a
 *                           regular file nor a folder
 *         UNAVAILABLE       can't be read to its end
 *         PERMISSION_DENIED, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_witness_read(wd_witness *witness, const char *path,
                                      wd_error *err);

#endif
