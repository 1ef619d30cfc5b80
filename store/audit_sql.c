#include "store/audit_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/clock.h"
#include "proto/c/mask.h"
#include "store/audit_table.h"

#define MEMORY_BYTES   (256U << 20) /* of SQLite in this process */
#define VALUE_BYTES    (1U << 20)
#define PROGRESS_STEPS 1000
#define DENIED_BYTES   128U
#define COLUMNS        100

typedef struct run {
    wd_audit_table table;
    const wd_audit_ask *ask;
    const wd_sql_sink *sink;
    char denied[DENIED_BYTES]; /* what the statement asked for; "": nothing odd */
    int64_t late_ms;           /* monotonic */
} run;

/* --- what a statement may ------------------------------------------------------------- */

static const char *const tables[] = {WD_AUDIT_TABLE, "json_each", "json_tree"};

/* Pure ones, of SQLite's own. */
static const char *const functions[] = {
    "->",
    "->>",
    "abs",
    "avg",
    "ceil",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "date",
    "datetime",
    "dense_rank",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "iif",
    "ifnull",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_each",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_object",
    "json_quote",
    "json_tree",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "lower",
    "ltrim",
    "max",
    "min",
    "nth_value",
    "ntile",
    "nullif",
    "percent_rank",
    "printf",
    "quote",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "time",
    "timediff",
    "total",
    "trim",
    "typeof",
    "unicode",
    "unixepoch",
    "upper",
};

static bool is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (text != NULL && sqlite3_stricmp(list[i], text) == 0)
            return true;
    return false;
}

static int deny(run *r, const char *what, const char *name)
{
    if (r->denied[0] == '\0')
        (void)snprintf(r->denied, sizeof(r->denied), "%s%s%.80s", what,
                       name != NULL ? " " : "", name != NULL ? name : "");
    return SQLITE_DENY;
}

/* SQLite asks while it compiles; `one` and `two` are what sqlite3_set_authorizer's table
 * says of the action. */
/* NOLINTNEXTLINE(readability-function-size): SQLite's signature */
static int judge(void *arg, int action, const char *one, const char *two,
                 const char *database, const char *inside)
{
    run *r = arg;
    (void)database;
    (void)inside;
    switch (action) {
    case SQLITE_SELECT:
        return SQLITE_OK;
    case SQLITE_RECURSIVE: /* it need not end */
        return deny(r, "a SELECT that goes on by itself", NULL);
    case SQLITE_READ:
        return is_in(tables, sizeof(tables) / sizeof(tables[0]), one)
                   ? SQLITE_OK
                   : deny(r, "the table", one);
    case SQLITE_FUNCTION:
        return is_in(functions, sizeof(functions) / sizeof(functions[0]), two)
                   ? SQLITE_OK
                   : deny(r, "the function", two);
    case SQLITE_PRAGMA:
        return deny(r, "PRAGMA", one);
    case SQLITE_ATTACH:
        return deny(r, "ATTACH", NULL);
    default:
        return deny(r, "something that is no SELECT", NULL);
    }
}

static int is_late(void *arg)
{
    const run *r = arg;
    return wd_clock_mono_ms(wd_clock_system()) >= r->late_ms;
}

/* --- what went wrong ---------------------------------------------------------------------- */

static wd_status not_allowed(const char *what, wd_error *err)
{
    return wd_fail(err, WD_PERMISSION_DENIED,
                   "it asks for %s: it may only SELECT from the table "
                   "\"" WD_AUDIT_TABLE "\", with functions that change nothing",
                   what);
}

static wd_status too_late(wd_error *err)
{
    return wd_fail(err, WD_DEADLINE_EXCEEDED,
                   "it is not done in the time given: ask for fewer rows, by seq or "
                   "wall_ms, or give it more");
}

/* Of a table like ours SQLite says so before it asks us. */
static bool was_a_change(sqlite3 *db)
{
    return strstr(sqlite3_errmsg(db), " may not be ") != NULL;
}

