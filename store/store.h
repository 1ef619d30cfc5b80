/* store.h - the folder that holds tokens and the audit trail, opened by its one owner.
 *
 * Threads: open and close on one thread. Between them the SQLite connection belongs to
 *          the writer thread (store/writer.h), or, in programs without one, to the
 *          caller. wd_audit_head, wd_store_now_ms and wd_store_tokens: any thread.
 * Owns:    DIR/{store.db, store.db-wal, store.db-shm, lock, reserve, audit/}.
 * Source:  sqlite.org/wal.html, sqlite.org/stricttables.html. Tables are STRICT, WAL,
 *          synchronous=FULL. */
#ifndef WD_STORE_STORE_H
#define WD_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

struct wd_clock; /* proto/c/clock.h */
struct wd_token_table;

#define WD_STORE_RESERVE_BYTES (64U << 20) /* default of audit.reserve_bytes */
#define WD_STORE_RESERVE_STEP                                                          \
    (8U << 20)                         /* given back at a time when the disk is full */
#define WD_STORE_TAIL_ROWS       1000U /* verified at each start */
#define WD_STORE_BUSY_MS         5000  /* longest wait for another process's lock */
#define WD_STORE_HOUSEKEEPING_MS 60000 /* between flushes of last-used times */
#define WD_STORE_RETRY_MS        1000  /* until what was not written is tried again */

typedef struct wd_store wd_store;

/* What the store asks of the file system, so that tests can answer. Each returns 0 or
 * an errno. NULL members: statfs(2) and statvfs(3). */
typedef struct wd_store_disk {
    void *arg;
    int (*type)(void *arg, const char *dir, uint64_t *ret_magic);
    int (*free_bytes)(void *arg, const char *dir, uint64_t *ret_bytes);
} wd_store_disk;

typedef struct wd_store_options {
    const char *dir;              /* must be the owner's alone (0700) */
    bool create;                  /* make the folder and the database when absent */
    uint64_t reserve_bytes;       /* 0: as it is, else WD_STORE_RESERVE_BYTES */
    const struct wd_clock *clock; /* NULL: the system's; outlives the store */
    const char *vfs;              /* name of a SQLite VFS; NULL: the default (tests) */
    const char *boot_id; /* of this machine's start; NULL: the kernel's (tests) */
    wd_store_disk disk;  /* all NULL: the real one (tests) */
} wd_store_options;

/* Takes the lock, refuses what cannot be trusted, migrates an older schema, writes the
 * WAL back, verifies the last WD_STORE_TAIL_ROWS rows and loads the tokens.
 *
 * Errors: NOT_FOUND            no such folder or database, and `create` is false
 *         FAILED_PRECONDITION  CONFLICT: another process holds the lock (its pid is in
 *                              the message); otherwise: network file system,
 *                              permissions too wide, a newer schema, no file of ours
 *         RESOURCE_EXHAUSTED   no room for the reserve
 *         DATA_LOSS            CHAIN_BROKEN: the tail does not verify; or SQLite finds
 *                              the database damaged
 *         UNAVAILABLE          the disk fails */
WD_MUST_USE wd_status wd_store_open(const wd_store_options *options,
                                    wd_store **ret_store, wd_error *err);

/* Keeps the highest time, writes the WAL back, gives the lock away. The writer must
 * have been stopped. NULL is fine. */
void wd_store_close(wd_store *store);
WD_DEFINE_AUTO(wd_store, wd_store_close)

/* The time that the store goes by, Unix milliseconds: the wall clock's, or, after that was
 * set back, the highest it ever said and what has passed since. It never goes back and
 * never stands still, not even across a restart. */
int64_t wd_store_now_ms(wd_store *store);

/* By how much that is ahead of the wall clock: more than 0 after it was set back. */
int64_t wd_store_skew_ms(wd_store *store);

/* The tokens in memory. Belongs to the store. */
struct wd_token_table *wd_store_tokens(wd_store *store);

/* The chain's id, a UUID in text. Belongs to the store. */
const char *wd_store_chain_id(const wd_store *store);

/* True while free space is below the reserve, or the last group could not be written:
 * what Health says. Any thread. */
bool wd_store_degraded(const wd_store *store);

#endif
