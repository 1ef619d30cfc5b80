/* vfs_shim.h - a SQLite VFS for tests that tells of every write and can fail the nth.
 *
 * Register it once, name it in wd_store_options.vfs, and the store goes through it to
 * the default VFS. Never the default itself, never part of a product.
 *
 * Threads: the event callback runs on the thread that writes (the store's writer),
 *          before the real operation: when a sync's event has come and the next event
 *          follows, that sync has happened. Counters may be set from any thread.
 * Owns:    nothing; the wd_shim outlives every connection opened through it. */
#ifndef WD_TESTS_VFS_SHIM_H
#define WD_TESTS_VFS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

typedef enum wd_shim_op {
    WD_SHIM_WRITE,
    WD_SHIM_SYNC,
    WD_SHIM_TRUNCATE,
    WD_SHIM_READ, /* tells of no events: there are too many */
    WD_SHIM_OPS,
} wd_shim_op;

typedef enum wd_shim_when {
    WD_SHIM_BEFORE, /* the operation is about to happen, or to fail */
    WD_SHIM_AFTER,  /* it has returned `code` */
} wd_shim_when;

typedef struct wd_shim_event {
    wd_shim_when when;
    wd_shim_op op;
    int open_flags; /* which file: SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL, ... */
    int64_t offset; /* of a write; size after a truncate */
    int size;       /* of a write, bytes */
    int code;       /* SQLITE_OK or why it failed; after only */
} wd_shim_event;

typedef struct wd_shim {
    sqlite3_vfs vfs; /* first; filled by wd_shim_register */

    void (*event)(void *arg, const wd_shim_event *event); /* may be NULL */
    void *arg;

    /* 0: nothing fails. n: the nth operation from now on fails with `fail_code`, and so
     * do the `fail_more` after it. */
    _Atomic int fail_in[WD_SHIM_OPS];
    _Atomic int fail_more;
    _Atomic int fail_code;  /* SQLITE_IOERR_FSYNC, SQLITE_FULL, ... */
    _Atomic bool fail_half; /* of a write that fails, its first half is written */

    _Atomic int count[WD_SHIM_OPS]; /* operations so far */
} wd_shim;

/* Registers under `name`. Returns a SQLite code. */
int wd_shim_register(wd_shim *shim, const char *name);
void wd_shim_unregister(wd_shim *shim);

#endif
