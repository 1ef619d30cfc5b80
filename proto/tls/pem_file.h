/* pem_file.h - reading and writing small PEM files with the right modes.
 *
 * Private to proto/tls.  Threads: any.  Owns: nothing. */
#ifndef WD_PEM_FILE_H
#define WD_PEM_FILE_H

#include <stdbool.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

/* The whole file as text with a NUL, to be freed (wiped first if it is a key). At most
 * 1 MiB.
 * Errors: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (too large, or a NUL inside). */
WD_MUST_USE wd_status wd_pem_file_read(const char *path, char **ret, wd_error *err);

/* Create `path` (O_EXCL) with mode 0600 when `secret`, else 0644, write and fsync. What
 * could not be finished is removed.
 * Errors: FAILED_PRECONDITION it exists, NOT_FOUND, PERMISSION_DENIED,
 *         RESOURCE_EXHAUSTED. */
WD_MUST_USE wd_status wd_pem_file_write(const char *path, bool secret, const char *text,
                                        wd_error *err);

/* Overwrite a text with zeros and free it; NULL is fine. */
void wd_secret_text_free(char *text);

typedef char wd_secret_text; /* WD_AUTO(wd_secret_text) *key = NULL; */
WD_DEFINE_AUTO(wd_secret_text, wd_secret_text_free)

#endif
