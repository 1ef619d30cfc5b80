#include "server/executor/filter.h"
#include "server/executor/filter_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

typedef struct filter {
    struct sock_filter ops[BPF_MAXINSNS + 1];
    size_t n;
} filter;

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

/* --- what the kernel would say: the program itself, run here ------------------------- */

static uint32_t load(const struct seccomp_data *data, uint32_t at)
{
    uint32_t word = 0;
    assert_in_range(at, 0, sizeof(*data) - sizeof(word));
    memcpy(&word, (const char *)data + at, sizeof(word));
    return word;
}

static bool jumps(const struct sock_filter *op, uint32_t a)
{
    switch (op->code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
        return a == op->k;
    case BPF_JMP | BPF_JGT | BPF_K:
        return a > op->k;
    case BPF_JMP | BPF_JGE | BPF_K:
        return a >= op->k;
    case BPF_JMP | BPF_JSET | BPF_K:
        return (a & op->k) != 0;
    default:
        fail_msg("jump %#x", op->code);
        return false;
    }
}

static uint32_t verdict(const filter *f, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t pc = 0; pc < f->n; pc++) {
        const struct sock_filter *op = &f->ops[pc];
        if (op->code == (BPF_LD | BPF_W | BPF_ABS))
            a = load(data, op->k);
        else if (op->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= op->k;
        else if (op->code == (BPF_JMP | BPF_JA))
            pc += op->k;
        else if (op->code == (BPF_RET | BPF_K))
            return op->k;
        else
            pc += jumps(op, a) ? op->jt : op->jf;
    }
    fail_msg("it ends without a verdict");
    return 0;
}

static uint32_t asked(const filter *f, int number, uint64_t first, uint64_t second)
{
    const struct seccomp_data data = {
        .nr = number, .arch = seccomp_arch_native(), .args = {first, second}};
    return verdict(f, &data);
}

static int open_filter(void **state)
{
    filter *f = calloc(1, sizeof(*f));
    int fd = -1;
    wd_error error;
    assert_int_equal(wd_filter_build(&fd, &error), WD_OK);
    assert_non_null(f);
    ssize_t size = pread(fd, f->ops, sizeof(f->ops), 0);
    assert_true(size > 0 && (size_t)size < sizeof(f->ops));
    f->n = (size_t)size / sizeof(f->ops[0]);
    (void)close(fd);
    *state = f;
    return 0;
}

static int close_filter(void **state)
{
    free(*state);
    return 0;
}

#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))

static void each_name_of_the_lists_is_answered_as_its_list_says(void **state)
{
    size_t known = 0;
    const struct {
        const char *const *names;
        size_t n;
        uint32_t answer;
    } lists[] = {
        {wd_filter_allowed, COUNT(wd_filter_allowed), SECCOMP_RET_ALLOW},
        {wd_filter_denied, COUNT(wd_filter_denied), ERRNO(EPERM)},
    };
    for (size_t k = 0; k < COUNT(lists); k++)
        for (size_t i = 0; i < lists[k].n; i++) {
            int number = seccomp_syscall_resolve_name(lists[k].names[i]);
            if (number < 0)
                continue;
            print_message("%s\n", lists[k].names[i]);
            assert_int_equal(asked(*state, number, 0, 0), lists[k].answer);
            assert_int_equal(asked(*state, number, UINT64_MAX, UINT64_MAX),
                             lists[k].answer);
            known++;
        }
    assert_true(known > 300);
}

static bool is_listed(int number)
{
    for (size_t i = 0; i < COUNT(wd_filter_allowed); i++)
        if (seccomp_syscall_resolve_name(wd_filter_allowed[i]) == number)
            return true;
    for (size_t i = 0; i < COUNT(wd_filter_denied); i++)
        if (seccomp_syscall_resolve_name(wd_filter_denied[i]) == number)
            return true;
    return false;
}

static void what_no_list_names_is_not_there(void **state)
{
    static const char *const by_arguments[] = {"clone", "socket", "ioctl",
                                               "fcntl", "prctl",  "personality",
                                               "mknod", "mknodat"};
    for (int number = 0; number < 1024; number++) {
        bool skip = is_listed(number);
        for (size_t i = 0; i < COUNT(by_arguments); i++)
            skip = skip || seccomp_syscall_resolve_name(by_arguments[i]) == number;
        if (!skip)
            assert_int_equal(asked(*state, number, 0, 0), ERRNO(ENOSYS));
    }
}