static wd_status fail(run *r, sqlite3 *db, wd_error *err)
{
    const int code = sqlite3_errcode(db) & 0xff;
    if (code == SQLITE_INTERRUPT || r->table.failure.status == WD_DEADLINE_EXCEEDED)
        return too_late(err);
    if (r->table.failure.status != WD_OK) {
        *err = r->table.failure;
        return err->status;
    }
    if (r->denied[0] != '\0')
        return not_allowed(r->denied, err);
    if (was_a_change(db))
        return not_allowed("a change", err);
    if (code == SQLITE_NOMEM || code == SQLITE_TOOBIG)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED,
                       "it takes more than %u MiB of memory, or makes a value of more "
                       "than %u MiB: ask for fewer rows",
                       MEMORY_BYTES >> 20, VALUE_BYTES >> 20);
    return wd_fail(err, WD_INVALID_ARGUMENT, "%.300s", sqlite3_errmsg(db));
}

/* --- the connection ------------------------------------------------------------------------ */

static void set_limits(sqlite3 *db)
{
    static const struct {
        int which, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, VALUE_BYTES},
        {SQLITE_LIMIT_SQL_LENGTH, WD_AUDIT_SQL_BYTES},
        {SQLITE_LIMIT_COLUMN, COLUMNS},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 20},
        {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_FUNCTION_ARG, 64},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        (void)sqlite3_limit(db, limits[i].which, limits[i].most);
}

/* What is sorted or grouped stays in memory: rows of the trail go to no other file. */
static wd_status open_empty(run *r, sqlite3 **ret_db, wd_error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY;
    WD_AUTO(sqlite3) *db = NULL;
    WD_TRY(wd_sql_open(":memory:", flags, NULL, &db, err));
    WD_TRY(wd_sql_exec(db, "PRAGMA temp_store = MEMORY; PRAGMA query_only = 1", err));
    WD_TRY(wd_audit_table_add(db, &r->table, err));
    set_limits(db);
    sqlite3_progress_handler(db, PROGRESS_STEPS, is_late, r);
    if (sqlite3_set_authorizer(db, judge, r) != SQLITE_OK)
        return wd_sql_fail(db, "guard the connection", err);
    *ret_db = WD_STEAL(db);
    return WD_OK;
}

/* Nothing but blanks and comments may stand behind the statement. */
static wd_status check_rest(run *r, sqlite3 *db, const char *rest, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *second = NULL;
    if (sqlite3_prepare_v2(db, rest, -1, &second, NULL) != SQLITE_OK)
        return fail(r, db, err);
    if (second != NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "one SELECT, and nothing behind it");
    return WD_OK;
}

static wd_status prepare(run *r, sqlite3 *db, const char *sql, sqlite3_stmt **ret,
                         wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    const char *rest = NULL;
    if (strlen(sql) > WD_AUDIT_SQL_BYTES)
        return wd_fail(err, WD_INVALID_ARGUMENT, "it has %zu bytes, at most %u",
                       strlen(sql), WD_AUDIT_SQL_BYTES);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) != SQLITE_OK)
        return fail(r, db, err);
    if (stmt == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "there is no statement in it");
    if (sqlite3_stmt_readonly(stmt) == 0 || sqlite3_stmt_isexplain(stmt) != 0 ||
        sqlite3_column_count(stmt) == 0)
        return not_allowed("something that is no SELECT", err);
    if (sqlite3_bind_parameter_count(stmt) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "it has parameters, and there is nothing to put there");
    WD_TRY(check_rest(r, db, rest, err));
    *ret = WD_STEAL(stmt);
    return WD_OK;
}

/* --- the answer ------------------------------------------------------------------------- */

static wd_status sink_full(wd_error *err)
{
    return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the answer");
}

