/* Landlock's scopes: who is behind the wall signals nobody outside it, and connects to no
 * abstract socket there. In a slot other walls stand before these two, so they are tried
 * by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/executor/slot_walls.h"

#define SCOPES_ABI 6

/* Its address: a NUL and a name of this process's own. */
static socklen_t address(struct sockaddr_un *to)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "warded-%d", getpid());
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int signal_outside(const struct sockaddr_un *to, socklen_t size)
{
    (void)to;
    (void)size;
    return kill(getppid(), 0);
}

static int connect_outside(const struct sockaddr_un *to, socklen_t size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (const struct sockaddr *)to, size);
}

/* The errno of what a process behind the wall tried; 0: it succeeded. */
static int tried(int (*act)(const struct sockaddr_un *to, socklen_t size), bool walled)
{
    static const wd_slot_spec spec = {.n_roots = 0};
    struct sockaddr_un to;
    socklen_t size = address(&to);
    pid_t child = fork();
    assert_return_code(child, errno);
    if (child == 0) {
        wd_slot_fault fault;
        if (walled && (!wd_slot_wall_no_new_privs(&fault) ||
                       !wd_slot_wall_landlock(&spec, &fault)))
            _exit(255);
        _exit(act(&to, size) == 0 ? 0 : errno);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void claim_10_nobody_outside_is_signalled_or_spoken_to(void **state)
{
    static const struct {
        const char *name;
        int (*act)(const struct sockaddr_un *to, socklen_t size);
    } cases[] = {{"signal", signal_outside}, {"abstract socket", connect_outside}};
    const int refused = wd_slot_landlock_abi() >= SCOPES_ABI ? EPERM : 0;
    struct sockaddr_un at;
    socklen_t size = address(&at);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_return_code(bind(listener, (struct sockaddr *)&at, size), errno);
    assert_return_code(listen(listener, 8), errno);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(tried(cases[i].act, false), 0);
        assert_int_equal(tried(cases[i].act, true), refused);
    }
    (void)close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_10_nobody_outside_is_signalled_or_spoken_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