static const struct {
    const char *what, *name;
    uint64_t first, second;
    uint32_t answer;
} rows[] = {
    /* A process more: counted by the cgroup, in the same namespaces. */
    {"fork has no flags", "fork", 0, 0, SECCOMP_RET_ALLOW},
    {"what looks like flags of fork is none", "fork", CLONE_NEWUSER, 0,
     SECCOMP_RET_ALLOW},
    {"vfork has none either", "vfork", CLONE_NEWUSER, 0, SECCOMP_RET_ALLOW},
    {"clone as glibc's fork calls it", "clone", 0x01200011, 0, SECCOMP_RET_ALLOW},
    {"clone as vfork", "clone", CLONE_VM | CLONE_VFORK | SIGCHLD, 0, SECCOMP_RET_ALLOW},
    {"clone as a thread's start", "clone", 0x003d0f00, 0, SECCOMP_RET_ALLOW},
    {"clone into a user namespace", "clone", CLONE_NEWUSER | SIGCHLD, 0, ERRNO(ENOSYS)},
    {"into a pid namespace", "clone", CLONE_NEWPID, 0, ERRNO(ENOSYS)},
    {"into a net namespace", "clone", CLONE_NEWNET, 0, ERRNO(ENOSYS)},
    {"into an ipc namespace", "clone", CLONE_NEWIPC, 0, ERRNO(ENOSYS)},
    {"into a uts namespace", "clone", CLONE_NEWUTS, 0, ERRNO(ENOSYS)},
    {"into a mount namespace", "clone", CLONE_NEWNS, 0, ERRNO(ENOSYS)},
    {"into a cgroup namespace", "clone", CLONE_NEWCGROUP, 0, ERRNO(ENOSYS)},
    {"into a time namespace", "clone", 0x80, 0, ERRNO(ENOSYS)},
    {"as a sibling", "clone", CLONE_PARENT, 0, ERRNO(ENOSYS)},
    {"clone3, whose flags no filter sees", "clone3", 0, 0, ERRNO(ENOSYS)},
    {"a socket of a path", "socket", AF_UNIX, 0, SECCOMP_RET_ALLOW},
    {"IPv4", "socket", AF_INET, 0, SECCOMP_RET_ALLOW},
    {"IPv6", "socket", AF_INET6, 0, SECCOMP_RET_ALLOW},
    {"netlink", "socket", AF_NETLINK, 0, ERRNO(EAFNOSUPPORT)},
    {"vsock", "socket", AF_VSOCK, 0, ERRNO(EAFNOSUPPORT)},
    {"a family that is not there", "socket", 64, 0, ERRNO(ENOSYS)},
    {"TIOCSTI", "ioctl", 0, TIOCSTI, ERRNO(EPERM)},
    {"TIOCSTI with a high bit", "ioctl", 0, TIOCSTI | (1ULL << 32), ERRNO(EPERM)},
    {"TIOCLINUX", "ioctl", 0, TIOCLINUX, ERRNO(EPERM)},
    {"TCGETS", "ioctl", 0, TCGETS, SECCOMP_RET_ALLOW},
    {"SIOCSIFFLAGS", "ioctl", 0, 0x8914, ERRNO(ENOSYS)},
    {"F_DUPFD", "fcntl", 0, F_DUPFD, SECCOMP_RET_ALLOW},
    {"F_SETLEASE", "fcntl", 0, 1024, ERRNO(ENOSYS)},
    {"F_SETLEASE with a high bit", "fcntl", 0, 1024 | (1ULL << 32), ERRNO(ENOSYS)},
    {"F_NOTIFY", "fcntl", 0, 1026, ERRNO(ENOSYS)},
    {"PR_SET_NAME", "prctl", PR_SET_NAME, 0, SECCOMP_RET_ALLOW},
    {"PR_SET_SECCOMP", "prctl", PR_SET_SECCOMP, 0, ERRNO(ENOSYS)},
    {"PR_CAPBSET_DROP", "prctl", PR_CAPBSET_DROP, 0, ERRNO(ENOSYS)},
    {"what the personality is", "personality", 0xffffffff, 0, SECCOMP_RET_ALLOW},
    {"no randomisation", "personality", 0x0040000, 0, ERRNO(ENOSYS)},
    {"a FIFO", "mknod", 0, S_IFIFO | 0600, SECCOMP_RET_ALLOW},
    {"a block device", "mknod", 0, S_IFBLK | 0600, ERRNO(ENOSYS)},
};

static void each_argument_is_judged_as_the_rules_say(void **state)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        int number = seccomp_syscall_resolve_name(rows[i].name);
        print_message("%s\n", rows[i].what);
        assert_int_equal(asked(*state, number, rows[i].first, rows[i].second),
                         rows[i].answer);
    }
}

static void a_call_of_another_architecture_kills(void **state)
{
    const struct seccomp_data data = {.nr = 1, .arch = 0x40000003 /* i386 */};
    assert_int_equal(verdict(*state, &data), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_of_the_lists_is_answered_as_its_list_says),
        cmocka_unit_test(what_no_list_names_is_not_there),
        cmocka_unit_test(each_argument_is_judged_as_the_rules_say),
        cmocka_unit_test(a_call_of_another_architecture_kills),
        cmocka_unit_test(the_filter_is_sealed_and_fits_the_kernel),
        cmocka_unit_test(no_name_is_both_allowed_and_denied),
        cmocka_unit_test(what_arguments_decide_is_in_no_list),
        cmocka_unit_test(what_shared_files_would_tell_by_is_in_no_list),
        cmocka_unit_test(the_known_dangers_are_denied),
    };
    return cmocka_run_group_tests(tests, open_filter, close_filter);
}
