/* audit_plan.h - how a query reads a sealed segment: what its facts say beforehand.
 *
 * Threads: the owner of the connection.  Owns: nothing.
 * Source:  store/facts.h. Internal to store/. */
#ifndef WD_STORE_AUDIT_PLAN_H
#define WD_STORE_AUDIT_PLAN_H

#include "store/audit_filter.h"
#include "store/trail.h"

typedef struct wd_plan {
    bool nothing; /* no row of the segment passes */
    bool posted;  /* start from postings, fact IN `facts` */
    char facts[256];
} wd_plan;

/* Narrows filter->from_seq and to_seq to what the times allow, and finds the condition
 * that fewest rows pass. The filter's bounds must be set.
 * Errors: DATA_LOSS */
WD_MUST_USE wd_status wd_plan_make(const wd_source *source, wd_audit_filter *filter,
                                   wd_plan *ret_plan, wd_error *err);

#endif
