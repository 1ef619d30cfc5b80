/* audit_sql.h - a SELECT of the caller's own over the trail.
 *
 * It runs on a connection of its own, in memory, which has the table "audit"
 * (store/audit_table.h) and no file: nothing can be written because nothing is there.
 * Before SQLite runs a statement it is asked what for: SELECT, reading "audit" and the
 * JSON tables, and functions of a list; all else is refused.
 *
 * Threads: one; sets SQLite's bound on memory for the whole process while it runs.
 * Owns:    nothing.
 * Source:  sqlite.org/c3ref/set_authorizer.html, sqlite.org/security.html. */
#ifndef WD_STORE_AUDIT_SQL_H
#define WD_STORE_AUDIT_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/c/span.h"
#include "store/reader.h"

#define WD_AUDIT_SQL_BYTES (16U << 10) /* longest statement */
#define WD_AUDIT_SQL_ROWS  1000000U    /* most of an answer */

typedef enum wd_sql_kind {
    WD_SQL_NULL,
    WD_SQL_INTEGER,
    WD_SQL_REAL,
    WD_SQL_TEXT,
    WD_SQL_BLOB,
} wd_sql_kind;

typedef struct wd_sql_value {
    wd_sql_kind kind;
    int64_t integer;
    double real;
    wd_span bytes; /* TEXT, with a NUL behind it, or BLOB */
} wd_sql_value;

/* Where the answer goes: its columns' names once, then its rows. All is borrowed for the
 * call. false: could not take it. */
typedef struct wd_sql_sink {
    bool (*columns)(void *arg, const char *const *names, size_t n);
    bool (*row)(void *arg, const wd_sql_value *values, size_t n);
    void *arg;
} wd_sql_sink;

typedef struct wd_audit_ask {
    const char *sql;
    uint32_t rows; /* most: 1..WD_AUDIT_SQL_ROWS */
    uint64_t timeout_ms;
} wd_audit_ask;

/* *ret_more: there are more rows than that.
 * Errors: INVALID_ARGUMENT   no one statement, its syntax, a value it can't work with, two
 *                            columns of one name
 *         PERMISSION_DENIED  it asks for more than reading; says for what
 *         DEADLINE_EXCEEDED  the time is over
 *         RESOURCE_EXHAUSTED it takes too much memory, or the sink's
 *         and those of wd_audit_query */
WD_MUST_USE wd_status wd_audit_sql(wd_reader *reader, const wd_audit_ask *ask,
                                   const wd_sql_sink *sink, bool *ret_more,
                                   wd_error *err);

#endif
