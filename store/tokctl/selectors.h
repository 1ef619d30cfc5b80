/* selectors.h - the options that choose tokens, for list and revoke alike.
 *
 * They are short for a filter expression, and are sent as one.
 *
 * Threads: one.  Owns: nothing; values are argv's.
 * Source:  docs/tokens.md, "Filters". */
#ifndef WD_TOKCTL_SELECTORS_H
#define WD_TOKCTL_SELECTORS_H

#include "store/tokctl/tokctl.h"

#define WD_SELECTORS_BYTES 1025U /* a filter's longest, with its NUL */

typedef struct wd_selectors {
    const char *owner, *scope, *state, *family, *kind, *expiring, *unused, *filter;
    const char *pool;
} wd_selectors;

#define WD_POOL_AUDIENCE_BYTES 128U

/* The audience of a token that is for the gates of one pool, whatever their names.
 * Errors: INVALID_ARGUMENT no pool has such a name */
WD_MUST_USE wd_status wd_pool_audience(const char *pool,
                                       char ret_audience[WD_POOL_AUDIENCE_BYTES],
                                       wd_error *err);

/* A verb's `more`; its input is the wd_selectors. */
extern const struct argp wd_selectors_argp;

/* All of them as one expression; "" when none was given.
 * Errors: INVALID_ARGUMENT a value that no filter can hold, or all are too long */
WD_MUST_USE wd_status wd_selectors_settle(const wd_selectors *selectors,
                                          char ret_filter[WD_SELECTORS_BYTES],
                                          wd_error *err);

#endif
