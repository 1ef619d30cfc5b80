#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t test_wall_ms(const wd_clock *clock)
{
    return atomic_load(&((const wd_test_clock *)clock)->now_ms);
}

static int64_t test_mono_ms(const wd_clock *clock)
{
    return test_wall_ms(clock) +
           atomic_load(&((const wd_test_clock *)clock)->set_back_ms);
}

static int64_t test_mono_ns(const wd_clock *clock)
{
    return test_mono_ms(clock) * 1000000;
}

void wd_fixture_init(wd_fixture *f)
{
    *f = (wd_fixture){.clock = {.clock = {test_wall_ms, test_mono_ms, test_mono_ns},
                                .now_ms = WD_FIXTURE_NOW_MS}};
    (void)snprintf(f->top, sizeof(f->top), "/tmp/wd-store-XXXXXX");
    assert_non_null(mkdtemp(f->top));
    (void)snprintf(f->dir, sizeof(f->dir), "%s/store", f->top);
    f->options = (wd_store_options){
        .dir = f->dir,
        .create = true,
        .reserve_bytes = 1U << 20,
        .clock = &f->clock.clock,
    };
}

void wd_fixture_open(wd_fixture *f)
{
    wd_error err = {0};
    f->options.dir = f->dir; /* the fixture may have been copied */
    f->options.clock = &f->clock.clock;
    if (wd_store_open(&f->options, &f->store, &err) != WD_OK)
        fail_msg("wd_store_open: %s", err.msg);
}

void wd_fixture_set_back(wd_fixture *f, int64_t ms)
{
    f->clock.now_ms -= ms;
    f->clock.set_back_ms += ms;
}

void wd_fixture_close(wd_fixture *f)
{
    wd_store_close(f->store);
    f->store = NULL;
}

int wd_fixture_set_up(void **state)
{
    static wd_fixture fixture; /* cmocka's state needs an address */
    wd_fixture_init(&fixture);
    wd_fixture_open(&fixture);
    *state = &fixture;
    return 0;
}

int wd_fixture_tear_down(void **state)
{
    wd_fixture_done(*state);
    return 0;
}

wd_reader *wd_fixture_reader(wd_fixture *f)
{
    wd_reader *reader = NULL;
    wd_error err = {0};
    if (wd_reader_open(f->dir, NULL, &reader, &err) != WD_OK)
        fail_msg("wd_reader_open: %s", err.msg);
    return reader;
}

int wd_fixture_shell(const char *command)
{
    return system(command); /* NOLINT(cert-env33-c,concurrency-mt-unsafe): a test */
}

void wd_fixture_done(wd_fixture *f)
{
    char command[96];
    wd_fixture_close(f);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", f->top);
    assert_int_equal(wd_fixture_shell(command), 0);
}

void wd_fixture_refused(wd_fixture *f, wd_status status, wd_reason reason,
                        const char *words)
{
    wd_error err = {0};
    wd_store *store = NULL;
    assert_int_equal(wd_store_open(&f->options, &store, &err), status);
    assert_int_equal(err.reason, reason);
    if (strstr(err.msg, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
    assert_null(store);
}

typedef struct append_job {
    wd_store_job job; /* first */
    const wd_audit_row *row;
} append_job;

static wd_status apply_append(wd_store *store, wd_store_job *job, wd_error *err)
{
    return wd_audit_append(store, ((append_job *)job)->row, err);
}

void wd_fixture_append(wd_fixture *f, const wd_audit_row *row)
{
    append_job job = {{.apply = apply_append}, row};
    wd_error err = {0};
    if (wd_store_run(f->store, &job.job, &err) != WD_OK)
        fail_msg("append: %s", err.msg);
}

void wd_fixture_fill(wd_fixture *f, int n)
{
    for (int i = 1; i <= n; i++) {
        char call[16];
        (void)snprintf(call, sizeof(call), "c%d", i);
        wd_audit_row row = {.event = "call.begin", .call_id = call};
        wd_fixture_append(f, &row);
    }
}

void wd_fixture_sql(wd_fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    char side[128];
    (void)snprintf(side, sizeof(side), "ATTACH '%s/side.db' AS side", f->top);
    assert_int_equal(sqlite3_open(wd_fixture_path(f, "store.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, side, NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

const char *wd_fixture_path(wd_fixture *f, const char *name)
{
    (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
    return f->path;
}
