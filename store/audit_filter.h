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

/* Appends " WHERE ..." to `sql`; `row` is what a row's number is called in it. `bind` then
 * gives the values. */
void wd_filter_write(const wd_audit_filter *filter, const char *row,
                     char sql[WD_FILTER_SQL_BYTES]);
void wd_filter_bind(const wd_audit_filter *filter, sqlite3_stmt *stmt);
void wd_filter_add(char sql[WD_FILTER_SQL_BYTES], const char *text);

/* Rows of one answer. */
uint32_t wd_filter_limit(const wd_audit_filter *filter);

/* The i-th text of the filter that a segment's facts can answer. false: there are no
 * more; *ret_text is NULL when it is not set. */
typedef struct wd_filter_text {
    const char *text;
    const char *what;  /* the column, as in facts */
    const char *value; /* condition on facts.value, "= ?8" */
} wd_filter_text;
bool wd_filter_each(const wd_audit_filter *filter, size_t i, wd_filter_text *ret);

#endif
