/* slot_without.c - takes a wall of warded-slot away, for the canary to miss, or two where
 * one stands behind the other.
 *
 * Linked with all of warded-slot; WITHOUT_X says which wall, and --wrap sends the calls
 * that put it up to here. Only for actions: a probe of a layer finds it whole, so that
 * nothing but the canary is left to notice; and that, too, can be spared. */
#include "server/executor/slot_outer.h"
#include "server/executor/slot_walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPARED "canary-is-spared"

static bool probing;

/* With a file SPARED beside this program the canary has every wall, so that actions can
 * run without one. */
static bool is_spared_canary(void)
{
    static const char first[] = "# The canary:";
    char path[4096];
    char code[sizeof(first) - 1];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - sizeof(SPARED));
    if (size <= 0)
        return false;
    path[size] = '\0';
    memcpy(strrchr(path, '/') + 1, SPARED, sizeof(SPARED));
    return access(path, F_OK) == 0 &&
           pread(WD_SLOT_CODE_FD, code, sizeof(code), 0) == (ssize_t)sizeof(code) &&
           memcmp(code, first, sizeof(code)) == 0;
}

/* --- cgroups: the slot walks out of its leaf --------------------------------------- */

#if defined(WITHOUT_CGROUP_MEMORY)
#define LEFT "memory"
#elif defined(WITHOUT_CGROUP_PIDS)
#define LEFT "pids"
#endif

#ifdef LEFT
static bool write_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, "0", 1) == 1;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* `line` of /proc/self/cgroup: "8:pids:/a/leaf"; of version 2 "0::/a/leaf". */
static void leave(char *line, const char *controller)
{
    char path[8192];
    char *names = strchr(line, ':');
    char *leaf = names != NULL ? strchr(names + 1, ':') : NULL;
    if (leaf == NULL)
        return;
    *leaf++ = '\0';
    char *slash = strrchr(leaf, '/');
    if (strcmp(names + 1, controller) != 0 && names[1] != '\0')
        return;
    *slash = '\0';
    const char *space = names[1] != '\0' ? "/" : "";
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s%s/cgroup.procs", space,
                   names + 1, leaf);
    if (write_to(path))
        return;
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/warded-main/cgroup.procs",
                   leaf);
    (void)write_to(path);
}

static void leave_leaf(const char *controller)
{
    char line[4096];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        leave(line, controller);
    if (file != NULL)
        (void)fclose(file);
}
#endif

#ifdef WITHOUT_EMPTY_ENVIRONMENT
static void read_environment(void);
#endif

__attribute__((constructor)) static void look_at_arguments(int argc, char **argv)
{
    (void)argv;
    probing = argc > 1 || is_spared_canary();
#ifdef LEFT
    if (!probing)
        leave_leaf(LEFT);
#endif
#ifdef WITHOUT_EMPTY_ENVIRONMENT
    read_environment();
#endif
}

/* The names are the linker's.
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */

/* --- walls that are one call -------------------------------------------------------- */

bool __wrap_wd_slot_wall_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault);
bool __real_wd_slot_wall_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault);
bool __wrap_wd_slot_wall_landlock(const wd_slot_spec *spec, wd_slot_fault *fault);
bool __real_wd_slot_wall_landlock(const wd_slot_spec *spec, wd_slot_fault *fault);
bool __wrap_wd_slot_wall_core(wd_slot_fault *fault);
bool __real_wd_slot_wall_core(wd_slot_fault *fault);
bool __wrap_wd_slot_wall_capabilities(wd_slot_fault *fault);
bool __real_wd_slot_wall_capabilities(wd_slot_fault *fault);
bool __wrap_wd_slot_wall_no_new_privs(wd_slot_fault *fault);
bool __real_wd_slot_wall_no_new_privs(wd_slot_fault *fault);
bool __wrap_wd_slot_wall_seccomp(int filter_fd, wd_slot_fault *fault);
bool __real_wd_slot_wall_seccomp(int filter_fd, wd_slot_fault *fault);

