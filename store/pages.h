/* pages.h - are the files of a store sound below their rows: pages, indexes, free lists?
 *
 * The chain proves the content of rows. A damaged index answers queries wrongly, or hides
 * a row, while every row that is read in order still has its hash: only SQLite's own check
 * of the whole file finds that, and of a segment a look at what it says about its rows.
 *
 * Threads: the owner of the trail.
 * Cost:    reads each page once and looks up each row in each index: docs/audit.md,
 *          "Verifying". For verify, not for a start.
 * Source:  sqlite.org/pragma.html, "integrity_check". Internal to store/. */
#ifndef WD_STORE_PAGES_H
#define WD_STORE_PAGES_H

#include "store/audit_verify.h"
#include "store/trail.h"

/* store.db and every sealed segment. A fault that `report` has already stays the first.
 * Errors: DATA_LOSS  CHAIN_BROKEN: the message names the file and what SQLite found;
 *                    report->fault is WD_AUDIT_DAMAGED
 *         those of reading */
WD_MUST_USE wd_status wd_pages_verify(wd_trail *trail, wd_audit_report *report,
                                      wd_error *err);

/* What was to be read could not be, for damage: that is a finding too. Returns `status`. */
wd_status wd_pages_judge(wd_status status, wd_audit_report *report);

#endif
