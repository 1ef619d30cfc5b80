/* files.h - small text files of a profile: read whole, watched for changes.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_CLIENT_FILES_H
#define WD_CLIENT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/c/failure.h"

#define WD_PROFILE_FILE_BYTES (1U << 20)
#define WD_HOW_TO_MAKE                                                                 \
    "make a profile with `warded profile new NAME --scope ... --out DIR`"

/* What changes when a file does; of a link that leads nowhere, its own. All zero: there
 * is nothing of that name. */
typedef struct wd_stamp {
    int64_t mtime_ns, size;
    uint64_t inode, device;
} wd_stamp;

wd_stamp wd_stamp_of(const char *path);
bool wd_stamp_equal(const wd_stamp *a, const wd_stamp *b);

/* Whether there is nothing of that name: not even a link that leads nowhere. */
bool wd_file_absent(const char *path);

/* The whole regular file, never waiting for a pipe, without a byte order mark, ending in
 * a NUL; from malloc.
 * Errors (phase PROFILE): NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (of another
 * kind, a link that leads nowhere, too large, a NUL inside), RESOURCE_EXHAUSTED; the text
 * names path and cure. */
WD_MUST_USE wd_status wd_text_file_read(const char *path, char **ret, wd_failure *why);

/* The same of a file that holds a secret, which is refused when others may get at it
 * (proto/tls/credentials.h). The text is the caller's to wipe.
 * Errors: as above, PERMISSION_DENIED also for its mode. */
WD_MUST_USE wd_status wd_secret_text_read(const char *path, char **ret,
                                          wd_failure *why);

/* Whether it would be refused before it is read.  Errors: as wd_secret_text_read. */
WD_MUST_USE wd_status wd_secret_look(const char *path, wd_failure *why);

#endif
