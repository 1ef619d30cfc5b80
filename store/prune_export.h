/* prune_export.h - a segment as a file that outlives it: FOLDER/CHAIN-FIRST-LAST.jsonl.
 *
 * Written under another name, made durable, read back from the disk and compared, and only
 * then named: what bears the name is whole. Beside it NAME.sha256, for `sha256sum -c`. A
 * file of this name that is there already stays if it says the same, and is an error if
 * not: it may be all that is left of other rows.
 *
 * Threads: any.
 * Owns:    FOLDER/.NAME.part while it runs.
 * Source:  docs/audit.md, "Retention". Internal to store/. */
#ifndef WD_STORE_PRUNE_EXPORT_H
#define WD_STORE_PRUNE_EXPORT_H

#include <stdatomic.h>

#include "store/audit_chunk.h"
#include "store/tombstone.h"
#include "store/trail.h"

typedef struct wd_prune_export {
    const char *folder; /* made when it is not there; its parent must be */
    const char *dir;    /* of the store: root gives what it makes to its owner */
    const char *chain_id;
    const atomic_bool *stop; /* give up; NULL: never */
} wd_prune_export;

/* Writes every row of a whole source. *t has the file's name, size and digest then.
 * Errors: RESOURCE_EXHAUSTED   no room on the disk, no memory
 *         FAILED_PRECONDITION  the folder is no folder, or others may write there; another
 *                              file has the name
 *         UNAVAILABLE          the disk fails, or nothing may be written there
 *         DATA_LOSS            a row is not there, or the file is not what was written
 *         CANCELLED            told to stop */
WD_MUST_USE wd_status wd_prune_export_write(const wd_prune_export *to,
                                            const wd_source *source, wd_tombstone *t,
                                            wd_error *err);

/* Whether the file that a tombstone tells of is in the folder, and is that file.
 * Errors: DATA_LOSS          it is gone, or has another size or digest
 *         PERMISSION_DENIED  it can't be looked at: neither is known */
WD_MUST_USE wd_status wd_prune_export_check(const char *folder, const wd_tombstone *t,
                                            wd_error *err);

/* Heads of its rows that somebody saw, in order. */
typedef struct wd_export_seen {
    const wd_seen_head *list;
    size_t n;
    uint64_t bad_seq; /* what is found: the first row with another hash; 0: none */
} wd_export_seen;

/* Looks for the heads in that file, which was found to be it.
 * Errors: PERMISSION_DENIED  it can't be read; RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_prune_export_seen(const char *folder, const wd_tombstone *t,
                                           wd_export_seen *seen, wd_error *err);

#endif
