/* uids.h - the numeric ids that slots run under, and whether they are free.
 *
 * Slot i has base + 2i (its init) and base + 2i + 1 (its worker); gids are the same.
 * They must be nobody's: a process of an action can then harm no account, and the gate
 * can tell a connection from inside a sandbox by its uid.
 *
 * Threads: any.  Source: subuid(5), user_namespaces(7), fcntl(2) on record locks. */
#ifndef WD_EXECUTOR_UIDS_H
#define WD_EXECUTOR_UIDS_H

#include "proto/c/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct wd_uid_range {
    uint64_t base;
    uint64_t count;
} wd_uid_range;

/* Check the range against this process's own user namespace, accounts and groups (NSS),
 * and the lines of /etc/subuid and /etc/subgid that are not `owner`'s or root's.
 * Errors: UNAVAILABLE "uid-range: ..." says which id collides with what */
WD_MUST_USE wd_status wd_uids_check(wd_uid_range range, const char *owner,
                                    wd_error *err);

/* Claim the range for as long as *ret_fd, the caller's, is open and this process lives:
 * a record lock on the file of our user namespace, which every executor that numbers
 * users as we do sees, in whatever mount namespace. No lock is inherited by a child.
 * Errors: UNAVAILABLE "uid-range: ..." another process has claimed some of it */
WD_MUST_USE wd_status wd_uids_claim(wd_uid_range range, int *ret_fd, wd_error *err);

/* Whether a text of the form of /proc/self/uid_map maps the whole range. */
bool wd_uids_mapped(wd_uid_range range, const char *map);

/* The owner of the first line ("NAME:FIRST:COUNT") of a text of the form of /etc/subuid
 * that shares an id with the range, `owner`'s and root's apart; NULL: none. Changes
 * `text`, into which the answer points. */
const char *wd_uids_subid_owner(wd_uid_range range, char *text, const char *owner);

#endif
