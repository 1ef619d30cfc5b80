/* archive.h - what keeps a trail in order while rows come: segments sealed, sealed rows
 * deleted from store.db, old segments exported and pruned (store/pruner.h).
 *
 * wd_archivist seals pass by pass on its caller's thread; wd_archive is a thread of low
 * priority that makes a pass a second, then prunes what is due.
 *
 * Threads: an archivist has one owner; changes go through the writer, or, without one,
 *          straight to the store.
 * Owns:    a reader of its own, DIR/audit/new.db while it seals.
 * Source:  docs/audit.md. */
#ifndef WD_STORE_ARCHIVE_H
#define WD_STORE_ARCHIVE_H

#include <stdatomic.h>

#include "store/audit.h"
#include "store/pruner.h"
#include "store/writer.h"

#define WD_ARCHIVE_SEGMENT_BYTES (512ULL << 20) /* default of audit.segment_bytes */
#define WD_ARCHIVE_SEGMENT_MS    (24LL * 60 * 60 * 1000) /* of audit.segment_ms */
#define WD_ARCHIVE_PASS_MS       1000

typedef struct wd_archive_options {
    wd_store *store;
    wd_writer *writer;      /* NULL: the store is this thread's own (tokctl) */
    uint64_t segment_bytes; /* the open segment is sealed when its rows take so much; 0:
                               the default */
    int64_t segment_ms;     /* or when its oldest row is so old; 0: the default */
    int64_t pass_ms; /* between two passes of the thread; 0: WD_ARCHIVE_PASS_MS */
    const atomic_bool *stop; /* give up what takes long; NULL: never */

    /* How a pass of the thread fared: for the log. NULL: well; else it tries again. */
    void (*passed)(void *arg, const wd_error *err);
    void *arg;

    wd_pruner *pruner; /* what is due by it goes, between two passes; NULL: nothing */
    void (*prune_passed)(void *arg, const wd_error *err); /* as passed */
    void *prune_arg;
} wd_archive_options;

typedef struct wd_archivist wd_archivist;

WD_MUST_USE wd_status wd_archivist_open(const wd_archive_options *options,
                                        wd_archivist **ret_archivist, wd_error *err);
void wd_archivist_close(wd_archivist *archivist);
WD_DEFINE_AUTO(wd_archivist, wd_archivist_close)

/* Everything that is due. What fails is left as it was, and due again.
 * Errors: DATA_LOSS            CHAIN_BROKEN: rows that do not verify are not sealed
 *         RESOURCE_EXHAUSTED   no room, no memory
 *         UNAVAILABLE          the disk fails; AUDIT_UNWRITABLE */
WD_MUST_USE wd_status wd_archivist_pass(wd_archivist *archivist, wd_error *err);

/* Seals all rows but the newest now, however few they are. */
WD_MUST_USE wd_status wd_archivist_seal(wd_archivist *archivist, wd_error *err);

typedef struct wd_archive wd_archive;

/* Starts the thread. Stop it before the writer. */
WD_MUST_USE wd_status wd_archive_start(const wd_archive_options *options,
                                       wd_archive **ret_archive, wd_error *err);
void wd_archive_stop(wd_archive *archive);

#endif
