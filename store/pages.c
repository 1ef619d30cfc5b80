#include "store/pages.h"

#include <stdlib.h>
#include <string.h>

#include "store/derived.h"
#include "store/sql.h"

#define CURE "keep the file for inspection, restore a backup"

static wd_status damaged(const char *file, const char *words, wd_audit_report *report,
                         wd_error *err)
{
    report->fault = WD_AUDIT_DAMAGED;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN, "%s is damaged: %s; " CURE, file,
                     words);
}

wd_status wd_pages_judge(wd_status status, wd_audit_report *report)
{
    if (status == WD_DATA_LOSS && report->fault == WD_AUDIT_SOUND)
        report->fault = WD_AUDIT_DAMAGED;
    return status;
}

/* Of a page that could not be read for want of memory, or that the disk did not give,
 * nothing is known: that is no damage. */
static bool was_unread(const char *words)
{
    static const char mark[] = "error code=";
    const char *at = strstr(words, mark);
    long code = at != NULL ? strtol(at + sizeof(mark) - 1, NULL, 10) & 0xff : 0;
    return code == SQLITE_IOERR || code == SQLITE_NOMEM;
}

/* SQLite says "ok", or what is wrong first: in a row, or by a failure to read on. */
static wd_status ask(sqlite3 *db, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(db, "PRAGMA integrity_check(1)", &stmt, err));
    WD_TRY(wd_sql_next(stmt, &row, err));
    const char *words = row ? wd_sql_text(stmt, 0) : "no answer";
    WD_TRY(wd_sql_whole(stmt, err));
    if (strcmp(words, "ok") == 0)
        return WD_OK;
    return wd_fail(err, was_unread(words) ? WD_UNAVAILABLE : WD_DATA_LOSS, "%s", words);
}

static wd_status check_source(const wd_trail *trail, const wd_source *source,
                              wd_error *err)
{
    WD_TRY(ask(source->db, err));
    if (source->segment == NULL || source->segment->kept_only)
        return WD_OK;
    return wd_derived_verify(source, trail->place.chain_id, err);
}

static wd_status check_file(const wd_trail *trail, const wd_source *source,
                            wd_audit_report *report, wd_error *err)
{
    wd_error cause;
    wd_status status = check_source(trail, source, &cause);
    if (status == WD_DATA_LOSS)
        return damaged(sqlite3_db_filename(source->db, "main"), cause.msg, report, err);
    if (status != WD_OK && err != NULL)
        *err = cause;
    return status;
}

wd_status wd_pages_verify(wd_trail *trail, wd_audit_report *report, wd_error *err)
{
    for (size_t i = 0; i < wd_trail_count(trail); i++) {
        wd_source source;
        WD_TRY(wd_pages_judge(wd_trail_source(trail, i, &source, err), report));
        WD_TRY(check_file(trail, &source, report, err));
    }
    return WD_OK;
}
