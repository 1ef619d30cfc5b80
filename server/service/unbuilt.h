/* unbuilt.h - fields of a built method that this gate does not act on yet.
 *
 * To leave one out of sight would be to do something else than was asked: a token without
 * the bound that was meant, a revocation where a dry run was.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_SERVICE_UNBUILT_H
#define WD_SERVICE_UNBUILT_H

#include "proto/c/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wd_unbuilt {
    const char *field;
    bool asked;
} wd_unbuilt;

/* Refuses the first field that was asked for.
 * Errors: UNIMPLEMENTED NOT_BUILT: names it */
WD_MUST_USE wd_status wd_unbuilt_refuse(const wd_unbuilt *fields, size_t n,
                                        wd_error *err);

#endif
