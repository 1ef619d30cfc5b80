/* backup.h - a copy of a store that is whole, made while a gate may be running on it.
 *
 * The database is copied by SQLite's own backup, so that the copy is the state after one
 * commit; sealed segments never change and are copied as they are. The copy is a store:
 * `tokctl --db COPY audit verify` verifies it, a gate can be started on it.
 *
 * Threads: any, one a backup.
 * Owns:    nothing.  Source: sqlite.org/backup.html. */
#ifndef WD_STORE_BACKUP_H
#define WD_STORE_BACKUP_H

#include <stdint.h>

#include "proto/c/status.h"

typedef struct wd_backup_progress {
    void *arg;
    void (*copied)(void *arg, uint64_t pages, uint64_t of);
} wd_backup_progress;

/* From the store's folder into a new folder `to`, mode 0700. `progress` may be NULL. What
 * could not be finished is removed.
 * Errors: FAILED_PRECONDITION `to` exists; NOT_FOUND no store; PERMISSION_DENIED;
 *         RESOURCE_EXHAUSTED the disk is full; DATA_LOSS the store can't be read */
WD_MUST_USE wd_status wd_store_backup(const char *dir, const char *to,
                                      const wd_backup_progress *progress,
                                      wd_error *err);

#endif
