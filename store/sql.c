#include "store/sql.h"

#include <stddef.h>

#include "store/store.h"

/* What a primary result code means to the caller. */
static wd_status status_of(int primary)
{
    switch (primary) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return WD_DATA_LOSS;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
        return WD_RESOURCE_EXHAUSTED;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
        return WD_UNAVAILABLE;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return WD_PERMISSION_DENIED;
    default:
        return WD_INTERNAL;
    }
}

static const char *cure_of(int primary)
{
    switch (primary) {
    case SQLITE_CORRUPT:
        return ": the database is damaged; keep it for inspection and restore a backup";
    case SQLITE_NOTADB:
        return ": this is not a Warded store, or its first page is damaged; keep it "
               "for "
               "inspection and restore a backup";
    case SQLITE_BUSY:
        return ": another process holds its lock";
    default:
        return "";
    }
}

wd_status wd_sql_fail(sqlite3 *db, const char *doing, wd_error *err)
{
    int code = sqlite3_extended_errcode(db);
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return wd_refuse(err, WD_REASON_RUN_TIMEOUT, "could not %s in the time given",
                         doing);
    return wd_fail(err, status_of(code & 0xff), "could not %s: %s (SQLite %d)%s", doing,
                   sqlite3_errmsg(db), code, cure_of(code & 0xff));
}

static wd_status set_up(sqlite3 *db, wd_error *err)
{
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_busy_timeout(db, WD_STORE_BUSY_MS);
    if (sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) != SQLITE_OK)
        return wd_sql_fail(db, "configure the connection", err);
    return WD_OK;
}

wd_status wd_sql_open(const char *path, int flags, const char *vfs, sqlite3 **ret_db,
                      wd_error *err)
{
    WD_AUTO(sqlite3) *db = NULL;
    int all =
        flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2(path, &db, all, vfs) != SQLITE_OK) {
        if (db == NULL)
            return wd_refuse(err, WD_REASON_CAPACITY, "no memory to open %s", path);
        int code = sqlite3_extended_errcode(db);
        return wd_fail(err, status_of(code & 0xff), "could not open %s: %s (SQLite %d)",
                       path, sqlite3_errmsg(db), code);
    }
    WD_TRY(set_up(db, err));
    *ret_db = WD_STEAL(db);
    return WD_OK;
}

wd_status wd_sql_exec(sqlite3 *db, const char *sql, wd_error *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return wd_sql_fail(db, "run a statement", err);
    return WD_OK;
}

wd_status wd_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt,
                         wd_error *err)
{
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL) !=
        SQLITE_OK)
        return wd_sql_fail(db, "prepare a statement", err);
    return WD_OK;
}

wd_status wd_sql_run(sqlite3_stmt *stmt, wd_error *err)
{
    int code = sqlite3_step(stmt);
    wd_status status = WD_OK;
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        status = wd_sql_fail(sqlite3_db_handle(stmt), "write to the store", err);
    (void)sqlite3_reset(stmt); /* repeats the step's failure */
    (void)sqlite3_clear_bindings(stmt);
    return status;
}

wd_status wd_sql_next(sqlite3_stmt *stmt, bool *ret_row, wd_error *err)
{
    int code = sqlite3_step(stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return wd_sql_fail(sqlite3_db_handle(stmt), "read the store", err);
    *ret_row = code == SQLITE_ROW;
    return WD_OK;
}

wd_status wd_sql_number(sqlite3 *db, const char *sql, int64_t *ret_number,
                        wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, sql, &stmt, err));
    bool row = false;
    WD_TRY(wd_sql_next(stmt, &row, err));
    *ret_number = row ? sqlite3_column_int64(stmt, 0) : 0;
    return WD_OK;
}

void wd_sql_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    (void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

wd_status wd_sql_whole(sqlite3_stmt *stmt, wd_error *err)
{
    sqlite3 *db = sqlite3_db_handle(stmt);
    bool lost = (sqlite3_errcode(db) & 0xff) == SQLITE_NOMEM;
    return lost ? wd_sql_fail(db, "read the store", err) : WD_OK;
}

const char *wd_sql_text(sqlite3_stmt *stmt, int at)
{
    const unsigned char *text = sqlite3_column_text(stmt, at);
    return text != NULL ? (const char *)text : "";
}
