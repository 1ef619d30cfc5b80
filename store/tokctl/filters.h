/* filters.h - the options that choose rows of the trail, for query and tail alike.
 *
 * Threads: one.  Owns: nothing; values are argv's. */
#ifndef WD_TOKCTL_FILTERS_H
#define WD_TOKCTL_FILTERS_H

#include "store/audit.h"
#include "store/tokctl/tokctl.h"

typedef struct wd_filters {
    wd_audit_filter filter;
    const char *since;
    const char *until;
} wd_filters;

/* A child of the verb's argp; its input is the wd_filters. */
extern const struct argp wd_filters_argp;

/* The times, read against the clock. Errors: INVALID_ARGUMENT */
WD_MUST_USE wd_status wd_filters_settle(wd_filters *filters, wd_error *err);

/* A whole number of least..most; anything else ends the program with exit status 2. */
uint64_t wd_filters_number(struct argp_state *state, const char *option,
                           const char *text, uint64_t least, uint64_t most);

#endif
