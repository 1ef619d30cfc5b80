/* sql_fixture.h - a trail that is asked in SQL, and its answers as text.
 *
 * Threads: the test's.  Owns: nothing. */
#ifndef WD_TESTS_SQL_FIXTURE_H
#define WD_TESTS_SQL_FIXTURE_H

#include "proto/c/buffer.h"
#include "store/audit_sql.h"
#include "tests/unit/store/segments_fixture.h"

#define WD_SQL_ROWS 60 /* of wd_sql_fill */
#define WD_SQL_ODD  "it's; \"odd\"\n\x1b[2J"

/* Rows first..last in one commit. */
void wd_sql_append(wd_fixture *f, int first, int last);

/* For cmocka: a store as *state, with two sealed segments and the open one. */
int wd_sql_fill(void **state);

/* "name|name|\n", and a line "value|value|\n" a row: for a wd_sql_sink. */
bool wd_sql_columns(void *out, const char *const *names, size_t n);
bool wd_sql_row(void *out, const wd_sql_value *values, size_t n);

/* The answer in *out, which ends in a NUL. */
wd_status wd_sql_ask(wd_reader *reader, const wd_audit_ask *what, wd_buffer *out,
                     bool *ret_more, wd_error *err);

#endif
