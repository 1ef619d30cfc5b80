/* Pruning that is cut off, or whose disk fails, at each of its steps in turn: each row is
 * in the store or in a whole export, and the next pass does the rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/vfs_shim.h"
#include "tests/unit/store/prune_fixture.h"

#define KILLED 77
#define STRIDE 13 /* of the steps that are tried in the short form */

/* --- what fails --------------------------------------------------------------------- */

typedef enum what { NOTHING, KILL, FAIL, FAIL_ON, LIE } what;

typedef struct trap {
    _Atomic int left; /* steps until it happens */
    _Atomic int steps;
    _Atomic what what;
    int code;
} trap;

static trap *the_trap(void)
{
    static trap one = {.left = 0};
    return &one;
}

/* The step comes: true, and it is to fail. */
static bool fails(void)
{
    trap *t = the_trap();
    what w = atomic_load(&t->what);
    if (w == NOTHING)
        return false;
    int left = atomic_fetch_sub(&t->left, 1);
    atomic_fetch_add(&t->steps, 1);
    if (w == KILL && left == 1)
        _exit(KILLED);
    errno = t->code;
    return (w == FAIL && left == 1) || (w == FAIL_ON && left <= 1);
}

/* The names are the linker's (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_unlink(const char *path);
int __real_unlinkat(int dir, const char *path, int flags);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int dir, const char *path, int flags);

/* Half of it first: what is cut off may be a part of a file. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    char turned[4];
    if (atomic_load(&the_trap()->what) == LIE && size > sizeof(turned)) {
        memset(turned, '~', sizeof(turned));
        return __real_write(fd, turned, sizeof(turned));
    }
    if (size < 2 || atomic_load(&the_trap()->what) == NOTHING)
        return __real_write(fd, data, size);
    ssize_t n = fails() ? -1 : __real_write(fd, data, size / 2);
    if (n > 0 && fails())
        return -1;
    return n;
}

int __wrap_fsync(int fd)
{
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    return fails() ? -1 : __real_rename(from, to);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails() ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

int __wrap_unlink(const char *path)
{
    return fails() ? -1 : __real_unlink(path);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    return fails() ? -1 : __real_unlinkat(dir, path, flags);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */

/* SQLite's own steps: they may only be cut off here, test_store_script has them fail. */
static void sqlite_step(void *arg, const wd_shim_event *event)
{
    (void)arg;
    if (event->when == WD_SHIM_BEFORE && atomic_load(&the_trap()->what) == KILL)
        (void)fails();
}

static void set_trap(what w, int at, int code)
{
    trap *t = the_trap();
    t->code = code;
    atomic_store(&t->left, at);
    atomic_store(&t->steps, 0);
    atomic_store(&t->what, w);
}

/* --- a store each time ----------------------------------------------------------------- */

static void begin(wd_fixture *f)
{
    set_trap(NOTHING, 0, 0);
    wd_prune_shell(f, ".", "rm -rf store exports; cp -r filled store");
}

/* What is there after the fault: nothing is lost, and the next pass does the rest. */
static void check(wd_fixture *f, const char *name)
{
    wd_audit_report report;
    wd_error err = {0};
    set_trap(NOTHING, 0, 0);
    wd_prune_all_rows(f, name);
    if (wd_prune_verify(f, &report, &err) != WD_OK)
        fail_msg("%s: %s", name, err.msg);
    wd_prune_pass(f);
    wd_prune_sound(f, 2);
    wd_prune_all_rows(f, name);
    wd_prune_shell(f, "exports", "test $(ls -A | wc -l) = 4");
    wd_prune_shell(f, "store/audit", "test $(ls *.db | wc -l) = 1 -a ! -e new.kept");
}

static void prune_and_exit(wd_fixture *f, int at)
{
    wd_fixture_open(f);
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    set_trap(KILL, at, 0);
    wd_error err = {0};
    wd_status status = wd_pruner_pass(pruner, &err);
    if (status != WD_OK)
        (void)fprintf(stderr, "%s\n", err.msg);
    _exit(status == WD_OK ? 0 : 1);
}

