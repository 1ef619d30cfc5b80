/* store_fixture.h - a store in a folder of its own, with a clock that the test turns.
 *
 * Threads: the test's.  Owns: the folder, removed by wd_fixture_done. */
#ifndef WD_TESTS_STORE_FIXTURE_H
#define WD_TESTS_STORE_FIXTURE_H

#include <stdatomic.h>

#include <sqlite3.h>

#include "proto/c/clock.h"
#include "store/audit.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/writer.h"

#define WD_FIXTURE_NOW_MS 1800000000000LL /* where the clock starts */

typedef struct wd_test_clock {
    wd_clock clock;         /* first */
    _Atomic int64_t now_ms; /* the wall's */
    _Atomic int64_t
        set_back_ms; /* how far it was set back: the monotonic one was not */
} wd_test_clock;

typedef struct wd_fixture {
    char top[64]; /* removed at the end */
    char dir[80]; /* top/store: options.dir */
    wd_test_clock clock;
    wd_store_options options; /* change it before wd_fixture_open */
    wd_store *store;
    char path[128]; /* wd_fixture_path's */
} wd_fixture;

/* A folder and options: a reserve of 1 MiB, made at the first open. */
void wd_fixture_init(wd_fixture *f);
/* Opens the store; the test fails when that fails. */
void wd_fixture_open(wd_fixture *f);
/* Sets the wall clock back; the monotonic one goes on. */
void wd_fixture_set_back(wd_fixture *f, int64_t ms);
void wd_fixture_close(wd_fixture *f);
void wd_fixture_done(wd_fixture *f);

/* For cmocka: an open store as *state, and its end. */
int wd_fixture_set_up(void **state);
int wd_fixture_tear_down(void **state);
/* A reader of it, the caller's to close; the test fails when that fails. */
wd_reader *wd_fixture_reader(wd_fixture *f);

/* Opening must fail: checks status and reason, and that the message holds `words`. */
void wd_fixture_refused(wd_fixture *f, wd_status status, wd_reason reason,
                        const char *words);

/* Appends one row, committed, on this thread. */
void wd_fixture_append(wd_fixture *f, const wd_audit_row *row);
/* n rows "call.begin" with call ids c1, c2, ... */
void wd_fixture_fill(wd_fixture *f, int n);

/* Runs SQL on store.db as an outsider would; the test fails when that fails. What it wants
 * to keep between two calls it puts into the schema `side`, another file. */
void wd_fixture_sql(wd_fixture *f, const char *sql);

/* Runs a command of the shell; its status. */
int wd_fixture_shell(const char *command);

/* "dir/name" in a buffer that lives as long as the fixture's next call. */
const char *wd_fixture_path(wd_fixture *f, const char *name);

#endif
