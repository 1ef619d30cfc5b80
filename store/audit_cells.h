/* audit_cells.h - a row of the trail as the cells that are hashed (store/audit_hash.h) and
 * stored.
 *
 * Threads: any; pure.  Owns: nothing; cells borrow their text.
 * Source:  docs/protocol.md section 5. The list of columns is in the .c: the order
 *          of AuditRow in audit.proto. Internal to store/. */
#ifndef WD_STORE_AUDIT_CELLS_H
#define WD_STORE_AUDIT_CELLS_H

#include "proto/c/span.h"
#include "store/audit.h"
#include "store/sql.h"

#define WD_AUDIT_CELLS       29U /* seq .. pool, chain_id among them */
#define WD_AUDIT_CHAIN_CELL  1U  /* which of them is the chain_id */
#define WD_AUDIT_FIRST_CELLS 26U /* seq .. item: always hashed, those after if set */

/* As hashed: the tag, then the value. */
typedef enum wd_cell_tag {
    WD_CELL_NULL = 0,
    WD_CELL_INTEGER = 1,
    WD_CELL_BYTES = 2,
    WD_CELL_FOREIGN = 3, /* a type that we never write; only found in changed rows */
} wd_cell_tag;

typedef struct wd_cell {
    wd_cell_tag tag;
    int64_t number;
    wd_span bytes;
} wd_cell;

/* "seq, wall_ms, ..., pool, prev_hash, hash": what is stored. And as many "?, ?". */
#define WD_AUDIT_COLUMNS                                                               \
    "seq, wall_ms, mono_ns, event, outcome, code, reason, principal, token_id, "       \
    "peer_cert, peer_addr, method, scope, trajectory_id, session_id, episode_id, "     \
    "call_id, trace_id, duration_us, bytes_in, bytes_out, digest, detail, tool, "      \
    "item, owner, family, pool, "                                                      \
    "prev_hash, hash"
#define WD_AUDIT_PARAMETERS                                                            \
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "   \
    "?, "                                                                              \
    "?, ?, ?"

/* From a row: "" becomes NULL, numbers above 2^63-1 become that. */
void wd_cells_of_row(const wd_audit_row *row, wd_cell ret_cells[WD_AUDIT_CELLS]);

/* Binds the cells to WD_AUDIT_PARAMETERS, the two hashes after them. */
void wd_cells_bind(const wd_cell cells[WD_AUDIT_CELLS], const wd_audit_row *hashes,
                   sqlite3_stmt *stmt);

/* The hashes of a row of SELECT WD_AUDIT_COLUMNS as they are stored; false when they are
 * not 32 bytes. */
bool wd_cells_hashes(sqlite3_stmt *stmt, uint8_t ret_prev[WD_AUDIT_HASH_BYTES],
                     uint8_t ret_hash[WD_AUDIT_HASH_BYTES]);

/* A row for people and programs; its text is valid until the next step. */
void wd_audit_row_read(sqlite3_stmt *stmt, const char *chain_id, wd_audit_row *ret_row);

#endif
