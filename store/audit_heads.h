/* audit_heads.h - which heads of the chain somebody saw: witnesses, and the gate itself in
 * its checkpoints.
 *
 * Threads: one owner.
 * Owns:    the list, and the texts whose signatures are to be checked.
 * Source:  docs/audit.md, "Verifying". Internal to store/. */
#ifndef WD_STORE_AUDIT_HEADS_H
#define WD_STORE_AUDIT_HEADS_H

#include "store/audit_chunk.h"

typedef struct wd_heads {
    wd_seen_head *list; /* by seq */
    size_t n, room;
    char **texts; /* the last checkpoint of each segment, the newest, the one given */
    size_t n_texts;
} wd_heads;

void wd_heads_done(wd_heads *heads);

/* Gathers the heads that concern the range. A checkpoint that was given sets where the
 * range begins.
 * Errors: DATA_LOSS CHAIN_BROKEN: a checkpoint of the store is none, or another chain's;
 *         *ret_fault says which
 *         INVALID_ARGUMENT the one that was given is none */
WD_MUST_USE wd_status wd_heads_take(wd_heads *heads, wd_trail *trail,
                                    wd_audit_range *range, wd_audit_fault *ret_fault,
                                    wd_error *err);

/* How many of them the rows just verified have met. */
void wd_heads_count(const wd_heads *heads, uint64_t pruned, const wd_audit_range *range,
                    wd_audit_report *report);

/* Signatures, where there is somebody to check them. Errors and fault as above. */
WD_MUST_USE wd_status wd_heads_check(const wd_heads *heads, wd_trail *trail,
                                     const wd_checker *checker, wd_audit_report *report,
                                     wd_error *err);

#endif
