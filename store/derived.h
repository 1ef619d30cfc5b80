/* derived.h - is what a segment says about its rows what its rows say?
 *
 * Facts, postings, blocks and the list of kept rows are made of the rows when they are
 * sealed, and queries believe them. They are made anew, in memory, and compared; open
 * calls that were taken over from older segments still have their hashes.
 *
 * Threads: the owner of the source.
 * Owns:    a database in memory while it runs; it grows as sealing's does (store/facts.h).
 * Source:  docs/audit.md, "Verifying". Internal to store/. */
#ifndef WD_STORE_DERIVED_H
#define WD_STORE_DERIVED_H

#include "store/trail.h"

/* Of a whole segment whose rows verify and whose pages are sound.
 * Errors: DATA_LOSS  the message names the table; RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_derived_verify(const wd_source *segment, const char *chain_id,
                                        wd_error *err);

#endif
