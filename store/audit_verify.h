/* audit_verify.h - is the trail what was written? Row by row, and against witnesses.
 *
 * Threads: the thread of the reader, and for long ranges one more for each core. Memory
 *          grows with the tokens and with the heads that were seen, not with the rows.
 * Source:  docs/audit.md, "Verifying". Without a witness a cut tail, or a chain that was
 *          made anew from some row on, cannot be told from the real one. */
#ifndef WD_STORE_AUDIT_VERIFY_H
#define WD_STORE_AUDIT_VERIFY_H

#include "store/audit.h"
#include "store/checkpoint.h"

/* What went wrong with a chain, and where first. Numbers are VerifyReply.Fault's. */
typedef enum wd_audit_fault {
    WD_AUDIT_SOUND = 0,
    WD_AUDIT_ROW_MISSING = 1,  /* a gap in seq */
    WD_AUDIT_ROW_CHANGED = 2,  /* the row's content does not have the row's hash */
    WD_AUDIT_ROW_UNLINKED = 3, /* sound by itself, but does not follow its neighbour */
    WD_AUDIT_TAIL_CUT = 4,     /* a witness or a checkpoint saw a row that is gone */
    WD_AUDIT_FORKED = 5,       /* they saw another row with this seq */
    WD_AUDIT_TOKENS = 6,       /* the tokens table is not what the row says */
    WD_AUDIT_OTHER_CHAIN = 7,  /* the checkpoint is of another chain or gate */
    WD_AUDIT_CHECKPOINT_BAD = 8, /* a checkpoint's text or signature is wrong */
    WD_AUDIT_EXPORT_MISSING = 9, /* a tombstone whose export is not there, or another */
    WD_AUDIT_SEGMENT_MISSING = 10, /* a sealed segment is gone without a tombstone */
    WD_AUDIT_DAMAGED = 11, /* pages of a file, or what a segment says of its rows */
} wd_audit_fault;

/* "forked", "tail_cut", ...; "" for a sound trail. */
const char *wd_audit_fault_name(wd_audit_fault fault);

typedef struct wd_audit_report {
    uint64_t rows; /* verified */
    wd_head head;  /* the last one verified */
    size_t
        n_witnessed; /* heads found on the chain, or in an export of what was pruned */
    size_t n_unchecked;   /* of pruned rows, in no export that was looked into */
    size_t n_tokens;      /* compared with the rows that tell of them */
    size_t n_checkpoints; /* found on the chain */
    size_t n_signatures;  /* of them checked */
    size_t n_tombstones;  /* pruned ranges crossed */
    size_t n_segments;    /* sealed ones read */
    wd_audit_fault fault;
    uint64_t bad_seq; /* 0: no fault, or none of a row's */
} wd_audit_report;

/* What to verify. The heads that witnesses saw need no order. */
typedef struct wd_audit_range {
    uint64_t first; /* 0: 1, or the checkpoint's row */
    uint64_t last;  /* 0: the newest */
    const wd_head *witnessed;
    size_t n_witnessed;
    const char *checkpoint;    /* its text: where to begin; NULL: none */
    const wd_checker *checker; /* of signatures; NULL: none is checked */
    const char *exports; /* folder with the exports of pruned segments, each of which
                            must be there; NULL: they are elsewhere */
    unsigned threads;    /* 0: as many as there are cores */
} wd_audit_range;

/* Verifies each row of the range, that every head which a witness or a checkpoint saw is
 * on the chain, and the signature of each segment's last checkpoint and of the newest. Of
 * the whole trail, also that the tokens table is what the rows about tokens say, as of
 * the same moment, and that the pages of every file are sound (store/pages.h). Where the range does not begin at row 1, its first row's prev_hash is
 * taken as it is if the row before is not there. *ret_report is set in any case.
 * Errors: DATA_LOSS         CHAIN_BROKEN: the message names row and fault; or damaged
 *         INVALID_ARGUMENT  FIELD_INVALID: no such range, no such text */
WD_MUST_USE wd_status wd_audit_verify(wd_reader *reader, const wd_audit_range *range,
                                      wd_audit_report *ret_report, wd_error *err);

#endif
