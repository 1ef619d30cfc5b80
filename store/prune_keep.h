/* prune_keep.h - what stays of a segment that is pruned: rows about tokens, tombstones.
 *
 * The tokens of the store must go on being what the trail says of them, so the rows that
 * tell of them stay, in DIR/audit/FIRST-LAST.kept, beside the segment until that is gone.
 *
 * Threads: the pruner's.
 * Owns:    DIR/audit/new.kept while it runs.
 * Source:  docs/audit.md, "Retention". Internal to store/. */
#ifndef WD_STORE_PRUNE_KEEP_H
#define WD_STORE_PRUNE_KEEP_H

#include "store/tombstone.h"
#include "store/trail.h"

/* Makes the file of a whole, sealed source, or leaves nothing; *t has how many rows, and
 * the hash of their hashes.
 * Errors: DATA_LOSS, RESOURCE_EXHAUSTED, UNAVAILABLE */
WD_MUST_USE wd_status wd_prune_keep(const wd_trail_place *place,
                                    const wd_source *source, wd_tombstone *t,
                                    wd_error *err);

/* Counts the kept rows of a source and hashes their hashes, as *t is to say.
 * Errors: DATA_LOSS a row has no hash, or not its own */
WD_MUST_USE wd_status wd_prune_kept(const wd_source *source, const char *chain_id,
                                    wd_tombstone *t, wd_error *err);

#endif
