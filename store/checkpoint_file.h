/* checkpoint_file.h - DIR/checkpoint, the newest checkpoint, against the trail beside it.
 *
 * Rows that were committed and are gone again, because the log that had them was damaged
 * or the database is an older copy, leave a trail that is sound in itself: this file
 * tells.
 *
 * Threads: the trail's owner.  Owns: nothing.
 * Source:  docs/audit.md, "Checkpoints". Internal to store/. */
#ifndef WD_STORE_CHECKPOINT_FILE_H
#define WD_STORE_CHECKPOINT_FILE_H

#include "store/audit_verify.h"
#include "store/checkpoint.h"
#include "store/trail.h"

/* "": there is none. Read it before the trail's moment: what it has seen is then there.
 * Errors: UNAVAILABLE it can't be read; DATA_LOSS CHAIN_BROKEN it is none that a gate has
 *         written: no regular file, empty, no text, too long */
WD_MUST_USE wd_status wd_checkpoint_file_read(const char *dir,
                                              char ret_text[WD_CHECKPOINT_BYTES],
                                              wd_error *err);

/* Is what `text` has seen in the trail? "" is. A fault goes into *ret_report too.
 * Errors: DATA_LOSS CHAIN_BROKEN */
WD_MUST_USE wd_status wd_checkpoint_file_check(const char *text, wd_trail *trail,
                                               wd_audit_report *ret_report,
                                               wd_error *err);

#endif
