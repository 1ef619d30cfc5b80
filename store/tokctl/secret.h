/* secret.h - where a secret comes from, and where it goes: never the command line.
 *
 * In: standard input, or a file that nobody else can read. Out: a new file of mode 0600,
 * or standard output; an admin's secret only where that is a terminal.
 *
 * Threads: one.  Owns: the file in the making. */
#ifndef WD_TOKCTL_SECRET_H
#define WD_TOKCTL_SECRET_H

#include "store/tokctl/tokctl.h"
#include "store/token.h"

typedef struct wd_secret_out {
    const wd_tokctl *ctl;
    const char *path; /* NULL: standard output */
    int fd;           /* -1: none */
} wd_secret_out;

/* Before the secret is made: one that has nowhere to go must not exist. `admin`: it may
 * not go into a pipe.
 * Errors: FAILED_PRECONDITION the file exists; PERMISSION_DENIED; INVALID_ARGUMENT a pipe */
WD_MUST_USE wd_status wd_secret_open(const wd_tokctl *ctl, const char *path, bool admin,
                                     wd_secret_out *ret, wd_error *err);

/* The secret and a newline into the file, on disk. Nothing without a file.
 * Errors: UNAVAILABLE: it was made but could not be kept: revoke it */
WD_MUST_USE wd_status wd_secret_write(wd_secret_out *out, const char *secret,
                                      wd_error *err);

/* `made` false: the empty file goes again. */
void wd_secret_close(wd_secret_out *out, bool made);

/* Whether it is for standard output. */
bool wd_secret_is_printed(const wd_secret_out *out);

/* One token of `path`, or of standard input for "-".
 * Errors: INVALID_ARGUMENT it holds no whole token, and the file's: NOT_FOUND,
 *         PERMISSION_DENIED others can read it. */
WD_MUST_USE wd_status wd_secret_read(const char *path, wd_token_text *ret,
                                     wd_error *err);

#endif
