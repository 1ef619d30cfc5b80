/* audit_chunks.h - a range of the trail cut into chunks, verified by all cores.
 *
 * Threads: the caller's, which waits; its own end before run returns. A chunk that was
 *          moved from store.db into a segment meanwhile is verified again by the caller,
 *          as of the trail's moment.
 * Owns:    the list.
 * Source:  store/audit_chunk.h. Internal to store/. */
#ifndef WD_STORE_AUDIT_CHUNKS_H
#define WD_STORE_AUDIT_CHUNKS_H

#include "store/audit_chunk.h"

typedef struct wd_chunks {
    wd_chunk *list;
    size_t *sources; /* of each: its index in the trail */
    size_t n;
    size_t room;
} wd_chunks;

void wd_chunks_done(wd_chunks *chunks);

/* Adds rows first..last of a source of the trail, in chunks.
 * Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_chunks_add(wd_chunks *chunks, size_t source,
                                    const wd_chunk *stretch, wd_error *err);

/* Verifies them all, at most `threads` at a time. */
WD_MUST_USE wd_status wd_chunks_run(wd_chunks *chunks, wd_trail *trail,
                                    unsigned threads, wd_error *err);

#endif
