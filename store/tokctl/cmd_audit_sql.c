#include "store/tokctl/cmd_audit_sql.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/buffer.h"
#include "proto/c/sha256.h"
#include "store/audit_sql.h"
#include "store/tokctl/output.h"
#include "store/tombstone.h"

/* What is printed: its columns are known once the statement is compiled. */
typedef struct printing {
    const wd_tokctl *ctl;
    wd_column *columns; /* owned, with their names; ends with an empty one */
    size_t n;
    wd_output *out;
} printing;

static void printing_done(printing *p)
{
    wd_output_free(p->out);
    for (size_t i = 0; p->columns != NULL && i < p->n; i++)
        free((void *)(uintptr_t)p->columns[i].member);
    free(p->columns);
}
#define AUTO_PRINTING __attribute__((cleanup(printing_done))) printing

static bool take_columns(void *arg, const char *const *names, size_t n)
{
    printing *p = arg;
    p->columns = calloc(n + 1, sizeof(*p->columns));
    for (size_t i = 0; p->columns != NULL && i < n; i++) {
        const char *name = strdup(names[i]);
        if (name == NULL)
            return false;
        p->columns[i] = (wd_column){name, name, WD_COLUMN_TEXT, false};
        p->n = i + 1;
    }
    p->out = p->columns != NULL ? wd_output_new(p->ctl, p->columns) : NULL;
    return p->out != NULL;
}

static json_t *hex_text(wd_span bytes)
{
    WD_AUTO_BUFFER hex = WD_BUFFER_INIT;
    for (size_t i = 0; i < bytes.size; i++) {
        char two[3];
        wd_hex((wd_span){bytes.data + i, 1}, two);
        if (!wd_buffer_append(&hex, two, 2))
            return NULL;
    }
    return wd_buffer_append(&hex, "", 1) ? json_string((const char *)hex.data) : NULL;
}

/* JSON has no infinity. */
static json_t *json_of(const wd_sql_value *value)
{
    switch (value->kind) {
    case WD_SQL_INTEGER:
        return json_integer((json_int_t)value->integer);
    case WD_SQL_REAL:
        if (isfinite(value->real))
            return json_real(value->real);
        return json_string(value->real > 0 ? "Infinity" : "-Infinity");
    case WD_SQL_TEXT:
        return wd_output_text((const char *)value->bytes.data);
    case WD_SQL_BLOB:
        return hex_text(value->bytes);
    case WD_SQL_NULL:
        break;
    }
    return json_null();
}

static bool take_row(void *arg, const wd_sql_value *values, size_t n)
{
    printing *p = arg;
    json_t *record = json_object();
    for (size_t i = 0; record != NULL && i < n; i++) {
        if (json_object_set_new(record, p->columns[i].member, json_of(&values[i])) == 0)
            continue;
        json_decref(record);
        return false;
    }
    wd_output_add(p->out, record); /* NULL: told at the end */
    return true;
}

/* An answer over what is left would read as one over all. */
static wd_status tell_gaps(const wd_tokctl *ctl, wd_reader *reader, wd_error *err)
{
    WD_AUTO_TOMBSTONES gaps = {0};
    WD_TRY(wd_tombstones_between(reader, 0, INT64_MAX, &gaps, err));
    for (size_t i = 0; i < gaps.n && !ctl->quiet; i++)
        (void)fprintf(stderr, "rows %llu to %llu were exported and pruned: %s\n",
                      (unsigned long long)gaps.list[i].first,
                      (unsigned long long)gaps.list[i].last, gaps.list[i].file);
    return WD_OK;
}

static wd_status ask(const wd_tokctl *ctl, const wd_audit_ask *what, printing *p,
                     bool *ret_more, wd_error *err)
{
    const wd_sql_sink sink = {take_columns, take_row, p};
    wd_error cause;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_TRY(wd_reader_open(ctl->dir, NULL, &reader, err));
    wd_status status = wd_audit_sql(reader, what, &sink, ret_more, &cause);
    if (status != WD_OK)
        return wd_fail(err, status, "--sql: %s", cause.msg);
    return tell_gaps(ctl, reader, err);
}

int wd_audit_sql_run(const wd_tokctl *ctl, const char *sql, uint64_t limit)
{
    AUTO_PRINTING p = {.ctl = ctl};
    wd_error err = {0};
    bool more = false;
    const wd_audit_ask what = {.sql = sql,
                               .rows = limit < WD_AUDIT_SQL_ROWS ? (uint32_t)limit
                                                                 : WD_AUDIT_SQL_ROWS,
                               .timeout_ms = ctl->timeout_ms};
    if (ask(ctl, &what, &p, &more, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (!wd_output_end(p.out))
        return WD_EXIT_FAILED;
    if (more && !ctl->quiet)
        (void)fprintf(stderr,
                      "there are more rows than %u: --limit, or a LIMIT of its "
                      "own with an OFFSET\n",
                      what.rows);
    return WD_EXIT_OK;
}
