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

/* A verb's `more`; its input is the wd_filters. */
extern const struct argp wd_filters_argp;

/* As wd_tokctl_parse, of a verb with these options; `filters` is the part of its input
 * that keeps them. Returns what is to be sent, which lives as long as that. */
Warded__V1__AuditFilter *wd_filters_parse(const wd_verb *verb, int argc, char **argv,
                                          void *input, wd_filters *filters);

#endif
