#include "server/executor/slot_fault.h"
#include "server/executor/slot_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
/* Descriptors are first moved up here, so that none is overwritten before its turn. */
#define HIGH_FD 64
/* The machine's own out-of-memory killer takes actions first. */
#define OOM_SCORE_ADJ "500"

static bool write_all(int fd, wd_span bytes)
{
    for (size_t done = 0; done < bytes.size;) {
        ssize_t size = write(fd, bytes.data + done, bytes.size - done);
        if (size < 0)
            return false;
        done += (size_t)size;
    }
    return true;
}

int wd_slot_memfd(const char *name, wd_span bytes)
{
    WD_AUTO_FD int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || !write_all(fd, bytes) || lseek(fd, 0, SEEK_SET) != 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) != 0)
        return -1;
    return WD_STEAL_FD(fd);
}

/* --- in the child -------------------------------------------------------------------- */

/* Puts fds[i] at number i and closes everything else. */
static bool place_descriptors(const wd_slot_birth *birth)
{
    int high[WD_SLOT_LAST_FD + 1];
    for (int i = 0; i <= WD_SLOT_LAST_FD; i++) {
        int from = birth->fds[i] >= 0 ? birth->fds[i] : open("/dev/null", O_RDWR);
        high[i] = fcntl(from, F_DUPFD, HIGH_FD);
        if (high[i] < 0)
            return false;
    }
    for (int i = 0; i <= WD_SLOT_LAST_FD; i++)
        if (dup2(high[i], i) < 0)
            return false;
    return close_range(WD_SLOT_LAST_FD + 1, ~0U, 0) == 0;
}

static bool lower_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, OOM_SCORE_ADJ, 3) == 3;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* warded-slot and the slot's init come before the action on the processors that they
 * share; without the right to say so they do not, and are killed later. */
static void go_first(void)
{
    (void)setpriority(PRIO_PROCESS, 0, -20);
}

static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool become_slot(const wd_slot_birth *birth, pid_t parent, wd_slot_fault *fault)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "PR_SET_PDEATHSIG");
    if (birth->cgroup != NULL && !wd_cgroup_join(birth->cgroup))
        return wd_slot_fail(fault, WD_LAYER_CGROUP_PIDS, "join the cgroup");
    if (!lower_oom_score())
        return wd_slot_fail(fault, WD_LAYER_CGROUP_MEMORY, "set oom_score_adj");
    if (setsid() < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "setsid");
    if (!place_descriptors(birth))
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "place descriptors");
    go_first();
    reset_signals();
    char *const nothing[] = {NULL};
    char name[] = "warded-slot";
    char option[] = "--probe";
    char probe[64] = "";
    if (birth->probe != NULL)
        (void)snprintf(probe, sizeof(probe), "%s", birth->probe);
    char *const arguments[] = {name, probe[0] != '\0' ? option : NULL, probe, NULL};
    (void)execve(birth->program, arguments, nothing);
    return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "exec warded-slot");
}

bool wd_slot_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

pid_t wd_slot_spawn(const wd_slot_birth *birth)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    wd_slot_fault fault;
    int report = birth->fds[WD_SLOT_REPORT_FD];
    if (!become_slot(birth, parent, &fault)) {
        wd_slot_send_fault(report, &fault);
        wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault); /* where it was put by then */
    }
    _exit(126);
}
