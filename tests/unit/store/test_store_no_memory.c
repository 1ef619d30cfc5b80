/* A store's life with each allocation failing in turn, once and all from it on: ours and
 * SQLite's. jansson's fail where it writes: where it reads, it takes a text for a bad one
 * when it has no memory, which the next start gets over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <sqlite3.h>

#include "store/token_detail.h"
#include "store/tokens.h"
#include "tests/unit/store/store_script.h"

#define STRIDE 397 /* of what is tried in the short form */

/* --- what fails ------------------------------------------------------------------- */

typedef struct memory {
    _Atomic long left; /* allocations that still succeed, while counting */
    atomic_bool counting;
    atomic_bool once;
    sqlite3_mem_methods real; /* SQLite's */
} memory;

static memory *mem(void)
{
    static memory one = {.left = 0};
    return &one;
}

static bool may_allocate(void)
{
    if (!atomic_load(&mem()->counting))
        return true;
    long before = atomic_fetch_sub(&mem()->left, 1);
    return before > 0 || (before < 0 && atomic_load(&mem()->once));
}

/* The names are the linker's (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return may_allocate() ? __real_realloc(old, size) : NULL;
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return may_allocate() ? __real_reallocarray(old, count, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return may_allocate() ? __real_strdup(text) : NULL;
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void *sqlite_malloc(int size)
{
    return may_allocate() ? mem()->real.xMalloc(size) : NULL;
}

static void *sqlite_realloc(void *old, int size)
{
    return may_allocate() ? mem()->real.xRealloc(old, size) : NULL;
}

static void *json_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

static void wrap_sqlite(void)
{
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &mem()->real), SQLITE_OK);
    sqlite3_mem_methods ours = mem()->real;
    ours.xMalloc = sqlite_malloc;
    ours.xRealloc = sqlite_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours), SQLITE_OK);
}

/* --- the runs --------------------------------------------------------------------- */

static void begins(void)
{
    atomic_store(&mem()->counting, true);
}

static void ends(void)
{
    atomic_store(&mem()->counting, false);
}

/* One life with n allocations that succeed, then one that does not, or none any more.
 * false: there are not so many. */
static bool run_with(long n, bool once)
{
    char name[64];
    wd_script s;
    (void)snprintf(name, sizeof(name), "%s after %ld", once ? "one" : "all", n);
    wd_script_init(&s);
    s.may_lack_room = true;
    s.begins = begins;
    s.ends = ends;
    atomic_store(&mem()->left, n);
    atomic_store(&mem()->once, once);
    wd_script_run(&s);
    bool came = atomic_load(&mem()->left) < 0;
    if (once && s.n_refused > 1)
        fail_msg("%s: one fault, %d refusals", name, s.n_refused);
    wd_script_recovers(&s, name);
    wd_script_check(&s, name);
    wd_script_done(&s);
    return came;
}

static void run_all(bool once)
{
    long stride = getenv("WARDED_LONG") != NULL ? 1 : STRIDE;
    long runs = 0;
    long n = 0;
    for (; run_with(n, once); n += stride)
        runs++;
    print_message("  %s: %ld runs, up to allocation %ld\n",
                  once ? "one fails" : "all fail from one on", runs, n - stride);
    assert_true(runs > 10);
}

static void claim_09_each_allocation_that_fails_loses_nothing(void **state)
{
    (void)state;
    run_all(true);
    run_all(false);
}

/* A row that said less of a token than the table would stop every later start. */
static void claim_09_what_a_row_says_of_a_token_is_whole_or_not_said(void **state)
{
    static const char *const scopes[] = {"observe:python_code",
                                         "observe:bash_terminal"};
    static const wd_token_spec spec = {.name = "trainer",
                                       .scopes = scopes,
                                       .n_scopes = 2,
                                       .parent = "0123456789",
                                       .bind = "uri:spiffe://x"};
    WD_AUTO_ISSUED issued = {0};
    (void)state;
    assert_int_equal(wd_token_make(&spec, WD_FIXTURE_NOW_MS, &issued, NULL), WD_OK);
    WD_AUTO(wd_text) *whole = wd_token_issue_detail(issued.token);
    json_set_alloc_funcs(json_malloc, free);
    long n = 0;
    bool came = true;
    for (; came; n++) {
        atomic_store(&mem()->left, n);
        atomic_store(&mem()->once, n % 2 == 0);
        begins();
        WD_AUTO(wd_text) *said = wd_token_issue_detail(issued.token);
        ends();
        came = atomic_load(&mem()->left) < 0;
        if (said != NULL)
            assert_string_equal(said, whole);
    }
    json_set_alloc_funcs(__real_malloc, free);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_09_what_a_row_says_of_a_token_is_whole_or_not_said),
        cmocka_unit_test(claim_09_each_allocation_that_fails_loses_nothing),
    };
    wrap_sqlite();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
