/* prune_fixture.h - a store with three sealed segments, two days old, and its pruner.
 *
 * Rows: 1 a token's, 2..10; 11..20; 21..30 are sealed, 31 is in the open segment.
 *
 * Threads: the test's.  Owns: nothing. */
#ifndef WD_TESTS_PRUNE_FIXTURE_H
#define WD_TESTS_PRUNE_FIXTURE_H

#include "store/pruner.h"
#include "tests/unit/store/segments_fixture.h"

#define WD_PRUNE_DAY_MS (24LL * 60 * 60 * 1000)

/* Fills the store, and turns the clock on by two days. */
void wd_prune_fill(wd_fixture *f);

/* "TOP/exports", in memory that lives as long as the fixture's. */
const char *wd_prune_exports(wd_fixture *f);

/* By age, a day, into wd_prune_exports; `bytes` besides. The caller's. */
wd_pruner *wd_prune_open(wd_fixture *f, uint64_t bytes);
/* A pass that must succeed. */
void wd_prune_pass(wd_fixture *f);

/* The whole trail with its exports: OK, or what is found, in *ret_report. */
wd_status wd_prune_verify(wd_fixture *f, wd_audit_report *ret_report, wd_error *err);
/* It verifies, with so many tombstones. */
void wd_prune_sound(wd_fixture *f, size_t tombstones);
/* It does not, and this is what is found. */
void wd_prune_broken(wd_fixture *f, wd_audit_fault fault, uint64_t seq,
                     const char *words);

/* Runs a command of the shell in the folder of exports, or of segments. */
void wd_prune_shell(wd_fixture *f, const char *folder, const char *command);

/* Each row from 1 to 31 is in the store, or in an export that bears its name and is
 * whole; and no file is there but those. */
void wd_prune_all_rows(wd_fixture *f, const char *what);

#endif