static wd_status tell_columns(sqlite3_stmt *stmt, const wd_sql_sink *sink,
                              wd_error *err)
{
    const char *names[COLUMNS];
    const size_t n = (size_t)sqlite3_column_count(stmt);
    WD_ASSERT(n <= COLUMNS);
    for (size_t i = 0; i < n; i++) {
        names[i] = sqlite3_column_name(stmt, (int)i);
        if (names[i] == NULL)
            return sink_full(err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return wd_fail(err, WD_INVALID_ARGUMENT,
                               "two columns are called \"%.60s\": name one with AS",
                               names[i]);
    }
    return sink->columns(sink->arg, names, n) ? WD_OK : sink_full(err);
}

static wd_sql_value value_of(sqlite3_stmt *stmt, int at)
{
    const void *data = NULL;
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER:
        return (wd_sql_value){.kind = WD_SQL_INTEGER,
                              .integer = sqlite3_column_int64(stmt, at)};
    case SQLITE_FLOAT:
        return (wd_sql_value){.kind = WD_SQL_REAL,
                              .real = sqlite3_column_double(stmt, at)};
    case SQLITE_TEXT:
        data = sqlite3_column_text(stmt, at);
        return (wd_sql_value){.kind = WD_SQL_TEXT,
                              .bytes = {data, (size_t)sqlite3_column_bytes(stmt, at)}};
    case SQLITE_BLOB:
        data = sqlite3_column_blob(stmt, at);
        return (wd_sql_value){.kind = WD_SQL_BLOB,
                              .bytes = {data, (size_t)sqlite3_column_bytes(stmt, at)}};
    default:
        return (wd_sql_value){.kind = WD_SQL_NULL};
    }
}

static wd_status tell_row(sqlite3_stmt *stmt, const wd_sql_sink *sink, wd_error *err)
{
    wd_sql_value values[COLUMNS];
    const int n = sqlite3_column_count(stmt);
    for (int i = 0; i < n; i++) {
        values[i] = value_of(stmt, i);
        if (values[i].kind == WD_SQL_TEXT && values[i].bytes.data == NULL)
            return sink_full(err);
    }
    return sink->row(sink->arg, values, (size_t)n) ? WD_OK : sink_full(err);
}

static wd_status tell_rows(run *r, sqlite3_stmt *stmt, bool *ret_more, wd_error *err)
{
    for (uint32_t n = 0;; n++) {
        const int code = sqlite3_step(stmt);
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            return fail(r, sqlite3_db_handle(stmt), err);
        *ret_more = code == SQLITE_ROW && n == r->ask->rows;
        if (code == SQLITE_DONE || *ret_more)
            return WD_OK;
        WD_TRY(tell_row(stmt, r->sink, err));
    }
}

static wd_status answer(run *r, bool *ret_more, wd_error *err)
{
    WD_AUTO(sqlite3) *db = NULL;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(open_empty(r, &db, err));
    WD_TRY(prepare(r, db, r->ask->sql, &stmt, err));
    WD_TRY(tell_columns(stmt, r->sink, err));
    return tell_rows(r, stmt, ret_more, err);
}

wd_status wd_audit_sql(wd_reader *reader, const wd_audit_ask *ask,
                       const wd_sql_sink *sink, bool *ret_more, wd_error *err)
{
    run r = {.table = {.reader = reader},
             .ask = ask,
             .sink = sink,
             .late_ms = wd_clock_mono_ms(wd_clock_system()) + (int64_t)ask->timeout_ms};
    const sqlite3_int64 before = sqlite3_hard_heap_limit64(MEMORY_BYTES);
    wd_reader_set_deadline(reader, r.late_ms);
    wd_status status = answer(&r, ret_more, err);
    wd_reader_set_deadline(reader, 0);
    (void)sqlite3_hard_heap_limit64(before);
    if (status != WD_OK)
        wd_mask_tokens(err->msg); /* SQLite quotes what it does not understand */
    return status;
}
