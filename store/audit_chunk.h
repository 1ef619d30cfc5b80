/* audit_chunk.h - a stretch of the chain, verified by itself.
 *
 * Chunks are independent but for their ends: each tells the hash that its first row
 * names as its predecessor's, and the hash of its last row. So cores verify different
 * chunks at the same time, and whoever has all of them compares the ends.
 *
 * Threads: one for each chunk, each with a connection of its own.
 * Owns:    nothing. Internal to store/. */
#ifndef WD_STORE_AUDIT_CHUNK_H
#define WD_STORE_AUDIT_CHUNK_H

#include "store/audit_verify.h"
#include "store/trail.h"

#define WD_CHUNK_ROWS 16384U

/* A head that somebody saw. */
typedef struct wd_seen_head {
    wd_head head;
    bool signed_by_us; /* a checkpoint's; else a witness's */
} wd_seen_head;

typedef struct wd_chunk {
    uint64_t first;
    uint64_t last;
    bool opens;  /* the first of its source: it must hold no row before `first` */
    bool closes; /* the last of its source: none after `last` */
    const wd_seen_head *heads; /* sorted; those of its rows are compared */
    size_t n_heads;

    /* What was found. */
    uint64_t rows;
    uint8_t prev[WD_AUDIT_HASH_BYTES]; /* as its first row says */
    uint8_t hash[WD_AUDIT_HASH_BYTES]; /* of its last row that was sound */
    size_t n_matched;                  /* of `heads` */
    wd_audit_fault fault;
    uint64_t bad_seq;
} wd_chunk;

/* Errors: those of SQLite; a fault of the chain is none. */
WD_MUST_USE wd_status wd_chunk_verify(sqlite3 *db, const char *chain_id,
                                      wd_chunk *chunk, wd_error *err);

#endif
