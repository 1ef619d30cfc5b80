/* cmd_audit_sql.h - tokctl audit query --sql: a SELECT of the caller's own.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_TOKCTL_CMD_AUDIT_SQL_H
#define WD_TOKCTL_CMD_AUDIT_SQL_H

#include "store/tokctl/tokctl.h"

/* Runs it on the store in ctl->dir and prints at most `limit` rows, in the format that was
 * asked for; the columns are the statement's. Returns the exit status. */
int wd_audit_sql_run(const wd_tokctl *ctl, const char *sql, uint64_t limit);

#endif
