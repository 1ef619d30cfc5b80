#include "server/executor/filter.h"
#include "server/executor/filter_lists.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void the_filter_is_sealed_and_fits_the_kernel(void **state)
{
    (void)state;
    int fd = -1;
    wd_error error;
    assert_int_equal(wd_filter_build(&fd, &error), WD_OK);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_int_equal(size % (off_t)sizeof(struct sock_filter), 0);
    assert_in_range(size / (off_t)sizeof(struct sock_filter), 100, BPF_MAXINSNS);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    (void)close(fd);
}

static bool is_denied(const char *name)
{
    for (size_t i = 0; i < COUNT(wd_filter_denied); i++)
        if (strcmp(wd_filter_denied[i], name) == 0)
            return true;
    return false;
}

static void no_name_is_both_allowed_and_denied(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wd_filter_allowed); i++)
        assert_false(is_denied(wd_filter_allowed[i]));
}

static void what_arguments_decide_is_in_no_list(void **state)
{
    (void)state;
    static const char *const names[] = {"clone",       "clone3", "socket",
                                        "ioctl",       "fcntl",  "prctl",
                                        "personality", "mknod",  "mknodat"};
    for (size_t n = 0; n < COUNT(names); n++) {
        assert_false(is_denied(names[n]));
        for (size_t i = 0; i < COUNT(wd_filter_allowed); i++)
            assert_string_not_equal(wd_filter_allowed[i], names[n]);
    }
}

static void what_shared_files_would_tell_by_is_in_no_list(void **state)
{
    (void)state;
    static const char *const names[] = {"flock", "inotify_init", "inotify_init1",
                                        "inotify_add_watch", "fanotify_init"};
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t i = 0; i < COUNT(wd_filter_allowed); i++)
            assert_string_not_equal(wd_filter_allowed[i], names[n]);
}

static void the_known_dangers_are_denied(void **state)
{
    (void)state;
    static const char *const names[] = {
        "ptrace", "process_vm_readv", "mount",  "unshare", "setns",
        "bpf",    "io_uring_setup",   "keyctl", "add_key", "userfaultfd",
        "reboot", "perf_event_open",  "chroot", "shmget",  "open_by_handle_at"};
    for (size_t n = 0; n < COUNT(names); n++)
        assert_true(is_denied(names[n]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_is_sealed_and_fits_the_kernel),
        cmocka_unit_test(no_name_is_both_allowed_and_denied),
        cmocka_unit_test(what_arguments_decide_is_in_no_list),
        cmocka_unit_test(what_shared_files_would_tell_by_is_in_no_list),
        cmocka_unit_test(the_known_dangers_are_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
