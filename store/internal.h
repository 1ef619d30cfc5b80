/* internal.h - what the files of store/ know of each other's objects.
 *
 * Threads: as store.h says; the fields say whose they are.
 * Owns:    everything in it. Internal to store/. */
#ifndef WD_STORE_INTERNAL_H
#define WD_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "proto/c/clock.h"
#include "proto/c/uuid.h"
#include "store/audit.h"
#include "store/audit_verify.h"
#include "store/place.h"
#include "store/sql.h"
#include "store/store.h"
#include "store/token_table.h"
#include "store/tokens.h"
#include "store/trail.h"
#include "store/writer.h"

/* Statements that every group runs, prepared at open. */
typedef enum wd_store_stmt {
    WD_STMT_BEGIN,
    WD_STMT_SAVEPOINT,
    WD_STMT_UNDO_JOB,
    WD_STMT_RELEASE,
    WD_STMT_COMMIT,
    WD_STMT_ROLLBACK,
    WD_STMT_KEEP_TIME,
    WD_STMT_APPEND,
    WD_STMT_COUNT,
} wd_store_stmt;

typedef struct wd_token_change wd_token_change; /* store/token_rows.h */

#define WD_STORE_KEPT_BYTES 96U /* the monotonic time as kept: "MONO BOOT" */

struct wd_store {
    /* The writer's: its thread, or the caller of wd_store_run. */
    sqlite3 *db;
    sqlite3_stmt *stmts[WD_STMT_COUNT];
    wd_place place;           /* folder, lock and reserve */
    const char *vfs;          /* NULL: the default */
    wd_head pending;          /* newest row of the group in work */
    wd_token_change *changes; /* of tokens in that group, newest first, for the table */
    int64_t kept_highest_ms;  /* as in meta */

    /* Anybody's. */
    const wd_clock *clock;
    char chain_id[WD_UUID_TEXT_BYTES];
    wd_token_table *tokens;
    _Atomic int64_t ahead_ms; /* the store's time less the monotonic clock */
    char boot_id[WD_UUID_TEXT_BYTES];
    atomic_bool degraded;
    atomic_bool wal_large;     /* store/wal.h */
    pthread_mutex_t head_lock; /* private to store.c */
    wd_head durable;
};

struct wd_reader {
    sqlite3 *db;
    char *dir;       /* of the store */
    const char *vfs; /* NULL: the default */
    char chain_id[WD_UUID_TEXT_BYTES];
    int64_t deadline_ms; /* CLOCK_MONOTONIC; 0: none */
};

/* Where the rows of a store, and of a reader, are. */
wd_trail_place wd_store_trail_place(const wd_store *store);
WD_MUST_USE wd_status wd_reader_trail(wd_reader *reader, wd_trail *ret_trail,
                                      wd_error *err);

/* The head after a commit, for any thread to see. */
void wd_store_publish_head(wd_store *store, const wd_head *head);

/* Names of meta: a signer's certificate in PEM, with its key's id behind. */
#define WD_META_SIGNER       "signer:"
#define WD_CERTIFICATE_BYTES 8192U
/* The last row that was pruned, and its hash; of each segment "pruned:FIRST" besides. */
#define WD_META_PRUNED      "pruned_seq"
#define WD_META_PRUNED_HASH "pruned_hash"

/* Value of `name` in meta: *ret_value is "" when there is none. */
WD_MUST_USE wd_status wd_meta_read(sqlite3 *db, const char *name, char *ret_value,
                                   size_t size, wd_error *err);

/* The newest row, and wd_audit_verify, on any connection. */
WD_MUST_USE wd_status wd_head_read(sqlite3 *db, wd_head *ret_head, wd_error *err);
WD_MUST_USE wd_status wd_chain_verify(wd_trail *trail, const wd_audit_range *range,
                                      wd_audit_report *ret_report, wd_error *err);

/* Writes the jobs of a list in one commit; sets their status. Does not call `done`. false:
 * it could not be written, and the store is degraded. Always leaves the connection outside a transaction. */
bool wd_group_write(wd_store *store, wd_store_job *jobs);

/* The table. add takes the caller's count when it succeeds. The parent and the earlier
 * generations must be in it.  Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_token_table_new(wd_token_table **ret_table, wd_error *err);
WD_MUST_USE wd_status wd_token_table_add(wd_token_table *table, wd_token *token,
                                         wd_error *err);

/* Loads every token of the database into a table. */
WD_MUST_USE wd_status wd_tokens_load(sqlite3 *db, wd_token_table *table, wd_error *err);

/* Writes the last-used times that changed since the last flush, and the highest time,
 * in one commit. What can't be written now is written with the next flush. */
void wd_tokens_flush_used(wd_store *store);

/* At the end: gives back the uses that were reserved and not used. */
void wd_tokens_give_back(wd_store *store);

/* Has the table follow a committed group, or lets the changes of a group or job that was
 * undone go: all that came after `until`, which is NULL or one of them. */
void wd_tokens_settle(wd_store *store);
void wd_tokens_undo(wd_store *store, const wd_token_change *until);

#endif
