#include "tests/unit/store/sql_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Rows first..last in one commit. */
typedef struct filling {
    wd_store_job job; /* first */
    int first, last;
} filling;

static wd_status append_all(wd_store *store, wd_store_job *job, wd_error *err)
{
    static const char *const outcomes[] = {NULL, "ok", "refused"};
    const filling *span = (const filling *)(const void *)job;
    for (int i = span->first; i <= span->last; i++) {
        const wd_audit_row row = {
            .event = i % 2 == 0 ? "call.end" : "call.begin",
            .outcome = outcomes[i % 3],
            .owner = i % 10 == 0 ? "ann" : "bob",
            .tool = i == 33 ? WD_SQL_ODD : "",
            .principal = i % 4 == 0 ? "spiffe://x/a" : "spiffe://x/b",
            .wall_ms = 1000 * i,
            .code = (uint32_t)(i % 5),
            .detail = "{\"n\":1}",
        };
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

void wd_sql_append(wd_fixture *f, int first, int last)
{
    filling span = {.job.apply = append_all, .first = first, .last = last};
    wd_error err = {0};
    assert_int_equal(wd_store_run(f->store, &span.job, &err), WD_OK);
}

/* Two sealed segments, and the open one: nothing here changes it. */
int wd_sql_fill(void **state)
{
    int failed = wd_fixture_set_up(state);
    for (int first = 1; failed == 0 && first <= WD_SQL_ROWS; first += 20) {
        wd_sql_append(*state, first, first + 19);
        if (first + 19 < WD_SQL_ROWS)
            wd_segments_seal(*state);
    }
    return failed;
}

static void put(wd_buffer *out, const char *text)
{
    assert_true(wd_buffer_append(out, text, strlen(text)));
}

static void put_value(wd_buffer *out, const wd_sql_value *value)
{
    char text[64] = "NULL";
    if (value->kind == WD_SQL_INTEGER)
        (void)snprintf(text, sizeof(text), "%lld", (long long)value->integer);
    else if (value->kind == WD_SQL_REAL)
        (void)snprintf(text, sizeof(text), "%.12g", value->real);
    else if (value->kind == WD_SQL_BLOB)
        (void)snprintf(text, sizeof(text), "%zu bytes", value->bytes.size);
    if (value->kind == WD_SQL_TEXT)
        assert_true(wd_buffer_append(out, value->bytes.data, value->bytes.size));
    else
        put(out, text);
    put(out, "|");
}

bool wd_sql_columns(void *out, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(out, names[i]);
        put(out, "|");
    }
    put(out, "\n");
    return true;
}

bool wd_sql_row(void *out, const wd_sql_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_value(out, &values[i]);
    put(out, "\n");
    return true;
}

wd_status wd_sql_ask(wd_reader *reader, const wd_audit_ask *what, wd_buffer *out,
                     bool *ret_more, wd_error *err)
{
    const wd_sql_sink sink = {wd_sql_columns, wd_sql_row, out};
    wd_buffer_clear(out);
    wd_status status = wd_audit_sql(reader, what, &sink, ret_more, err);
    assert_true(wd_buffer_append(out, "", 1));
    return status;
}