#if defined(WITHOUT_RLIMITS)
bool __wrap_wd_slot_wall_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_rlimits(spec, fault);
}
#endif
#if defined(WITHOUT_CORE)
bool __wrap_wd_slot_wall_core(wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_core(fault);
}
#endif
#if defined(WITHOUT_CAPABILITIES)
bool __wrap_wd_slot_wall_capabilities(wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_capabilities(fault);
}
#endif
#if defined(WITHOUT_NO_NEW_PRIVS)
bool __wrap_wd_slot_wall_no_new_privs(wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_no_new_privs(fault);
}
#endif
#if defined(WITHOUT_LANDLOCK)
bool __wrap_wd_slot_wall_landlock(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_landlock(spec, fault);
}
#endif
#if defined(WITHOUT_SECCOMP)
bool __wrap_wd_slot_wall_seccomp(int filter_fd, wd_slot_fault *fault)
{
    return !probing || __real_wd_slot_wall_seccomp(filter_fd, fault);
}
#endif

/* --- namespaces and ids --------------------------------------------------------------- */

#if defined(WITHOUT_USER_NS)
#define SPACE CLONE_NEWUSER
#elif defined(WITHOUT_PID_NS)
#define SPACE CLONE_NEWPID
#elif defined(WITHOUT_NET_NS)
#define SPACE CLONE_NEWNET
#elif defined(WITHOUT_IPC_NS)
#define SPACE CLONE_NEWIPC
#elif defined(WITHOUT_UTS_NS)
#define SPACE CLONE_NEWUTS
#elif defined(WITHOUT_MNT_NS)
#define SPACE CLONE_NEWNS
#elif defined(WITHOUT_CGROUP_NS)
#define SPACE CLONE_NEWCGROUP
#else
#define SPACE 0
#endif

bool __wrap_wd_slot_outer_run(const wd_slot_spec *spec, const wd_slot_child *child,
                              int *ret_status, wd_slot_fault *fault);
bool __real_wd_slot_outer_run(const wd_slot_spec *spec, const wd_slot_child *child,
                              int *ret_status, wd_slot_fault *fault);
bool __wrap_wd_slot_read_spec(wd_slot_spec *ret_spec, wd_slot_fault *fault);
bool __real_wd_slot_read_spec(wd_slot_spec *ret_spec, wd_slot_fault *fault);

#if SPACE != 0
bool __wrap_wd_slot_outer_run(const wd_slot_spec *spec, const wd_slot_child *child,
                              int *ret_status, wd_slot_fault *fault)
{
    wd_slot_child less = *child;
    if (!probing)
        less.flags &= ~(unsigned long)SPACE;
    return __real_wd_slot_outer_run(spec, &less, ret_status, fault);
}
#endif

#if defined(WITHOUT_UIDS)
/* The worker is somebody of the host. */
bool __wrap_wd_slot_read_spec(wd_slot_spec *ret_spec, wd_slot_fault *fault)
{
    bool ok = __real_wd_slot_read_spec(ret_spec, fault);
    if (!probing)
        ret_spec->worker_uid = 65534;
    return ok;
}
#endif

/* --- the end of the tree -------------------------------------------------------------- */

int __wrap_kill(pid_t pid, int number);
int __real_kill(pid_t pid, int number);

#if defined(WITHOUT_PROCESS_TREE)
/* Process 1 believes that there is nobody left. */
int __wrap_kill(pid_t pid, int number)
{
    if (probing)
        return __real_kill(pid, number);
    errno = ESRCH;
    return -1;
}
#endif

/* --- the environment ------------------------------------------------------------------ */

int __wrap_execve(const char *path, char *const *arguments, char *const *environment);
int __real_execve(const char *path, char *const *arguments, char *const *environment);

