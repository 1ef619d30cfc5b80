/* row_info.h - a row of the trail as the message that tells of it, and which rows a
 * message asks for.
 *
 * Threads: the call's owner.  Owns: nothing; the copy lives in the budget. */
#ifndef WD_SERVER_SERVICE_ROW_INFO_H
#define WD_SERVER_SERVICE_ROW_INFO_H

#include "proto/c/alloc.h"
#include "store/audit.h"
#include "store/tombstone.h"
#include "warded/v1/audit.pb-c.h"

/* NULL: the budget is spent. */
Warded__V1__AuditRow *wd_row_info_copy(const wd_audit_row *row, wd_budget *budget);

/* What `asked` (NULL: everything) asks for, into the same of *filter; texts are borrowed. */
void wd_row_filter(const Warded__V1__AuditFilter *asked, wd_audit_filter *filter);

/* A pruned range as its tombstone tells of it. NULL: the budget is spent. */
Warded__V1__AuditGap *wd_row_gap_copy(const wd_tombstone *tombstone, wd_budget *budget);

/* All of them, `*ret_n` many; a budget of WD_ROW_GAP_BYTES each holds them. */
#define WD_ROW_GAP_BYTES 512U
Warded__V1__AuditGap **wd_row_gaps_copy(const wd_tombstones *all, wd_budget *budget,
                                        size_t *ret_n);

/* The pruned ranges that the answer of a query went across, which ended at *next* (0: at
 * the end of what was asked for). */
WD_MUST_USE wd_status wd_row_gaps(wd_reader *reader, const wd_audit_filter *filter,
                                  uint64_t next, wd_tombstones *ret, wd_error *err);

#endif
