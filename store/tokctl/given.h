/* given.h - a text that an option names the file of.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_TOKCTL_GIVEN_H
#define WD_TOKCTL_GIVEN_H

#include "proto/c/status.h"

/* The whole regular file, ending in a NUL; from malloc. The message begins with `option`.
 * Errors: NOT_FOUND, PERMISSION_DENIED
 *         INVALID_ARGUMENT  no regular file, too large, a NUL inside
 *         RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_given_text_read(const char *option, const char *path,
                                         char **ret_text, wd_error *err);

#endif
