/* seal.h - rows of the open segment become a file of their own.
 *
 * Built beside the gate that goes on writing: copied, counted, verified row by row, made
 * durable, and only then named; from that moment on readers take the rows from it. What
 * is left is to delete them from store.db, a thousand at a time. A crash at any point
 * leaves all rows in one of the two, or in both.
 *
 * Threads: the archivist's (store/archive.h).
 * Owns:    DIR/audit/new.db while it runs.
 * Source:  docs/audit.md, "Segments". Internal to store/. */
#ifndef WD_STORE_SEAL_H
#define WD_STORE_SEAL_H

#include <stdatomic.h>

#include "store/trail.h"

#define WD_SEAL_DELETE_ROWS 100U /* of store.db in one commit */

/* The tables of a segment, in a transaction that this begins; and their index. */
extern const char wd_seal_tables[];
extern const char wd_seal_index[];

/* Which rows: from `first`, the first that is in no segment, to `last`. */
typedef struct wd_seal {
    sqlite3 *db; /* of store.db, for reading; in no transaction */
    wd_trail_place place;
    uint64_t first;
    uint64_t last;
    const atomic_bool *stop; /* give up; NULL: never */
} wd_seal;

/* Makes the segment, or leaves nothing.
 * Errors: DATA_LOSS CHAIN_BROKEN  a row does not verify: nothing is sealed
 *         RESOURCE_EXHAUSTED      no room on the disk
 *         CANCELLED               told to stop
 *         UNAVAILABLE             the disk fails */
WD_MUST_USE wd_status wd_seal_build(const wd_seal *seal, wd_error *err);

#endif
