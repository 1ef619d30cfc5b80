#include <string.h>

#include "store/schema.h"

static const char all_of_it[] =
    "SELECT type, name, tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema"
    " ORDER BY type, name";

static wd_status make(const wd_schema_step *steps, size_t n_steps, sqlite3 **ret_db,
                      wd_error *err)
{
    WD_AUTO(sqlite3) *db = NULL;
    WD_TRY(wd_sql_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL,
                       &db, err));
    for (size_t i = 0; i < n_steps; i++)
        WD_TRY(wd_sql_exec(db, steps[i].sql, err));
    *ret_db = WD_STEAL(db);
    return WD_OK;
}

/* Which of two objects comes first, by type and name. */
static int order(sqlite3_stmt *a, sqlite3_stmt *b)
{
    int by_type = strcmp(wd_sql_text(a, 0), wd_sql_text(b, 0));
    return by_type != 0 ? by_type : strcmp(wd_sql_text(a, 1), wd_sql_text(b, 1));
}

/* `stmt` stands on what is there, or on what should be. */
static wd_status refuse(sqlite3_stmt *stmt, const char *how, wd_error *err)
{
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "the database has been altered: the %s %s %s; keep it for "
                     "inspection and restore a backup",
                     wd_sql_text(stmt, 0), wd_sql_text(stmt, 1), how);
}

static wd_status compare(sqlite3_stmt *is, sqlite3_stmt *should_be, wd_error *err)
{
    for (;;) {
        bool there = false;
        bool wanted = false;
        WD_TRY(wd_sql_next(is, &there, err));
        WD_TRY(wd_sql_next(should_be, &wanted, err));
        if (!there && !wanted)
            return WD_OK;
        if (!wanted || (there && order(is, should_be) < 0))
            return refuse(is, "is not Warded's", err);
        if (!there || order(is, should_be) > 0)
            return refuse(should_be, "is missing", err);
        if (strcmp(wd_sql_text(is, 2), wd_sql_text(should_be, 2)) != 0)
            return refuse(is, "is not as Warded made it", err);
    }
}

wd_status wd_schema_compare(sqlite3 *db, const wd_schema_step *steps, size_t n_steps,
                            wd_error *err)
{
    WD_AUTO(sqlite3) *made = NULL;
    WD_AUTO(sqlite3_stmt) *should_be = NULL;
    WD_AUTO(sqlite3_stmt) *is = NULL;

    WD_TRY(make(steps, n_steps, &made, err));
    WD_TRY(wd_sql_prepare(made, all_of_it, &should_be, err));
    WD_TRY(wd_sql_prepare(db, all_of_it, &is, err));
    return compare(is, should_be, err);
}
