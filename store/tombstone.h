/* tombstone.h - what is left of a segment that was exported and pruned: a row audit.prune.
 *
 *     {"first":1,"last":500,"rows":500,"export":"CHAIN-1-500.jsonl","sha256":"...",
 *      "bytes":312033,"last_hash":"...","kept":12,"kept_hash":"...","why":"age"}
 *
 * The row is in the chain, so what it says of the export and of the kept rows can't be
 * changed without being found. `meta` has a copy under "pruned:FIRST", quick to read;
 * verifying compares the two.
 *
 * Threads: the owner of the connection.
 * Owns:    a list its tombstones; wd_tombstones_done frees it.
 * Source:  docs/audit.md, "Retention". Internal to store/. */
#ifndef WD_STORE_TOMBSTONE_H
#define WD_STORE_TOMBSTONE_H

#include "proto/c/sha256.h"
#include "store/audit.h"
#include "store/sql.h"

#define WD_TOMBSTONE_EXPORT_BYTES 96U  /* a UUID, two numbers, ".jsonl" */
#define WD_TOMBSTONE_WHY_BYTES    256U /* of the reason */
#define WD_TOMBSTONE_EVENT        "audit.prune"

typedef struct wd_tombstone {
    uint64_t seq; /* of the row that tells of it; 0: not written yet */
    uint64_t first, last;
    char file[WD_TOMBSTONE_EXPORT_BYTES]; /* name in the folder of exports */
    char sha256[WD_SHA256_HEX_BYTES];     /* of that file */
    uint64_t bytes;                       /* of that file */
    char last_hash[WD_SHA256_HEX_BYTES];  /* of row `last` */
    uint64_t kept;                        /* rows that stay, in FIRST-LAST.kept */
    char kept_hash[WD_SHA256_HEX_BYTES];  /* of their hashes, one after the other */
} wd_tombstone;

/* The detail of the row, from malloc; `why` for people. NULL: no memory. */
char *wd_tombstone_detail(const wd_tombstone *tombstone, const char *why);

/* The reverse; seq is left 0. false: it is no such text. */
WD_MUST_USE bool wd_tombstone_parse(const char *detail, wd_tombstone *ret);

typedef struct wd_tombstones {
    wd_tombstone *list; /* by first */
    size_t n, room;
} wd_tombstones;

void wd_tombstones_done(wd_tombstones *all);
#define WD_AUTO_TOMBSTONES __attribute__((cleanup(wd_tombstones_done))) wd_tombstones

/* Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_tombstones_add(wd_tombstones *all, const wd_tombstone *one,
                                        wd_error *err);

/* Those whose rows lie between `low` and `high`, as meta says.
 * Errors: DATA_LOSS CHAIN_BROKEN: meta holds something else; those of reading */
WD_MUST_USE wd_status wd_tombstones_read(sqlite3 *db, uint64_t low, uint64_t high,
                                         wd_tombstones *ret, wd_error *err);

/* The same of a reader's store: for the answers of queries. */
WD_MUST_USE wd_status wd_tombstones_between(wd_reader *reader, uint64_t low,
                                            uint64_t high, wd_tombstones *ret,
                                            wd_error *err);

/* In a job's apply: appends the row, by whom `who` says and with the detail that it has,
 * wd_tombstone_detail's, and has meta know of it.
 * Errors: UNAVAILABLE AUDIT_UNWRITABLE; FAILED_PRECONDITION CONFLICT: rows before
 *         `first` are not pruned, or later ones are */
WD_MUST_USE wd_status wd_tombstone_write(wd_store *store, const wd_audit_row *who,
                                         wd_tombstone *tombstone, wd_error *err);

#endif
