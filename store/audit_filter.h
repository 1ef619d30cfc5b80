/* audit_filter.h - a filter as the conditions of an SQL statement.
 *
 * Threads: any; pure.  Owns: nothing.  Internal to store/. */
#ifndef WD_STORE_AUDIT_FILTER_H
#define WD_STORE_AUDIT_FILTER_H

#include "store/audit.h"
#include "store/sql.h"

#define WD_FILTER_SQL_BYTES 2048U /* for a statement with every condition */

/* Errors: INVALID_ARGUMENT FIELD_INVALID: which, and what is allowed */
WD_MUST_USE wd_status wd_filter_check(const wd_audit_filter *filter, wd_error *err);

/* Appends " WHERE ..." to `sql`; `bind` then gives the values. */
void wd_filter_write(const wd_audit_filter *filter, char sql[WD_FILTER_SQL_BYTES]);
void wd_filter_bind(const wd_audit_filter *filter, sqlite3_stmt *stmt);

/* Rows of one answer. */
uint32_t wd_filter_limit(const wd_audit_filter *filter);

#endif
