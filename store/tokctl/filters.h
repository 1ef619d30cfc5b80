/* filters.h - the options that choose rows of the trail, for all verbs that read it.
 *
 * Threads: one.  Owns: nothing; values are argv's. */
#ifndef WD_TOKCTL_FILTERS_H
#define WD_TOKCTL_FILTERS_H

#include "store/tokctl/tokctl.h"
#include "warded/v1/audit.pb-c.h"

#define WD_FILTERS_CODES 17U

typedef struct wd_filters {
    Warded__V1__AuditFilter filter;
    uint32_t codes[WD_FILTERS_CODES];
    const char *since, *until, *code;
} wd_filters;

void wd_filters_init(wd_filters *filters);

/* A verb's `more`; its input is the wd_filters. */
extern const struct argp wd_filters_argp;

/* The times, read against the clock, and the codes. Errors: INVALID_ARGUMENT */
WD_MUST_USE wd_status wd_filters_settle(wd_filters *filters, wd_error *err);

#endif
