/* cmocka_select.c - lets the runner list and choose the tests of a cmocka program.
 *
 * Linked into every unit test with --wrap=_cmocka_run_group_tests. Environment:
 *     WARDED_TEST_LIST=1            print "test: NAME" for each test and run none
 *     WARDED_TEST_ONLY="NAME ..."   run these alone
 * With neither, the program runs all its tests, as it would have without this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The names are the linker's.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests,
                                   size_t count, CMFixtureFunction setup,
                                   CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests,
                                   size_t count, CMFixtureFunction setup,
                                   CMFixtureFunction teardown);

static bool is_listed(const char *name, const char *list)
{
    size_t length = strlen(name);

    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        bool starts = at == list || at[-1] == ' ';

        if (starts && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static int print_names(const struct CMUnitTest *tests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)printf("test: %s\n", tests[i].name);
    return 0;
}

/* Copies the tests that `list` names to `chosen`; how many there are. */
static size_t choose(struct CMUnitTest *chosen, const struct CMUnitTest *tests,
                     size_t count, const char *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_listed(tests[i].name, list))
            chosen[kept++] = tests[i];
    }
    return kept;
}

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests,
                                   size_t count, CMFixtureFunction setup,
                                   CMFixtureFunction teardown)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    const char *only = getenv("WARDED_TEST_ONLY");
    bool list = getenv("WARDED_TEST_LIST") != NULL;
    /* NOLINTEND(concurrency-mt-unsafe) */
    struct CMUnitTest *chosen = NULL;
    int failures = 0;

    if (list)
        return print_names(tests, count);
    if (only == NULL)
        return __real__cmocka_run_group_tests(group, tests, count, setup, teardown);
    chosen = calloc(count, sizeof(*chosen));
    if (chosen == NULL)
        return 1;
    size_t kept = choose(chosen, tests, count, only);
    if (kept > 0)
        failures = __real__cmocka_run_group_tests(group, chosen, kept, setup, teardown);
    free(chosen);
    return failures;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
