/* segment.h - the sealed segments of a store: files of rows that never change again.
 *
 *     DIR/audit/1-500.db      rows 1 to 500, with what makes them quick to find
 *     DIR/audit/1-500.kept    what is left of them once they were pruned: the rows about
 *                             tokens and the tombstones
 *     DIR/audit/new.db        a segment in the making; of no worth after a crash, and so
 *     DIR/audit/new.kept      what is to be kept of one
 *
 * Threads: any; each caller has its own list and its own connections.
 * Owns:    what a list points to; wd_segments_done frees it.
 * Source:  docs/audit.md, "Segments". Internal to store/. */
#ifndef WD_STORE_SEGMENT_H
#define WD_STORE_SEGMENT_H

#include <stddef.h>

#include "store/sql.h"

#define WD_SEGMENT_FOLDER "audit"

typedef struct wd_segment {
    uint64_t first;
    uint64_t last;
    bool kept_only; /* pruned: not every row is there */
} wd_segment;

/* In the order of their rows. */
typedef struct wd_segments {
    wd_segment *list;
    size_t n;
} wd_segments;

void wd_segments_done(wd_segments *segments);
#define WD_AUTO_SEGMENTS __attribute__((cleanup(wd_segments_done))) wd_segments

/* All of them; where a segment is there whole and pruned, the whole one counts unless it
 * ends at or before `pruned`. None when there is no folder.
 * Errors: UNAVAILABLE, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_segments_find(const char *dir, uint64_t pruned,
                                       wd_segments *ret_segments, wd_error *err);

/* "DIR/audit/1-500.db", from malloc; NULL without memory. */
char *wd_segment_path(const char *dir, const wd_segment *segment);
/* "DIR/audit/NAME"; NAME "": the folder. */
char *wd_segment_file(const char *dir, const char *name);

/* A connection that only reads.
 * Errors: NOT_FOUND it is gone; DATA_LOSS it is no segment, or damaged */
WD_MUST_USE wd_status wd_segment_open(const char *dir, const wd_segment *segment,
                                      const char *vfs, sqlite3 **ret_db, wd_error *err);

/* Makes what was written to a file, or to the folder's list of names, durable.
 * Errors: UNAVAILABLE */
WD_MUST_USE wd_status wd_segment_sync(const char *path, wd_error *err);

/* A new, empty file of the store's owner, 0600; one that is there already goes first.
 * Errors: UNAVAILABLE */
WD_MUST_USE wd_status wd_segment_file_make(const char *dir, const char *path,
                                           wd_error *err);

/* Makes a finished file durable, read-only, and calls it what `segment` is called: from
 * then on it counts, also after a crash.
 * Errors: UNAVAILABLE, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_segment_name(const char *dir, const char *path,
                                      const wd_segment *segment, wd_error *err);

/* Removes the whole files of segments up to `pruned` of which what is kept is there: a
 * crash came between.
 * Errors: UNAVAILABLE, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_segments_tidy(const char *dir, uint64_t pruned, wd_error *err);

/* Makes the folder when it is not there, 0700 and the store's owner's.
 * Errors: UNAVAILABLE */
WD_MUST_USE wd_status wd_segment_folder(const char *dir, wd_error *err);

#endif
