#include "server/executor/slot_init.h"

#include "server/executor/slot_root.h"
#include "server/executor/slot_walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* The action's descriptor of its code; beyond it nothing stays open. */
#define ACTION_CODE_FD 3

/* --- worker ----------------------------------------------------------------------- */

static bool hold_only_own(wd_slot_fault *fault)
{
    if (close_range(ACTION_CODE_FD, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "close_range");
    /* the spec is read, its number free for the code; dup2 clears close-on-exec */
    if (dup2(WD_SLOT_CODE_FD, ACTION_CODE_FD) < 0)
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "dup2 code");
    return true;
}

static bool put_up_walls(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    if (setsid() < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "setsid");
    return hold_only_own(fault) && wd_slot_wall_rlimits(spec, fault) &&
           wd_slot_wall_capabilities(fault) && wd_slot_wall_no_new_privs(fault) &&
           wd_slot_wall_landlock(spec, fault);
}

static bool become_action(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    char *const environment[] = {
        (char[]){"PATH=/usr/bin:/bin"},     (char[]){"HOME=/work"},
        (char[]){"LANG=C.UTF-8"},           (char[]){"TMPDIR=/tmp"},
        (char[]){"OPENBLAS_NUM_THREADS=1"}, NULL,
    };
    wd_slot_spec copy = *spec; /* execve's arguments are not const */
    char *const arguments[] = {
        copy.interpreter, (char[]){"-I"}, (char[]){"-X"}, (char[]){"utf8"},
        (char[]){"-c"},   copy.runner,    NULL,
    };
    if (chdir("/work") != 0)
        return wd_slot_fail(fault, WD_LAYER_MOUNTS, "chdir /work");
    if (setpriority(PRIO_PROCESS, 0, 0) != 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "setpriority");
    (void)umask(022);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    wd_slot_reset_signals();
    if (!wd_slot_wall_seccomp(WD_SLOT_FILTER_FD, fault))
        return false;
    (void)execve(copy.interpreter, arguments, environment);
    return wd_slot_fail(fault, WD_LAYER_INTERPRETER, "exec %.80s", spec->interpreter);
}

static _Noreturn void run_worker(const wd_slot_spec *spec)
{
    wd_slot_fault fault;
    if (!put_up_walls(spec, &fault) || !become_action(spec, &fault))
        wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault);
    _exit(127);
}

/* --- process 1 --------------------------------------------------------------------- */

typedef struct init_state {
    pid_t worker;
    int status;         /* of the worker, once it has ended */
    struct rusage used; /* by the worker and what it waited for */
    bool ordered;       /* to kill everything */
    unsigned leftovers; /* killed, other than the worker */
} init_state;

/* Reaps what has ended. true: the worker did. */
static bool reap_until(init_state *init)
{
    int status = 0;
    struct rusage used;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | __WALL, &used)) > 0;) {
        if (pid != init->worker) {
            init->leftovers += init->ordered; /* else an orphan that ended by itself */
            continue;
        }
        init->status = status;
        init->used = used;
        return true;
    }
    return false;
}

/* Waits for the worker, and for the order to kill. */
static void wait_worker(init_state *init, int signals)
{
    struct pollfd fds[2] = {{.fd = signals, .events = POLLIN},
                            {.fd = WD_SLOT_CONTROL_FD, .events = POLLIN}};
    while (!reap_until(init)) {
        if (poll(fds, 2, -1) < 0)
            continue; /* EINTR */
        if (fds[1].revents != 0) {
            init->ordered = true;
            (void)kill(-1, SIGKILL);
            fds[1].fd = -1; /* once is enough: nothing can start any more */
        }
        struct signalfd_siginfo info;
        if (fds[0].revents != 0 && read(signals, &info, sizeof(info)) < 0)
            continue; /* a spurious wake-up */
    }
}

/* Kills and reaps to the last process. */
static void clear_out(init_state *init)
{
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
        init->leftovers += init->ordered; /* else dead already: not left over */
    while (kill(-1, SIGKILL) == 0) {
        while (waitpid(-1, NULL, __WALL) > 0)
            init->leftovers++;
    }
}

static bool are_files_full(void)
{
    struct statfs files; /* of the one tmpfs behind /work, /tmp and /dev/shm */
    return statfs("/tmp", &files) == 0 && (files.f_bfree == 0 || files.f_ffree == 0);
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* Nothing of the action runs any more. */
static void report_end(const init_state *init)
{
    const struct rusage *used = &init->used;
    const wd_slot_report end = {
        .kind = WD_SLOT_ENDED,
        .wait_status = init->status,
        .leftovers = init->leftovers,
        .files_full = are_files_full(),
        .cpu_us = microseconds(used->ru_utime) + microseconds(used->ru_stime),
    };
    wd_slot_send_end(WD_SLOT_REPORT_FD, &end);
}

static int watch_children(void)
{
    sigset_t children;
    (void)sigemptyset(&children);
    (void)sigaddset(&children, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &children, NULL) != 0)
        return -1;
    return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool prepare(const wd_slot_spec *spec, int *ret_signals, wd_slot_fault *fault)
{
    if (!wd_slot_wall_core(fault)) /* while the host's /proc is here */
        return false;
    if (sethostname("slot", 4) != 0)
        return wd_slot_fail(fault, WD_LAYER_UTS_NS, "sethostname");
    *ret_signals = watch_children();
    if (*ret_signals < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "signalfd");
    return wd_slot_root_build(spec, fault);
}

static bool start_worker(const wd_slot_spec *spec, pid_t *ret_pid, wd_slot_fault *fault)
{
    *ret_pid = fork();
    if (*ret_pid == 0)
        run_worker(spec);
    return *ret_pid > 0 || wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "fork");
}

int wd_slot_init_run(const wd_slot_spec *spec, const void *unused)
{
    (void)unused;
    wd_slot_fault fault;
    int signals = -1;
    init_state init = {.worker = -1};
    if (!prepare(spec, &signals, &fault) || !start_worker(spec, &init.worker, &fault)) {
        wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault);
        return 1;
    }
    (void)close_range(WD_SLOT_STDIN_FD, WD_SLOT_STDERR_FD, 0);
    wait_worker(&init, signals);
    clear_out(&init);
    report_end(&init);
    return 0;
}
