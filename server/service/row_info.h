/* row_info.h - a row of the trail as the message that tells of it, and which rows a
 * message asks for.
 *
 * Threads: the call's owner.  Owns: nothing; the copy lives in the budget. */
#ifndef WD_SERVER_SERVICE_ROW_INFO_H
#define WD_SERVER_SERVICE_ROW_INFO_H

#include "proto/c/alloc.h"
#include "store/audit.h"
#include "warded/v1/audit.pb-c.h"

/* NULL: the budget is spent. */
Warded__V1__AuditRow *wd_row_info_copy(const wd_audit_row *row, wd_budget *budget);

/* What `asked` (NULL: everything) asks for, into the same of *filter; texts are borrowed. */
void wd_row_filter(const Warded__V1__AuditFilter *asked, wd_audit_filter *filter);

#endif
