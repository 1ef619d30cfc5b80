/* layer.h - the walls of a slot: one table of names, duties and cures.
 *
 * A slot that can't put up a wall names it with this number; `warded check`, the refusal
 * at start and the Ready message print the same name, the first two the same cure. A cure
 * names each system call that the layer takes and that a filter around us may well deny.
 *
 * Threads: any.  Owns: nothing; static text.
 * Source:  docs/security.md. Used by warded-slot too: no dependency but libc. */
#ifndef WD_EXECUTOR_LAYER_H
#define WD_EXECUTOR_LAYER_H

#include "server/core_limit.h"

#include <stdbool.h>
#include <stddef.h>

#define WD_CURE_NS                                                                     \
    "run warded as root, or allow user namespaces: sysctl user.max_user_namespaces, "  \
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_"       \
    "userns=0; in a container: --cap-add SYS_ADMIN, --security-opt seccomp=PROFILE "   \
    "that allows clone with CLONE_NEW*, --security-opt apparmor=unconfined"
#define WD_CURE_MOUNT                                                                  \
    "in a container: --cap-add SYS_ADMIN and a seccomp profile that allows mount, "    \
    "umount2, pivot_root, mount_setattr, open_tree, move_mount, openat2; "             \
    "--security-opt apparmor=unconfined; not inside a chroot"
#define WD_CURE_CGROUP                                                                 \
    "mount the controller writable (v1), or delegate the cgroup (v2: Delegate=yes in " \
    "the unit; Docker: --cgroupns=private and a writable /sys/fs/cgroup)"

/* id, name, mandatory, cure */
#define WD_LAYER_MAP(X)                                                                \
    X(USER_NS, "user-namespace", true, WD_CURE_NS)                                     \
    X(UIDS, "uid-range", true,                                                         \
      "set sandbox.uid_base to the first of 2 x sandbox.slots ids that no account, "   \
      "no directory service and no other line of /etc/subuid owns")                    \
    X(RLIMITS, "rlimits", true,                                                        \
      "a seccomp profile around warded must allow prlimit64; " WD_CORE_CURE)           \
    X(PID_NS, "pid-namespace", true, WD_CURE_NS)                                       \
    X(PROCESS_TREE, "process-tree", true,                                              \
      "a seccomp profile around warded must allow kill, setsid, setpriority, "         \
      "clone (fork), signalfd4, pidfd_open and prctl(PR_SET_PDEATHSIG, "               \
      "PR_SET_CHILD_SUBREAPER); there must be room for processes (ulimit -u, systemd " \
      "TasksMax, Docker --pids-limit)")                                                \
    X(NET_NS, "net-namespace", true, WD_CURE_NS)                                       \
    X(IPC_NS, "ipc-namespace", true, WD_CURE_NS)                                       \
    X(UTS_NS, "uts-namespace", true, WD_CURE_NS ", and sethostname")                   \
    X(CGROUP_NS, "cgroup-namespace", true, WD_CURE_NS)                                 \
    X(MOUNTS, "mounts", true, WD_CURE_MOUNT)                                           \
    X(PROC, "proc", true,                                                              \
      "a fresh /proc is refused where the visible one has masked parts: Docker "       \
      "--security-opt systempaths=unconfined, Kubernetes procMount: Unmasked")         \
    X(CGROUP_MEMORY, "cgroup-memory", true,                                            \
      WD_CURE_CGROUP "; /proc/self/oom_score_adj must be writable")                    \
    X(CGROUP_PIDS, "cgroup-pids", true, WD_CURE_CGROUP)                                \
    X(CGROUP_CPU, "cgroup-cpu", false, WD_CURE_CGROUP)                                 \
    X(CAPABILITIES, "capabilities", true,                                              \
      "a seccomp profile around warded must allow setresuid, setresgid, setgroups, "   \
      "capset and prctl(PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_CAP_AMBIENT)")            \
    X(NO_NEW_PRIVS, "no-new-privs", true,                                              \
      "a seccomp profile around warded must allow prctl(PR_SET_NO_NEW_PRIVS)")         \
    X(LANDLOCK, "landlock", true,                                                      \
      "Linux >= 5.13 with CONFIG_SECURITY_LANDLOCK and \"landlock\" in the lsm= boot " \
      "parameter; a seccomp profile around warded must allow landlock_*")              \
    X(LANDLOCK_SCOPES, "landlock-scopes", false,                                       \
      "Linux >= 6.12 (Landlock ABI 6) adds signal and abstract-socket scopes")         \
    X(SECCOMP, "seccomp", true,                                                        \
      "a kernel with CONFIG_SECCOMP_FILTER; a seccomp profile around warded must "     \
      "allow seccomp(2)")                                                              \
    X(DESCRIPTORS, "descriptors", true,                                                \
      "warded-slot of the same build must stand beside warded-execd; a seccomp "       \
      "profile around warded must allow close_range, memfd_create, fcntl, dup2 and "   \
      "pipe2 "                                                                         \
      "(Linux >= 5.11)")                                                               \
    X(INTERPRETER, "interpreter", true,                                                \
      "tools[].interpreter must be an executable file below one of sandbox.roots")     \
    X(CANARY, "canary", true,                                                          \
      "the sandbox let something through or behaved unexpectedly, or its bait could "  \
      "not be set out in run/ and on loopback: run `warded check` and report it; "     \
      "nothing runs until it holds")

typedef enum wd_layer_id {
#define X(id, name, mandatory, cure) WD_LAYER_##id,
    WD_LAYER_MAP(X)
#undef X
        WD_LAYER_COUNT
} wd_layer_id;

/* Name ("landlock"), duty and cure of a layer; an unknown number is "unknown". */
const char *wd_layer_name(wd_layer_id id);
bool wd_layer_mandatory(wd_layer_id id);
const char *wd_layer_cure(wd_layer_id id);

/* Whether what is told of a layer is of a setting, whose name it then begins with
 * ("sandbox.roots: ..."): that text names its own cure, and the layer's would mislead. */
bool wd_layer_blames_setting(const char *detail);

/* Put the cure behind a refusal that begins with a layer's name and a colon, unless it is
 * there or a setting is to blame; of what fails it is the middle that is cut, so that
 * name and cure stay whole. Other texts stay as they are. `size`: bytes of `text`, at
 * least WD_LAYER_CURE_BYTES. */
#define WD_LAYER_CURE_BYTES 512
void wd_layer_add_cure(char *text, size_t size);

/* The layer called `name`; WD_LAYER_COUNT when none is. */
wd_layer_id wd_layer_find(const char *name);

#endif
