/* views.h - a token and an audit row as JSON, and the columns that a table shows.
 *
 * Threads: any.  Owns: nothing; each json_t * is the caller's, NULL without memory.
 * Source:  member names and order are TokenInfo's and AuditRow's of proto/warded/v1. */
#ifndef WD_TOKCTL_VIEWS_H
#define WD_TOKCTL_VIEWS_H

#include "store/audit.h"
#include "store/tokctl/output.h"
#include "store/tokens.h"

extern const wd_column wd_token_columns[]; /* a line a token */
extern const wd_column wd_token_members[]; /* all of one */
extern const wd_column wd_row_columns[];

json_t *wd_token_view(const wd_token *token, int64_t now_ms);
json_t *wd_row_view(const wd_audit_row *row);

/* A sink's `row`: arg is the wd_output. */
bool wd_row_print(void *arg, const wd_audit_row *row);

#endif
