#include "tests/unit/store/segments_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void wd_segments_seal(wd_fixture *f)
{
    WD_AUTO(wd_archivist) *archivist = NULL;
    const wd_archive_options options = {.store = f->store};
    wd_error err = {0};
    if (wd_archivist_open(&options, &archivist, &err) != WD_OK ||
        wd_archivist_seal(archivist, &err) != WD_OK)
        fail_msg("seal: %s", err.msg);
}

wd_reader *wd_segments_reader(wd_fixture *f)
{
    wd_reader *reader = NULL;
    wd_error err = {0};
    if (wd_reader_open(f->dir, NULL, &reader, &err) != WD_OK)
        fail_msg("wd_reader_open: %s", err.msg);
    return reader;
}

void wd_segments_verify(wd_fixture *f, uint64_t rows, size_t segments)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_range all = {0};
    wd_audit_report report;
    wd_error err = {0};
    if (wd_audit_verify(reader, &all, &report, &err) != WD_OK)
        fail_msg("verify: %s", err.msg);
    assert_int_equal(report.rows, rows);
    assert_int_equal(report.n_segments, segments);
}

void wd_segments_broken(wd_fixture *f, wd_audit_fault fault, uint64_t seq)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_range all = {0};
    wd_audit_report report;
    wd_error err = {0};
    assert_int_equal(wd_audit_verify(reader, &all, &report, &err), WD_DATA_LOSS);
    if (report.fault != fault || report.bad_seq != seq)
        fail_msg("fault %d at %llu: %s", (int)report.fault,
                 (unsigned long long)report.bad_seq, err.msg);
}

int64_t wd_segments_open_rows(wd_fixture *f)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM audit", -1, &stmt, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return n;
}

/* Changes a sealed file as an intruder would. */
void wd_segments_change(wd_fixture *f, const char *name, const char *sql)
{
    char command[512];
    char path[64];
    (void)snprintf(path, sizeof(path), "audit/%s", name);
    (void)snprintf(command, sizeof(command), "chmod u+w '%s'",
                   wd_fixture_path(f, path));
    assert_int_equal(wd_fixture_shell(command), 0);
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, path), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

bool wd_segments_see(void *arg, const wd_audit_row *row)
{
    wd_seen *s = arg;
    s->seqs[s->n++] = row->seq;
    return s->n < 64;
}

uint64_t wd_segments_query(wd_fixture *f, const wd_audit_filter *filter, wd_seen *s)
{
    WD_AUTO(wd_reader) *reader = wd_segments_reader(f);
    const wd_audit_sink sink = {wd_segments_see, s};
    uint64_t next = 0;
    wd_error err = {0};
    *s = (wd_seen){0};
    if (wd_audit_query(reader, filter, &sink, &next, &err) != WD_OK)
        fail_msg("query: %s", err.msg);
    return next;
}
