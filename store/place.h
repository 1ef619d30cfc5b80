/* place.h - the folder of a store: its owner, its file system, its lock, its reserve.
 *
 * Threads: the store's owner.  Owns: two descriptors and the folder's name.
 * Source:  statfs(2), flock(2), posix_fallocate(3). Internal to store/. */
#ifndef WD_STORE_PLACE_H
#define WD_STORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/status.h"
#include "store/store.h"

typedef struct wd_place {
    char *dir;
    int lock_fd;            /* -1: none */
    int reserve_fd;         /* -1: none */
    uint64_t reserve_bytes; /* as configured */
    uint64_t reserve_left;  /* as it is now */
    wd_store_disk disk;
} wd_place;

/* Finds or makes the folder, refuses network file systems and wide permissions, takes
 * the lock, makes the reserve. On failure what was taken stays for wd_place_close.
 * Errors: as wd_store_open */
WD_MUST_USE wd_status wd_place_open(wd_place *place, const wd_store_options *options,
                                    wd_error *err);
void wd_place_close(wd_place *place);

/* A file of the store that is there afterwards: made 0600 and given to the folder's
 * owner when `create`.
 * Errors: NOT_FOUND, FAILED_PRECONDITION (permissions), UNAVAILABLE */
WD_MUST_USE wd_status wd_place_file(const wd_place *place, const char *name,
                                    bool create, int *ret_fd, wd_error *err);

/* What unprivileged users may still write, by `disk` or, where that says nothing, for
 * real. Returns 0 or an errno. */
int wd_place_free(const wd_store_disk *disk, const char *dir, uint64_t *ret_bytes);

/* True when free space is below the reserve as configured, or can't be told. */
bool wd_place_low(const wd_place *place);

/* True while some of the reserve has been given back: the disk was full. */
bool wd_place_broken(const wd_place *place);

/* Gives WD_STORE_RESERVE_STEP bytes back to the file system. False: nothing is left. */
bool wd_place_shorten(wd_place *place);

/* Makes the reserve whole again when there is room to spare for it. */
void wd_place_refill(wd_place *place);

/* "nfs", "lustre", ... for the magic number of a network file system, else NULL. */
const char *wd_place_network_fs(uint64_t magic);

#endif
