/* Scopes, three lines of them: covering is a partial order, and what a scope covers it
 * covers in each of its instances. */
#include "store/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* `scope` with x for `*` and y/z for `**`: something that it allows. */
static char *instance(const char *scope)
{
    char *out = malloc(2 * strlen(scope) + 1);
    size_t n = 0;

    FUZZ_CHECK(out != NULL);
    for (size_t i = 0; scope[i] != '\0'; i++) {
        if (scope[i] != '*') {
            out[n++] = scope[i];
        } else if (scope[i + 1] == '*') {
            memcpy(out + n, "y/z", 3);
            n += 3;
            i++;
        } else {
            out[n++] = 'x';
        }
    }
    out[n] = '\0';
    return out;
}

static void check_one(const char *scope)
{
    bool valid = wd_scope_valid(scope);

    FUZZ_CHECK(wd_scope_covers(scope, scope) == valid);
    if (!valid)
        return;
    FUZZ_CHECK(strlen(scope) <= WD_SCOPE_BYTES);
    char *some = instance(scope);
    FUZZ_CHECK(strlen(some) > WD_SCOPE_BYTES || wd_scope_covers(scope, some));
    FUZZ_CHECK(strchr(some, '*') == NULL);
    free(some);
}

static void check_two(const char *held, const char *asked)
{
    if (!wd_scope_covers(held, asked))
        return;
    FUZZ_CHECK(wd_scope_valid(held) && wd_scope_valid(asked));
    FUZZ_CHECK(strcspn(held, ":") == strcspn(asked, ":"));
    FUZZ_CHECK(!wd_scope_covers(asked, held) || strcmp(held, asked) == 0 ||
               strchr(held, '*') != NULL);
    char *some = instance(asked);
    FUZZ_CHECK(strlen(some) > WD_SCOPE_BYTES || wd_scope_covers(held, some));
    free(some);
}

static void check_three(char *const scope[3])
{
    const char *const held[] = {scope[0], scope[1]};
    const char *const asked[] = {scope[2]};
    bool one =
        wd_scope_covers(scope[0], scope[2]) || wd_scope_covers(scope[1], scope[2]);

    if (wd_scope_covers(scope[0], scope[1]) && wd_scope_covers(scope[1], scope[2]))
        FUZZ_CHECK(wd_scope_covers(scope[0], scope[2]));
    FUZZ_CHECK(wd_scopes_cover(held, 2, scope[2]) == one);
    FUZZ_CHECK((wd_scopes_missing(held, 2, asked, 1) == NULL) == one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    char *scope[3];

    for (size_t i = 0; i < 3; i++)
        scope[i] = fuzz_text(fuzz_line(&in));
    for (size_t i = 0; i < 3; i++) {
        check_one(scope[i]);
        for (size_t k = 0; k < 3; k++)
            check_two(scope[i], scope[k]);
    }
    check_three(scope);
    for (size_t i = 0; i < 3; i++)
        free(scope[i]);
    return 0;
}
