/* audit_verify.h - is the trail what was written? Row by row, and against witnesses.
 *
 * Threads: the thread of the reader. Memory grows with the tokens, not with the trail.
 * Source:  docs/security.md, "The record". Without a witness a cut tail, or a chain
 *          that was made anew from some row on, cannot be told from the real one. */
#ifndef WD_STORE_AUDIT_VERIFY_H
#define WD_STORE_AUDIT_VERIFY_H

#include "store/audit.h"

/* What went wrong with a chain, and where first. */
typedef enum wd_audit_fault {
    WD_AUDIT_SOUND = 0,
    WD_AUDIT_ROW_MISSING,  /* a gap in seq */
    WD_AUDIT_ROW_CHANGED,  /* the row's content does not have the row's hash */
    WD_AUDIT_ROW_UNLINKED, /* sound by itself, but it does not follow its neighbour */
    WD_AUDIT_TAIL_CUT,     /* a witness saw a row that is gone */
    WD_AUDIT_FORKED,       /* a witness saw another row with this seq */
    WD_AUDIT_TOKENS,       /* the tokens table is not what the row says */
    WD_AUDIT_SEGMENT_MISSING, /* a sealed segment is gone without a tombstone */
} wd_audit_fault;

typedef struct wd_audit_report {
    uint64_t rows; /* verified */
    wd_head head;  /* the last one verified */
    size_t n_witnessed;
    size_t n_tokens;   /* compared with the rows that tell of them */
    size_t n_segments; /* sealed ones read */
    wd_audit_fault fault;
    uint64_t bad_seq; /* 0: no fault */
} wd_audit_report;

/* What to verify. The heads that witnesses saw need no order. */
typedef struct wd_audit_range {
    uint64_t first; /* 0: 1 */
    uint64_t last;  /* 0: the newest */
    const wd_head *witnessed;
    size_t n_witnessed;
} wd_audit_range;

/* Reads the rows of the range, one at a time, and checks each, and that every head
 * which a witness saw is on the chain. Of the whole trail, also that the tokens table is
 * what the rows about tokens say, in the same pass and the same snapshot. Where the range does not begin at row 1, its
 * first row's prev_hash is taken as it is. *ret_report is set in any case.
 * Errors: DATA_LOSS  CHAIN_BROKEN: the message names row and fault; or damaged */
WD_MUST_USE wd_status wd_audit_verify(wd_reader *reader, const wd_audit_range *range,
                                      wd_audit_report *ret_report, wd_error *err);

#endif
