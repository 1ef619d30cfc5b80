/* audit_stats.h - how much trail there is, of what, and how long the disk will do.
 *
 * Threads: the thread of the reader. Memory grows with the segments alone.
 * Owns:    what a wd_audit_stats points to; wd_audit_stats_done frees it.
 * Source:  docs/audit.md, "How much there is". */
#ifndef WD_STORE_AUDIT_STATS_H
#define WD_STORE_AUDIT_STATS_H

#include "store/audit.h"

#define WD_STATS_COUNTS   32U                         /* most values told of a kind */
#define WD_STATS_RATE_MS  (7LL * 24 * 60 * 60 * 1000) /* the rate is of so long */
#define WD_STATS_LEAST_MS (60LL * 60 * 1000)          /* and never of less than this */

typedef struct wd_stats_segment {
    uint64_t first, last; /* rows */
    int64_t first_ms, last_ms;
    uint64_t bytes;
    bool sealed; /* false: the open one */
} wd_stats_segment;

typedef struct wd_stats_count {
    char *what; /* "event", "outcome", "reason", "method", "principal", "token" */
    char *value;
    uint64_t rows;
} wd_stats_count;

typedef struct wd_stats_ask {
    int64_t since_ms; /* counts of segments that have rows from then on; 0: all */
    int64_t now_ms;
    uint64_t reserve_bytes; /* of the disk's free space so much does not count */
    int64_t age_ms;         /* retention; 0: rows stay */
    uint64_t most_bytes;    /* sealed segments take no more; 0: no limit */
    const char *exports;    /* where what is pruned goes; NULL: to no disk */
    wd_store_disk disk;     /* all NULL: the real one */
} wd_stats_ask;

typedef struct wd_audit_stats {
    uint64_t rows;
    uint64_t bytes; /* store.db with its WAL, and the sealed segments */
    wd_stats_segment *segments;
    size_t n_segments;
    wd_stats_count *counts; /* by kind, the most frequent first */
    size_t n_counts;
    uint64_t rows_per_day;
    uint64_t bytes_per_day;
    uint64_t free_bytes;
    uint64_t days_left; /* at this rate; 0 and no_end: it does not fill, as retention
                           lets it grow no further than there is room */
    bool no_end;
    wd_head head;
    uint64_t checkpoint_seq; /* 0: none */
    uint64_t pruned_seq;     /* 0: none */
    uint64_t n_tombstones;
} wd_audit_stats;

void wd_audit_stats_done(wd_audit_stats *stats);
#define WD_AUTO_STATS __attribute__((cleanup(wd_audit_stats_done))) wd_audit_stats

/* Errors: DATA_LOSS, RESOURCE_EXHAUSTED, UNAVAILABLE, DEADLINE_EXCEEDED */
WD_MUST_USE wd_status wd_audit_stats_read(wd_reader *reader, const wd_stats_ask *ask,
                                          wd_audit_stats *ret_stats, wd_error *err);

#endif
