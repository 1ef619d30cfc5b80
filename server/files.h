/* files.h - folders and files that are made once, with their mode and owner at birth.
 *
 * Threads: one (umask, effective uid).  Owns: nothing. */
#ifndef WD_SERVER_FILES_H
#define WD_SERVER_FILES_H

#include "proto/c/span.h"
#include "proto/c/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whose something is; (uid_t)-1: whoever makes it. */
typedef struct wd_owner {
    uid_t uid;
    gid_t gid;
} wd_owner;
#define WD_OWNER_SELF ((wd_owner){(uid_t) - 1, (gid_t) - 1})

/* Make the folder `path`.
 * Errors: FAILED_PRECONDITION CONFLICT: something is there already
 *         NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_make_folder(const char *path, mode_t mode, wd_owner owner,
                                     wd_error *err);

/* The same where it may exist: then its mode and owner are set. */
WD_MUST_USE wd_status wd_ensure_folder(const char *path, mode_t mode, wd_owner owner,
                                       wd_error *err);

/* Write a new file and sync it; on failure it is removed again.
 * Errors: as wd_make_folder */
WD_MUST_USE wd_status wd_write_new(const char *path, wd_span content, mode_t mode,
                                   wd_owner owner, wd_error *err);

/* Read a small file (at most `size` - 1 bytes) as text; false: not there, or larger. */
bool wd_read_text(const char *path, char *out, size_t size);

/* Remove a folder and all in it, without following links. For what we made ourselves. */
void wd_remove_tree(const char *path);

/* Act as `uid` and `gid` until wd_act_as_self; no effect unless we are root.
 * Errors: PERMISSION_DENIED */
WD_MUST_USE wd_status wd_act_as(uid_t uid, gid_t gid, wd_error *err);
void wd_act_as_self(void);

#endif
