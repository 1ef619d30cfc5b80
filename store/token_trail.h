/* token_trail.h - is the tokens table what the trail says of its tokens?
 *
 * Each token has a token.issue row, whose detail tells all that decides what it is good
 * for, and a commitment to its secret; each that is revoked has a token.revoke row. The
 * table is what a gate goes by; a change of it alone is found here.
 *
 * Threads: the connection's owner; the table must not be in use by anybody else yet.
 * Owns:    nothing; notes what it has seen in the table's tokens.
 * Source:  docs/protocol.md, section 5. Internal to store/. */
#ifndef WD_STORE_TOKEN_TRAIL_H
#define WD_STORE_TOKEN_TRAIL_H

#include "store/internal.h"
#include "store/token_detail.h"

/* True for the rows that wd_token_trail_row wants to see. */
bool wd_token_trail_wants(const char *event);

/* The next such row of the trail.
 * Errors: DATA_LOSS CHAIN_BROKEN: the message names token, row and what differs */
WD_MUST_USE wd_status wd_token_trail_row(wd_token_table *table, const wd_audit_row *row,
                                         wd_error *err);

/* After the last of them: no token may be left of which there was no row.
 * *ret_seq: the row that the first fault contradicts, 0: none.  Errors: as above. */
WD_MUST_USE wd_status wd_token_trail_end(wd_token_table *table, uint64_t *ret_seq,
                                         wd_error *err);

/* Whether the row of a SELECT WD_AUDIT_COLUMNS has its hash.  Errors: as above. */
WD_MUST_USE wd_status wd_token_trail_hash(sqlite3_stmt *stmt, const char *chain_id,
                                          wd_error *err);

/* All of it, in one pass over the trail, for the start: reads the rows about tokens
 * alone, and checks of each that it has its hash. */
WD_MUST_USE wd_status wd_token_trail_check(wd_trail *trail, wd_token_table *table,
                                           wd_error *err);

#endif
