/* trail.h - all rows of a store as of one moment: sealed segments, then the open one.
 *
 *     wd_trail_begin(db, &place, &trail, err);
 *     for (size_t i = 0; i < wd_trail_count(&trail); i++)
 *         wd_trail_source(&trail, i, &source, err) ...  its own statements on source.db
 *     wd_trail_end(&trail);
 *
 * Where a row is in a segment and still in the open one, the segment's counts: a source's
 * bounds say so.
 *
 * Threads: the owner of the connection.
 * Owns:    a read transaction on it, and the connection of one segment at a time: asking
 *          for a source ends the use of the one before it.
 * Source:  docs/audit.md, "Segments". Internal to store/. */
#ifndef WD_STORE_TRAIL_H
#define WD_STORE_TRAIL_H

#include "store/audit.h"
#include "store/segment.h"

typedef struct wd_trail_place {
    const char *dir;
    const char *vfs;
    const char *chain_id;
    const int64_t *deadline_ms; /* CLOCK_MONOTONIC, 0: none; NULL: none ever */
} wd_trail_place;

typedef struct wd_trail {
    sqlite3 *db;
    wd_trail_place place;
    wd_segments segments;
    uint64_t pruned; /* rows up to this one are gone but for what is kept; 0: none */
    sqlite3 *segment_db;
    bool begun;
} wd_trail;

/* One place where rows are: those from first to last. */
typedef struct wd_source {
    sqlite3 *db;               /* borrowed from the trail */
    const wd_segment *segment; /* NULL: the open one */
    uint64_t first;
    uint64_t last; /* INT64_MAX of the open one */
} wd_source;

WD_MUST_USE wd_status wd_trail_begin(sqlite3 *db, const wd_trail_place *place,
                                     wd_trail *ret_trail, wd_error *err);
void wd_trail_end(wd_trail *trail);
#define WD_AUTO_TRAIL __attribute__((cleanup(wd_trail_end))) wd_trail

size_t wd_trail_count(const wd_trail *trail);

/* Errors: DATA_LOSS, UNAVAILABLE */
WD_MUST_USE wd_status wd_trail_source(wd_trail *trail, size_t i, wd_source *ret_source,
                                      wd_error *err);

/* The last row that is in a segment; 0: none is. */
uint64_t wd_trail_sealed(const wd_trail *trail);

/* Hash of the row `seq`, wherever it is; of a pruned range its last row's is known.
 * Errors: NOT_FOUND, DATA_LOSS */
WD_MUST_USE wd_status wd_trail_hash(wd_trail *trail, uint64_t seq,
                                    uint8_t ret_hash[WD_AUDIT_HASH_BYTES],
                                    wd_error *err);

/* What of a segment is kept when it is pruned: rows about tokens, and tombstones. */
#define WD_TRAIL_KEPT "event GLOB 'token.*' OR event = 'audit.prune'"
bool wd_trail_is_kept(const char *event);

/* Every row about tokens, oldest first; the sink is asked for no stop.
 * Errors: those of the sink's own, through *ret_status of the sink; DATA_LOSS */
typedef wd_status wd_trail_row(void *arg, sqlite3_stmt *stmt, wd_error *err);
WD_MUST_USE wd_status wd_trail_tokens(wd_trail *trail, wd_trail_row *row, void *arg,
                                      wd_error *err);

#endif