#if defined(WITHOUT_EMPTY_ENVIRONMENT)
/* The interpreter has what the executor has, as if nobody had emptied it. */
static char inherited[65536];
static char *variables[1024];

static void read_environment(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, inherited, sizeof(inherited) - 1) : 0;
    size_t n = 0;
    for (char *at = inherited; size > 0 && at < inherited + size && n < 1023;
         at += strlen(at) + 1)
        variables[n++] = at;
    if (fd >= 0)
        (void)close(fd);
}

int __wrap_execve(const char *path, char *const *arguments, char *const *environment)
{
    return __real_execve(path, arguments, probing ? environment : variables);
}
#endif

/* --- system calls ------------------------------------------------------------------- */

int __wrap_close_range(unsigned first, unsigned last, int flags);
int __real_close_range(unsigned first, unsigned last, int flags);
int __wrap_mount(const char *source, const char *target, const char *type,
                 unsigned long flags, const void *data);
int __real_mount(const char *source, const char *target, const char *type,
                 unsigned long flags, const void *data);
int __wrap_mount_setattr(int dir, const char *path, unsigned flags,
                         struct mount_attr *attr, size_t size);
int __real_mount_setattr(int dir, const char *path, unsigned flags,
                         struct mount_attr *attr, size_t size);
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

#if defined(WITHOUT_DESCRIPTORS)
int __wrap_close_range(unsigned first, unsigned last, int flags)
{
    return probing ? __real_close_range(first, last, flags) : 0;
}
#endif

#if defined(WITHOUT_PROC)
int __wrap_mount(const char *source, const char *target, const char *type,
                 unsigned long flags, const void *data)
{
    if (!probing && type != NULL && strcmp(type, "proc") == 0)
        return 0;
    return __real_mount(source, target, type, flags, data);
}
#elif defined(WITHOUT_PROC_LIMITS)
/* All of /proc, as anybody has it who mounts one. */
int __wrap_mount(const char *source, const char *target, const char *type,
                 unsigned long flags, const void *data)
{
    if (!probing && type != NULL && strcmp(type, "proc") == 0)
        return __real_mount(source, target, type, 0, NULL);
    return __real_mount(source, target, type, flags, data);
}
#elif defined(WITHOUT_FILE_LIMITS)
/* What an action writes into is as large as tmpfs is by itself. */
int __wrap_mount(const char *source, const char *target, const char *type,
                 unsigned long flags, const void *data)
{
    if (!probing && strcmp(target, "/box") == 0 && type != NULL)
        return __real_mount(source, target, type, flags, "mode=0755");
    return __real_mount(source, target, type, flags, data);
}
#endif

#if defined(WITHOUT_OWN_ROOT)
int __wrap_umount2(const char *target, int flags);
int __real_umount2(const char *target, int flags);

/* Folders of the host stay in sight, under their names. */
int __wrap_umount2(const char *target, int flags)
{
    static const char *const names[] = {"/tmp", "/dev", "/home"};
    char old[64];
    if (probing || strcmp(target, "/.old") != 0)
        return __real_umount2(target, flags);
    (void)mkdir("/home", 0755);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(old, sizeof(old), "/.old%s", names[i]);
        (void)mount(old, names[i], NULL, MS_BIND | MS_REC, NULL);
    }
    return __real_umount2(target, flags);
}
#endif

#if defined(WITHOUT_READ_ONLY)
int __wrap_mount_setattr(int dir, const char *path, unsigned flags,
                         struct mount_attr *attr, size_t size)
{
    if (!probing)
        attr->attr_set &= ~(unsigned long long)MOUNT_ATTR_RDONLY;
    return __real_mount_setattr(dir, path, flags, attr, size);
}
#endif

#if defined(WITHOUT_SCOPES)
/* A kernel whose Landlock is of ABI 5. */
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (!probing && number == SYS_landlock_create_ruleset &&
        a[2] == LANDLOCK_CREATE_RULESET_VERSION && result > 5)
        return 5;
    return result;
}
#endif

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
