/* scan.h - tokens in the files of a tree, and in all that git keeps of its past.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_SCAN_H
#define WD_TOKCTL_SCAN_H

#include "proto/c/status.h"
#include "store/token.h"

/* One find. Borrowed for the callback; the secret is for revoking, never for printing. */
typedef struct wd_sighting {
    const char *where; /* "src/a.py", or "git:1f2e3d:src/a.py" */
    size_t line;
    const wd_token_text *token;
} wd_sighting;

typedef struct wd_scan {
    void *arg;
    bool (*found)(void *arg, const wd_sighting *sighting); /* false: enough */
    uint64_t files;                                        /* looked at */
    uint64_t unreadable;
} wd_scan;

/* A file, or every regular file below a folder, but git's own; links are not followed.
 * What can't be read is named on standard error and counted.
 * Errors: NOT_FOUND no such path */
WD_MUST_USE wd_status wd_scan_tree(wd_scan *scan, const char *path, wd_error *err);

/* Every object of the repository at `path`, reachable or not.
 * Errors: FAILED_PRECONDITION there is no git program, or no repository */
WD_MUST_USE wd_status wd_scan_git(wd_scan *scan, const char *path, wd_error *err);

#endif
