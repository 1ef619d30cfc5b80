/* audit.h - the trail: rows chained by hash, appended and queried.
 *
 * Threads: append: inside a job's apply (store/writer.h). head: any. The others: the
 *          thread of their reader. Verifying is store/audit_verify.h's.
 * Source:  docs/protocol.md section 5.
 *
 *     hash = SHA-256("warded-audit-v1" || prev_hash || fields of the row in order)
 *     field = 0x00 | 0x01 int64 big-endian | 0x02 uint32 length big-endian, bytes
 *
 * in the order of AuditRow in audit.proto without prev_hash and hash; prev_hash of row
 * 1 is 32 zero bytes. chain_id is kept once per store and hashed in every row. Columns
 * that came later (owner and those after it) are hashed up to the last that is not
 * null: older rows keep their hashes. */
#ifndef WD_STORE_AUDIT_H
#define WD_STORE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/reader.h"
#include "store/store.h"

#define WD_AUDIT_HASH_BYTES 32U
#define WD_AUDIT_TEXT_BYTES 4096U /* longest text of a column; more is cut */
#define WD_AUDIT_QUERY_ROWS 1000U /* most rows of one answer */

/* The newest row: 0 and zero bytes for an empty chain. */
typedef struct wd_head {
    uint64_t seq;
    uint8_t hash[WD_AUDIT_HASH_BYTES];
} wd_head;

/* One row, as audit.proto's AuditRow. Text is borrowed; NULL or "": no such fact. */
typedef struct wd_audit_row {
    uint64_t seq;         /* append sets it */
    const char *chain_id; /* append sets it */
    int64_t wall_ms;      /* append sets it when 0 */
    int64_t mono_ns;      /* append sets it when 0 */
    const char *event;
    const char *outcome;
    const char *reason;
    const char *principal;
    const char *token_id;
    const char *peer_cert;
    const char *peer_addr;
    const char *method;
    const char *scope;
    const char *trajectory_id;
    const char *session_id;
    const char *episode_id;
    const char *call_id;
    const char *trace_id;
    uint64_t duration_us;
    uint64_t bytes_in;
    uint64_t bytes_out;
    const char *digest;
    const char *detail;
    const char *tool;
    const char *owner;  /* of the token */
    const char *family; /* of the token */
    const char *pool;   /* of the gate */
    uint32_t code;
    uint32_t item;
    uint8_t prev_hash[WD_AUDIT_HASH_BYTES]; /* append sets it */
    uint8_t hash[WD_AUDIT_HASH_BYTES];      /* append sets it */
} wd_audit_row;

/* Adds a row after the newest. It counts once the job's group has been committed.
 * What is not UTF-8 gets U+FFFD, longer text is cut, a longer `detail` becomes
 * {"cut_bytes": N}: a record is never refused for its looks.
 * Errors: UNAVAILABLE       AUDIT_UNWRITABLE: SQLite can't */
WD_MUST_USE wd_status wd_audit_append(wd_store *store, const wd_audit_row *row,
                                      wd_error *err);

/* The newest row that is durable. */
wd_head wd_audit_head(wd_store *store);

/* Where rows go. `row` is called for each; its text lives until the call returns.
 * false: enough. */
typedef struct wd_audit_sink {
    bool (*row)(void *arg, const wd_audit_row *row);
    void *arg;
} wd_audit_sink;

#define WD_AUDIT_EVENT_BYTES 128U /* longest glob over events */
#define WD_AUDIT_PEER_BYTES  256U /* longest glob over peers */
#define WD_AUDIT_CODES       17U  /* most codes of a filter, and their values: 0..16 */

/* What AuditFilter and QueryRequest say. NULL, "" or 0: no such filter. */
typedef struct wd_audit_filter {
    uint64_t from_seq; /* inclusive; newest_first: where the answer begins, downwards */
    uint64_t to_seq;   /* inclusive; 0: no end */
    int64_t since_ms;
    int64_t until_ms;  /* exclusive */
    const char *event; /* glob */
    const char *outcome;
    const uint32_t *codes; /* one of these */
    size_t n_codes;
    const char *reason;
    const char *principal;
    const char *peer; /* glob over principal, peer_addr and peer_cert: one must match */
    const char *token_id;
    const char *family;
    const char *owner;
    const char *method;
    const char *pool;
    const char *session_id;
    const char *episode_id;
    const char *trajectory_id;
    const char *call_id;
    const char *trace_id;
    const char *tool;
    uint32_t limit; /* rows; 0: 100; above WD_AUDIT_QUERY_ROWS: refused */
    bool newest_first;
    bool without_reads; /* none of what reading the trail makes: see audit_filter.c */
} wd_audit_filter;

/* Rows that pass every filter, in the order of their seq, which newest_first turns
 * round. *ret_next_seq: where to go on, 0: no more.
 * Errors: INVALID_ARGUMENT  FIELD_INVALID: limit, or a number out of range
 *         DATA_LOSS         the database is damaged */
WD_MUST_USE wd_status wd_audit_query(wd_reader *reader, const wd_audit_filter *filter,
                                     const wd_audit_sink *sink, uint64_t *ret_next_seq,
                                     wd_error *err);

/* The newest `limit` rows that pass the filter, oldest of them first. */
WD_MUST_USE wd_status wd_audit_tail(wd_reader *reader, const wd_audit_filter *filter,
                                    const wd_audit_sink *sink, wd_error *err);

/* The newest row, as this reader sees it. */
WD_MUST_USE wd_status wd_audit_read_head(wd_reader *reader, wd_head *ret_head,
                                         wd_error *err);

/* Did the last life end without gate.stop? Ask before this start's gate.start. */
WD_MUST_USE wd_status wd_audit_crashed(wd_reader *reader, bool *ret, wd_error *err);

/* Calls that have a call.begin row and no call.end row of the same call id and item
 * since the last gate.start: what a crash cut off. Before this start's gate.start row
 * is written, and write what became of them in the same job as that row. */
WD_MUST_USE wd_status wd_audit_open_calls(wd_reader *reader, const wd_audit_sink *sink,
                                          wd_error *err);

/* The call.* rows not older than since_ms, newest first: what fills the table of known
 * call ids at start. Stops at the first older row. */
WD_MUST_USE wd_status wd_audit_recent_calls(wd_reader *reader, int64_t since_ms,
                                            const wd_audit_sink *sink, wd_error *err);

#endif
