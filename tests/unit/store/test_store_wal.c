/* The write-ahead log beside somebody who reads for long, and after. */
#include "store/wal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/store_fixture.h"

/* 68 MiB of text. */
#define FILL "INSERT INTO meta VALUES ('filler', hex(zeroblob(34 << 20)))"

static off_t wal_size(wd_fixture *f)
{
    struct stat file;
    assert_int_equal(stat(wd_fixture_path(f, "store.db-wal"), &file), 0);
    return file.st_size;
}

static void the_log_is_cut_back_once_nobody_reads_it(void **state)
{
    wd_fixture *f = *state;
    sqlite3 *outside = NULL;
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &outside), SQLITE_OK);
    wd_fixture_fill(f, 1);
    wd_wal_tidy(f->store);
    assert_false(wd_store_wal_large(f->store));

    assert_int_equal(
        sqlite3_exec(outside, "BEGIN; SELECT count(*) FROM audit", NULL, NULL, NULL),
        SQLITE_OK);
    wd_fixture_sql(f, FILL);
    wd_wal_tidy(f->store);
    assert_true(wd_store_wal_large(f->store));
    assert_true(wal_size(f) > WD_WAL_BYTES);
    wd_fixture_fill(f, 2); /* and writing goes on */

    assert_int_equal(sqlite3_exec(outside, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    wd_wal_tidy(f->store);
    assert_false(wd_store_wal_large(f->store));
    assert_int_equal(wal_size(f), 0);
    assert_int_equal(sqlite3_close(outside), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_log_is_cut_back_once_nobody_reads_it,
                                        wd_fixture_set_up, wd_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
