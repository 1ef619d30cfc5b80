/* segments_fixture.h - what the tests of sealed segments do over and over.
 *
 * Threads: the test's.  Owns: nothing. */
#ifndef WD_TESTS_SEGMENTS_FIXTURE_H
#define WD_TESTS_SEGMENTS_FIXTURE_H

#include "store/archive.h"
#include "store/audit_verify.h"
#include "tests/support/store_fixture.h"

/* Seals all rows but the newest. */
void wd_segments_seal(wd_fixture *f);

/* The caller's to close. */
wd_reader *wd_segments_reader(wd_fixture *f);

/* The whole trail verifies, with so many rows and sealed segments. */
void wd_segments_verify(wd_fixture *f, uint64_t rows, size_t segments);
/* It does not, and this is what is found. */
void wd_segments_broken(wd_fixture *f, wd_audit_fault fault, uint64_t seq);

/* Rows in store.db. */
int64_t wd_segments_open_rows(wd_fixture *f);

/* Changes the sealed file `name` as an intruder would. */
void wd_segments_change(wd_fixture *f, const char *name, const char *sql);

/* Rows that came; wd_segments_see is the sink's function. */
typedef struct wd_seen {
    uint64_t seqs[64];
    size_t n;
} wd_seen;
bool wd_segments_see(void *arg, const wd_audit_row *row);

/* The answer's rows in *s; returns where to go on. */
uint64_t wd_segments_query(wd_fixture *f, const wd_audit_filter *filter, wd_seen *s);

#endif
