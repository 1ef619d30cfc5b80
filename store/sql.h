/* sql.h - the little that is asked of SQLite: open, prepare, run, say what failed.
 *
 * Threads: a connection and its statements have one owner at a time.
 * Source:  sqlite.org/c3ref, sqlite.org/rescode.html. Internal to store/. */
#ifndef WD_STORE_SQL_H
#define WD_STORE_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

static inline void wd_auto_sqlite3_stmt(sqlite3_stmt **stmt)
{
    (void)sqlite3_finalize(*stmt);
}
static inline void wd_auto_sqlite3(sqlite3 **db)
{
    (void)sqlite3_close_v2(*db);
}

/* Opens and sets what every connection wants: extended result codes, a busy timeout,
 * defensive mode, no trust in the schema. `flags`: SQLITE_OPEN_READWRITE, _READONLY. */
WD_MUST_USE wd_status wd_sql_open(const char *path, int flags, const char *vfs,
                                  sqlite3 **ret_db, wd_error *err);

WD_MUST_USE wd_status wd_sql_exec(sqlite3 *db, const char *sql, wd_error *err);

WD_MUST_USE wd_status wd_sql_prepare(sqlite3 *db, const char *sql,
                                     sqlite3_stmt **ret_stmt, wd_error *err);

/* Steps a statement that gives no rows and resets it, bindings included. */
WD_MUST_USE wd_status wd_sql_run(sqlite3_stmt *stmt, wd_error *err);

/* Steps to the next row: *ret_row is false at the end. */
WD_MUST_USE wd_status wd_sql_next(sqlite3_stmt *stmt, bool *ret_row, wd_error *err);

/* The one number that `sql` selects; 0 when it selects none. */
WD_MUST_USE wd_status wd_sql_number(sqlite3 *db, const char *sql, int64_t *ret_number,
                                    wd_error *err);

/* Text is borrowed until the statement is reset; NULL binds NULL. */
void wd_sql_bind_text(sqlite3_stmt *stmt, int at, const char *text);
/* The text of a column, "" for NULL. Valid until the next step. */
const char *wd_sql_text(sqlite3_stmt *stmt, int at);

/* Whether the columns read since the last step are what is stored: without memory SQLite
 * says NULL. Ask before anything follows from a text that was not there.
 * Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_sql_whole(sqlite3_stmt *stmt, wd_error *err);

/* Fills *err from the connection's last failure: what was attempted, SQLite's words. */
wd_status wd_sql_fail(sqlite3 *db, const char *doing, wd_error *err);

#endif
