#include "server/executor/slot_probe.h"

#include "server/executor/slot_outer.h"
#include "server/executor/slot_root.h"
#include "server/executor/slot_walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each check runs in its own process, root of new namespaces; true: the wall stands. */

static bool check_nothing(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    (void)fault;
    return true; /* the names and ids themselves were what was tried */
}

static bool check_uids(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    const uid_t worker = WD_SLOT_WORKER_ID;
    if (setresgid(worker, worker, worker) != 0 ||
        setresuid(worker, worker, worker) != 0)
        return wd_slot_fail(fault, WD_LAYER_UIDS, "become 1000 inside");
    return true;
}

/* As it is ended: from process 1 to the last, by one signal. */
static bool kill_child(wd_slot_fault *fault)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    if (child < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "fork");
    bool ok = pidfd_open(child, 0) >= 0 ||
              wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "pidfd_open");
    if (ok && kill(-1, SIGKILL) != 0)
        ok = wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "kill");
    if (!ok)
        return false; /* the child dies with this process, which is process 1 */
    errno = 0;
    return (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) ||
           wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "a killed process lives on");
}

static bool check_process_tree(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    sigset_t children;
    (void)sigemptyset(&children);
    (void)sigaddset(&children, SIGCHLD);
    if (setsid() < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "setsid");
    if (setpriority(PRIO_PROCESS, 0, 0) != 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "setpriority");
    if (signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK) < 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "signalfd");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "PR_SET_CHILD_SUBREAPER");
    return kill_child(fault);
}

static bool check_pid(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    errno = 0;
    return getpid() == 1 ||
           wd_slot_fail(fault, WD_LAYER_PID_NS, "not process 1 inside");
}

static bool check_net(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    struct ifreq lo = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo) != 0)
        return wd_slot_fail(fault, WD_LAYER_NET_NS, "ask for the flags of lo");
    (void)close(fd);
    errno = 0;
    if ((lo.ifr_flags & IFF_UP) != 0)
        return wd_slot_fail(fault, WD_LAYER_NET_NS, "lo is up: not a fresh namespace");
    return true;
}

static bool check_mounts(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    /* a refused /proc is the next layer's matter */
    return wd_slot_root_build(spec, fault) || fault->layer == WD_LAYER_PROC;
}

static bool check_interpreter(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    if (!wd_slot_root_build(spec, fault) && fault->layer != WD_LAYER_PROC)
        return false;
    if (access(spec->interpreter, X_OK) != 0)
        return wd_slot_fail(fault, WD_LAYER_INTERPRETER, "%.80s inside",
                            spec->interpreter);
    return true;
}

static bool check_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    return wd_slot_wall_core(fault) && wd_slot_wall_rlimits(spec, fault);
}

static bool check_capabilities(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    return wd_slot_wall_capabilities(fault);
}

static bool check_no_new_privs(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    return wd_slot_wall_no_new_privs(fault);
}

static bool check_landlock(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    if (!wd_slot_wall_no_new_privs(fault) || !wd_slot_wall_landlock(spec, fault))
        return false;
    errno = 0;
    if (open("/dev/null", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0 ||
        errno == 0)
        return wd_slot_fail(fault, WD_LAYER_LANDLOCK, "writing is not refused");
    return true;
}

static bool check_scopes(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    int abi = wd_slot_landlock_abi();
    if (abi >= 6)
        return true;
    return wd_slot_fail(fault, WD_LAYER_LANDLOCK_SCOPES, "ABI %d", abi);
}

static bool check_seccomp(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    if (!wd_slot_wall_no_new_privs(fault) ||
        !wd_slot_wall_seccomp(WD_SLOT_FILTER_FD, fault))
        return false;
    errno = 0;
    if (socket(AF_NETLINK, SOCK_RAW, 0) >= 0 || errno != EAFNOSUPPORT)
        return wd_slot_fail(fault, WD_LAYER_SECCOMP, "the filter does not bite");
    return true;
}

static bool check_descriptors(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)spec;
    if (memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING) < 0)
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "memfd_create");
    if (close_range(100, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "close_range");
    return true;
}

#define USER   CLONE_NEWUSER
#define MOUNTS (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)

static const struct probe {
    wd_layer_id layer;
    unsigned long flags;
    bool (*check)(const wd_slot_spec *spec, wd_slot_fault *fault);
} probes[] = {
    {WD_LAYER_USER_NS, USER, check_nothing},
    {WD_LAYER_UIDS, USER, check_uids},
    {WD_LAYER_PROCESS_TREE, USER | CLONE_NEWPID, check_process_tree},
    {WD_LAYER_PID_NS, USER | CLONE_NEWPID, check_pid},
    {WD_LAYER_NET_NS, USER | CLONE_NEWNET, check_net},
    {WD_LAYER_IPC_NS, USER | CLONE_NEWIPC, check_nothing},
    {WD_LAYER_UTS_NS, USER | CLONE_NEWUTS, check_nothing},
    {WD_LAYER_CGROUP_NS, USER | CLONE_NEWCGROUP, check_nothing},
    {WD_LAYER_MOUNTS, MOUNTS, check_mounts},
    {WD_LAYER_PROC, MOUNTS, wd_slot_root_build},
    {WD_LAYER_RLIMITS, USER, check_rlimits},
    {WD_LAYER_CAPABILITIES, USER, check_capabilities},
    {WD_LAYER_NO_NEW_PRIVS, USER, check_no_new_privs},
    {WD_LAYER_LANDLOCK, USER, check_landlock},
    {WD_LAYER_LANDLOCK_SCOPES, USER, check_scopes},
    {WD_LAYER_SECCOMP, USER, check_seccomp},
    {WD_LAYER_DESCRIPTORS, USER, check_descriptors},
    {WD_LAYER_INTERPRETER, MOUNTS, check_interpreter},
};

static int run_check(const wd_slot_spec *spec, const void *context)
{
    const struct probe *probe = context;
    wd_slot_fault fault;
    if (probe->check(spec, &fault)) {
        const wd_slot_report stands = {.kind = WD_SLOT_ENDED};
        wd_slot_send_end(WD_SLOT_REPORT_FD, &stands);
        return 0;
    }
    wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault);
    return 1;
}

static const struct probe *find(const char *name)
{
    wd_layer_id id = wd_layer_find(name);
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
        if (probes[i].layer == id)
            return &probes[i];
    return NULL;
}

int wd_slot_probe(const wd_slot_spec *spec, const char *name)
{
    const struct probe *probe = find(name);
    if (probe == NULL)
        return 64;
    wd_slot_fault fault;
    int status = 0;
    const wd_slot_child child = {probe->flags, run_check, probe};
    if (!wd_slot_outer_run(spec, &child, &status, &fault)) {
        if (probe->flags != USER && fault.layer == WD_LAYER_USER_NS && fault.error != 0)
            fault.layer = probe->layer; /* its own namespace is what was refused */
        wd_slot_send_fault(WD_SLOT_REPORT_FD, &fault);
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
