/* audit_where.h - in which file a row of the trail lies.
 *
 * Threads: the thread of the reader.
 * Source:  docs/audit.md, "Segments". */
#ifndef WD_STORE_AUDIT_WHERE_H
#define WD_STORE_AUDIT_WHERE_H

#include "store/audit.h"

#define WD_AUDIT_WHERE_BYTES 64U

/* "open", or the name of the sealed segment's file. A row that was pruned is in neither:
 * *ret_where is "".  Errors: UNAVAILABLE, RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_audit_where(wd_reader *reader, uint64_t seq,
                                     char ret_where[WD_AUDIT_WHERE_BYTES],
                                     wd_error *err);

#endif