static void claim_07_a_kill_at_each_step_loses_no_row(void **state)
{
    wd_fixture *f = *state;
    char name[32];
    int step = getenv("WARDED_LONG") != NULL ? 1 : STRIDE;
    int code = KILLED;
    int n = 0;
    for (int at = 1; code == KILLED; at += step, n++) {
        int ended = 0;
        begin(f);
        pid_t child = fork();
        if (child == 0)
            prune_and_exit(f, at);
        assert_int_equal(waitpid(child, &ended, 0), child);
        code = WEXITSTATUS(ended);
        (void)snprintf(name, sizeof(name), "killed at %d", at);
        wd_fixture_open(f);
        check(f, name);
        wd_fixture_close(f);
    }
    assert_int_equal(code, 0);
    print_message("  killed at %d steps\n", n - 1);
    assert_true(n > 5);
}

/* One life with the nth step failing, or all from it on. false: there are not so many. */
static bool run_with(wd_fixture *f, what w, int at, int code)
{
    char name[64];
    char problem[512];
    wd_error err = {0};
    begin(f);
    wd_fixture_open(f);
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    set_trap(w, at, code);
    wd_status status = wd_pruner_pass(pruner, &err);
    int steps = atomic_load(&the_trap()->steps);
    (void)snprintf(name, sizeof(name), "%s at %d", strerrorname_np(code), at);
    wd_pruner_problem(pruner, problem, sizeof(problem));
    assert_string_equal(problem, status != WD_OK ? err.msg : "");
    check(f, name);
    wd_fixture_close(f);
    return steps >= at;
}

static void claim_07_a_full_or_failing_disk_stops_pruning_and_loses_no_row(void **state)
{
    wd_fixture *f = *state;
    static const struct {
        what what;
        int code;
    } faults[] = {{FAIL, EIO}, {FAIL_ON, ENOSPC}};
    int step = getenv("WARDED_LONG") != NULL ? 1 : STRIDE;
    for (size_t i = 0; i < 2; i++) {
        int at = 1;
        while (run_with(f, faults[i].what, at, faults[i].code))
            at += step;
        assert_true(at > 30);
    }
}

static void claim_07_an_export_that_reads_back_otherwise_is_none(void **state)
{
    wd_fixture *f = *state;
    wd_error err = {0};
    begin(f);
    wd_fixture_open(f);
    WD_AUTO(wd_pruner) *pruner = wd_prune_open(f, 0);
    set_trap(LIE, 0, 0);
    assert_int_equal(wd_pruner_pass(pruner, &err), WD_DATA_LOSS);
    assert_non_null(strstr(err.msg, "is not what was written"));
    check(f, "a lie");
    wd_fixture_close(f);
}

static int set_up(void **state)
{
    static wd_fixture f; /* cmocka's state needs an address */
    static wd_shim shim; /* outlives the connections */
    wd_fixture_init(&f);
    assert_int_equal(rmdir(f.top), 0);
    (void)snprintf(f.top, sizeof(f.top), "/dev/shm/wd-prune-XXXXXX");
    assert_non_null(mkdtemp(f.top)); /* it is done a hundred times */
    (void)snprintf(f.dir, sizeof(f.dir), "%s/store", f.top);
    wd_fixture_open(&f);
    wd_prune_fill(&f);
    wd_fixture_close(&f);
    wd_prune_shell(&f, ".", "mv store filled");
    shim.event = sqlite_step;
    assert_int_equal(wd_shim_register(&shim, "prune-shim"), SQLITE_OK);
    f.options.vfs = "prune-shim";
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    wd_fixture_done(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_07_a_kill_at_each_step_loses_no_row),
        cmocka_unit_test(
            claim_07_a_full_or_failing_disk_stops_pruning_and_loses_no_row),
        cmocka_unit_test(claim_07_an_export_that_reads_back_otherwise_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
