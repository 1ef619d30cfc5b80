#include "server/child.h"

#include "server/core_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const child_environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    NULL,
};

void wd_child_init(wd_child *child, const wd_program *program)
{
    memset(child, 0, sizeof(*child));
    child->program = program;
    child->pidfd = -1;
    child->control = -1;
    child->kill_at_ms = INT64_MAX;
}

/* --- in the child, between fork and exec -------------------------------------------- */

/* Tell the supervisor why, and be gone. */
_Noreturn static void leave(int control, const char *text)
{
    (void)!wd_control_send(control, WD_CONTROL_FAILED, -1, text, NULL);
    _exit(127);
}

_Noreturn static void give_up(const wd_program *program, int control, const char *what)
{
    char text[WD_CONTROL_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "%s: %s: %s", program->path, what,
                   strerror(errno));
    leave(control, text);
}

/* Never a core with keys in it. In the words of the sandbox's layer, which it is too. */
static void limit_core(int control)
{
    char text[WD_CONTROL_TEXT_BYTES];
    const char *what = wd_core_limit_set();
    if (what == NULL)
        return;
    (void)snprintf(text, sizeof(text), "rlimits: %s%s%s; %s", what,
                   errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "",
                   WD_CORE_CURE);
    leave(control, text);
}

static bool reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < SIGRTMIN; number++)
        (void)sigaction(number, &plain, NULL);
    return sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* As many descriptors as the system lets. */
static bool raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

static bool drop_root(const wd_program *program)
{
    return setgroups(1, &program->gid) == 0 &&
           setresgid(program->gid, program->gid, program->gid) == 0 &&
           setresuid(program->uid, program->uid, program->uid) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* 0, 1, 2 and 3 as the header says; the program's descriptor goes with the exec. */
static bool arrange_descriptors(const wd_program *program, int *control, int *exe)
{
    int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int null = fcntl(opened, F_DUPFD_CLOEXEC, 16);
    *exe = fcntl(program->exe, F_DUPFD_CLOEXEC, 16);
    int kept = fcntl(*control, F_DUPFD_CLOEXEC, 16);
    if (null < 0 || *exe < 0 || kept < 0)
        return false;
    *control = kept;
    if (dup2(null, STDIN_FILENO) < 0 || dup2(kept, WD_CONTROL_FD) < 0)
        return false;
    return close_range(WD_CONTROL_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

_Noreturn static void become(const wd_program *program, int control, pid_t parent)
{
    int exe = -1;
    if (!reset_signals())
        give_up(program, control, "signals");
    if (!arrange_descriptors(program, &control, &exe))
        give_up(program, control, "descriptors");
    limit_core(control);
    if (!raise_files())
        give_up(program, control, "descriptors' limit");
    if (program->drop && !drop_root(program))
        give_up(program, control, "become the setting 'user'");
    /* After the change of uid, which clears it; the parent may be gone already. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        give_up(program, control, "die with the supervisor");
    (void)umask(077);
    (void)syscall(SYS_execveat, exe, "", program->argv, child_environment,
                  AT_EMPTY_PATH);
    give_up(program, control, "run");
}

/* --- in the supervisor -------------------------------------------------------------- */

wd_status wd_child_start(wd_child *child, int64_t now_ms, wd_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s: control socket: %s",
                       child->program->name, strerror(errno));
    WD_AUTO_FD int ours = ends[0];
    WD_AUTO_FD int theirs = ends[1];
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(child->program, theirs, parent);
    if (pid < 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s: fork: %s", child->program->name,
                       strerror(errno));
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0) {
        int why = errno;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return wd_fail(err, WD_UNAVAILABLE, "%s: pidfd: %s", child->program->name,
                       strerror(why));
    }
    child->pid = pid;
    child->pidfd = pidfd;
    child->control = WD_STEAL_FD(ours);
    child->state = WD_CHILD_STARTING;
    child->got_ready = false;
    child->starts++;
    child->since_ms = now_ms;
    child->kill_at_ms = INT64_MAX;
    return WD_OK;
}

void wd_child_stop(wd_child *child, int64_t now_ms, int64_t kill_at_ms)
{
    if (child->state == WD_CHILD_DOWN || child->state == WD_CHILD_STOPPING)
        return;
    child->state = WD_CHILD_STOPPING;
    child->since_ms = now_ms;
    child->kill_at_ms = kill_at_ms;
    if (child->control >= 0)
        (void)!wd_control_send(child->control, WD_CONTROL_STOP, -1, NULL, NULL);
}

void wd_child_kill(const wd_child *child)
{
    if (child->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
}

int wd_child_reap(wd_child *child, int64_t now_ms)
{
    int wait_status = 0;
    (void)waitpid(child->pid, &wait_status, 0);
    (void)close(child->pidfd);
    if (child->control >= 0)
        (void)close(child->control);
    child->pid = 0;
    child->pidfd = -1;
    child->control = -1;
    child->state = WD_CHILD_DOWN;
    child->since_ms = now_ms;
    child->kill_at_ms = INT64_MAX;
    return wait_status;
}

const char *wd_child_state_name(wd_child_state state)
{
    static const char *const names[] = {
        [WD_CHILD_DOWN] = "down",
        [WD_CHILD_STARTING] = "starting",
        [WD_CHILD_READY] = "ready",
        [WD_CHILD_STOPPING] = "stopping",
    };
    return names[state];
}

void wd_wait_status_text(int wait_status, char *out, size_t size)
{
    if (WIFSIGNALED(wait_status))
        (void)snprintf(out, size, "signal %d (%s)", WTERMSIG(wait_status),
                       strsignal(WTERMSIG(wait_status)));
    else
        (void)snprintf(out, size, "exit %d", WEXITSTATUS(wait_status));
}

void wd_child_describe(const wd_child *child, int64_t now_ms, char *out, size_t size)
{
    const char *name = child->program->name;
    int used = snprintf(out, size,
                        "%s.state=%s\n%s.pid=%d\n%s.starts=%u\n%s.since_ms=%" PRId64
                        "\n%s.reason=",
                        name, wd_child_state_name(child->state), name, (int)child->pid,
                        name, child->starts, name, now_ms - child->since_ms, name);
    size_t at = used > 0 && (size_t)used < size ? (size_t)used : 0;
    for (const char *c = child->reason; *c != '\0' && at + 2 < size; c++)
        out[at++] = (char)(*c >= ' ' && *c <= '~' ? *c : ' ');
    (void)snprintf(out + at, size - at, "\n");
}
