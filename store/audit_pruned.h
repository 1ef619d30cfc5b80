/* audit_pruned.h - do the tombstones tell of all that was pruned, and are its exports there?
 *
 * Threads: the thread of the reader.  Owns: nothing.
 * Source:  docs/audit.md, "Verifying". Internal to store/. */
#ifndef WD_STORE_AUDIT_PRUNED_H
#define WD_STORE_AUDIT_PRUNED_H

#include "store/audit_heads.h"
#include "store/audit_verify.h"
#include "store/trail.h"

/* Of a trail whose rows verify: every pruned row has a tombstone in the chain, which is
 * what meta says; what is kept is what they say; and, where range->exports is set, each
 * export is there and has the rows that `heads` have seen. *report gets fault, row, number
 * of tombstones, and how many heads were found or could not be looked for.
 * Errors: DATA_LOSS          CHAIN_BROKEN
 *         PERMISSION_DENIED  an export can't be looked at: no fault is known */
WD_MUST_USE wd_status wd_pruned_verify(wd_trail *trail, const wd_audit_range *range,
                                       const wd_heads *heads, wd_audit_report *report,
                                       wd_error *err);

/* How far the store is pruned now. */
WD_MUST_USE wd_status wd_pruned_seq(sqlite3 *db, uint64_t *ret_seq, wd_error *err);

#endif
