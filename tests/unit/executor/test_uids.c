#include "server/executor/uids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_range_must_lie_in_one_line_of_the_map(void **state)
{
    (void)state;
    static const struct {
        wd_uid_range range;
        const char *map;
        bool mapped;
    } cases[] = {
        {{1000, 4}, "         0          0 4294967295\n", true},
        {{1000, 4}, "0 100000 65536\n", true},
        {{65534, 4}, "0 100000 65536\n", false},
        {{65532, 4}, "0 100000 65536\n", true},
        {{1000, 4}, "0 1000 1\n", false},
        {{1000, 4}, "0 1000 1\n1000 5 2\n1002 7 2\n", false},
        {{1000, 4}, "", false},
        {{1000, 4}, "garbage\n", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(wd_uids_mapped(cases[i].range, cases[i].map), cases[i].mapped);
}

static void a_line_of_another_owner_must_not_overlap(void **state)
{
    (void)state;
    static const struct {
        wd_uid_range range;
        const char *text, *owner;
    } cases[] = {
        {{1000, 4}, "", NULL},
        {{1000, 4}, "u:996:4\nv:1004:9\n", NULL},
        {{1000, 4}, "u:997:4\n", "u"},
        {{1000, 4}, "u:1003:1\n", "u"},
        {{1000, 4}, "u:0:100000\n", "u"},
        {{1000, 4}, "warded:1000:4\nroot:1000:4\n", NULL},
        {{1000, 4}, "garbage\nu:x:y\n:\nv:1002:1\n", "v"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = strdup(cases[i].text);
        const char *owner = wd_uids_subid_owner(cases[i].range, text, "warded");
        if (cases[i].owner == NULL)
            assert_null(owner);
        else
            assert_string_equal(owner, cases[i].owner);
        free(text);
    }
}

static void an_account_in_the_range_is_named(void **state)
{
    (void)state;
    wd_error error;
    assert_int_equal(wd_uids_check((wd_uid_range){0, 2}, "warded", &error),
                     WD_UNAVAILABLE);
    assert_string_equal(error.msg, "uid-range: 0 is the account root");
    assert_int_equal(wd_uids_check((wd_uid_range){1879048192, 6}, "warded", &error),
                     WD_OK);
}

/* The status of a claim in another process. */
static int claim_elsewhere(wd_uid_range range)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = -1;
        wd_error error;
        _exit((int)wd_uids_claim(range, &fd, &error));
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_claimed_id_is_refused_to_others(void **state)
{
    (void)state;
    static const struct {
        wd_uid_range range;
        int status;
    } cases[] = {
        {{2000000100, 6}, WD_UNAVAILABLE}, {{2000000105, 6}, WD_UNAVAILABLE},
        {{2000000095, 6}, WD_UNAVAILABLE}, {{2000000090, 40}, WD_UNAVAILABLE},
        {{2000000102, 1}, WD_UNAVAILABLE}, {{2000000106, 6}, WD_OK},
        {{2000000094, 6}, WD_OK},          {{4294900000, 6}, WD_OK},
    };
    int fd = -1;
    wd_error error;
    assert_int_equal(wd_uids_claim((wd_uid_range){2000000100, 6}, &fd, &error), WD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(claim_elsewhere(cases[i].range), cases[i].status);
    (void)close(fd);
    assert_int_equal(claim_elsewhere(cases[0].range), WD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_must_lie_in_one_line_of_the_map),
        cmocka_unit_test(a_line_of_another_owner_must_not_overlap),
        cmocka_unit_test(an_account_in_the_range_is_named),
        cmocka_unit_test(a_claimed_id_is_refused_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
