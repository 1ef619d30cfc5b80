/* audit_hash.h - the hash of a row, made new or where it is stored.
 *
 * Verifying hashes rows by the million: wd_row() is a function of SQL that does it while
 * SQLite has the row's columns at hand, which costs half of asking for each of them.
 *
 * Threads: the owner of the connection; wd_cells_hash: any, pure.
 * Owns:    nothing.
 * Source:  docs/protocol.md section 5. Internal to store/. */
#ifndef WD_STORE_AUDIT_HASH_H
#define WD_STORE_AUDIT_HASH_H

#include "store/audit_cells.h"

/* The hash of a row. */
void wd_cells_hash(const wd_cell cells[WD_AUDIT_CELLS],
                   const uint8_t prev_hash[WD_AUDIT_HASH_BYTES],
                   uint8_t ret_hash[WD_AUDIT_HASH_BYTES]);

/* Does what is stored of a row of SELECT WD_AUDIT_COLUMNS, byte for byte, have the hash that
 * is stored? Then *ret_prev and *ret_hash are its hashes. */
bool wd_cells_sound(sqlite3_stmt *stmt, const char *chain_id,
                    uint8_t ret_prev[WD_AUDIT_HASH_BYTES],
                    uint8_t ret_hash[WD_AUDIT_HASH_BYTES]);

/* What wd_row() finds of the row that was stepped to. */
typedef struct wd_row_found {
    const char *chain_id; /* whose row it is to be */
    bool sound;           /* as wd_cells_sound says; else there are no hashes */
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES];
} wd_row_found;

/* Its value is the row's seq; its first argument the pointer that was bound. */
#define WD_ROW_FUNCTION(pointer) "wd_row(" pointer ", " WD_AUDIT_COLUMNS ")"

/* Has the connection know wd_row(). Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_row_register(sqlite3 *db, wd_error *err);

/* Binds where wd_row() is to write; it outlives the statement's steps. */
void wd_row_bind(sqlite3_stmt *stmt, int at, wd_row_found *found);

#endif
