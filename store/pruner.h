/* pruner.h - segments that are too old, or too many, are exported and then removed.
 *
 *     exported, durable, read back          store/prune_export.h
 *     what is to be kept of it, durable     store/prune_keep.h
 *     the tombstone, and that it is pruned  one commit (store/tombstone.h)
 *     the segment's file removed
 *
 * in this order, oldest segment first: wherever it is cut off, each row is in the store or
 * in a whole export. Segments that do not verify are not touched.
 *
 * Threads: any; one segment at a time. Changes go through the writer, or, without one,
 *          straight to the store.
 * Owns:    a reader of its own.
 * Source:  docs/audit.md, "Retention". */
#ifndef WD_STORE_PRUNER_H
#define WD_STORE_PRUNER_H

#include <stdatomic.h>

#include "store/audit.h"
#include "store/tombstone.h"
#include "store/writer.h"

/* The newest rows stay: a start reads from them which call ids were used. */
#define WD_PRUNE_YOUNGEST_MS (60LL * 60 * 1000)

typedef struct wd_pruner_options {
    wd_store *store;
    wd_writer *writer;   /* NULL: the store is this thread's own (tokctl) */
    const char *exports; /* folder; outlives the pruner */
    int64_t age_ms; /* segments whose newest row is older go; 0: they stay. At first:
                       wd_pruner_set_due */
    uint64_t bytes; /* sealed segments take no more; 0: no limit */
    const char *principal;   /* who prunes by itself: the gate's URI */
    const atomic_bool *stop; /* give up what takes long; NULL: never */
} wd_pruner_options;

typedef struct wd_pruner wd_pruner;

WD_MUST_USE wd_status wd_pruner_open(const wd_pruner_options *options,
                                     wd_pruner **ret_pruner, wd_error *err);
void wd_pruner_close(wd_pruner *pruner);
WD_DEFINE_AUTO(wd_pruner, wd_pruner_close)

/* What somebody asked for; both bounds hold where both are set, one must be. */
typedef struct wd_prune_ask {
    int64_t before_ms;       /* segments whose newest row is older; 0: no such bound */
    uint64_t to_seq;         /* segments that end at or before it; 0: no such bound */
    bool dry_run;            /* say what would go, change nothing */
    const char *why;         /* for people, up to WD_TOMBSTONE_WHY_BYTES */
    const wd_audit_row *who; /* who asks, for the rows; NULL: the pruner's principal */
    int64_t deadline_ms; /* CLOCK_MONOTONIC: no segment is begun after it; 0: none */
} wd_prune_ask;

/* What went, or would go: then without a file. */
typedef struct wd_prune_sink {
    wd_status (*pruned)(void *arg, const wd_tombstone *tombstone, uint64_t freed_bytes,
                        wd_error *err);
    void *arg;
} wd_prune_sink;

/* Errors: INVALID_ARGUMENT   FIELD_INVALID: no bound, or rows that are not sealed, or
 *                            too young
 *         RESOURCE_EXHAUSTED the exports' disk is full; no memory
 *         FAILED_PRECONDITION, UNAVAILABLE  as wd_prune_export_write
 *         DATA_LOSS          CHAIN_BROKEN: a segment does not verify, and stays
 *         DEADLINE_EXCEEDED  RUN_TIMEOUT: what went before is on record
 *         CANCELLED          told to stop */
WD_MUST_USE wd_status wd_pruner_run(wd_pruner *pruner, const wd_prune_ask *ask,
                                    const wd_prune_sink *sink, wd_error *err);

/* What is due by age_ms and bytes. What fails stays, and is due again; until it is done
 * wd_pruner_problem says why. Errors: as above. */
WD_MUST_USE wd_status wd_pruner_pass(wd_pruner *pruner, wd_error *err);

/* What wd_pruner_options says of it, from the next pass on. Any thread. */
typedef struct wd_prune_due {
    int64_t age_ms;
    uint64_t bytes;
} wd_prune_due;
void wd_pruner_set_due(wd_pruner *pruner, const wd_prune_due *due);
wd_prune_due wd_pruner_due(wd_pruner *pruner);

/* Why the last pass could not prune what was due; "": it could. Any thread. */
void wd_pruner_problem(wd_pruner *pruner, char *ret_text, size_t size);

#endif
