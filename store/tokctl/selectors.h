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
} wd_selectors;

/* A verb's `more`; its input is the wd_selectors. */
extern const struct argp wd_selectors_argp;

/* All of them as one expression; "" when none was given.
 * Errors: INVALID_ARGUMENT a value that no filter can hold, or all are too long */
WD_MUST_USE wd_status wd_selectors_settle(const wd_selectors *selectors,
                                          char ret_filter[WD_SELECTORS_BYTES],
                                          wd_error *err);

#endif
