#include "server/executor/slot_walls.h"

#include "server/core_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- resource limits ------------------------------------------------------------- */

static rlim_t smaller(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

/* A hard limit that is already lower stays. */
static bool set_limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return false;
    hard = smaller(hard, limit.rlim_max);
    limit = (struct rlimit){.rlim_cur = smaller(soft, hard), .rlim_max = hard};
    return setrlimit(resource, &limit) == 0;
}

bool wd_slot_wall_core(wd_slot_fault *fault)
{
    const char *what = wd_core_limit_set();
    return what == NULL || wd_slot_fail(fault, WD_LAYER_RLIMITS, "%s", what);
}

bool wd_slot_wall_rlimits(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    const struct {
        __rlimit_resource_t resource;
        const char *name;
        rlim_t soft, hard;
    } limits[] = {
        {RLIMIT_NOFILE, "nofile", 256, 256},
        {RLIMIT_FSIZE, "fsize", spec->files_bytes, spec->files_bytes},
        /* above the cgroup's, which counts what it refuses */
        {RLIMIT_NPROC, "nproc", spec->pids + 8, spec->pids + 8},
        {RLIMIT_AS, "as", spec->address_bytes, spec->address_bytes},
        {RLIMIT_STACK, "stack", 16U << 20, 64U << 20},
        {RLIMIT_MEMLOCK, "memlock", 0, 0},
        {RLIMIT_MSGQUEUE, "msgqueue", 0, 0},
        {RLIMIT_SIGPENDING, "sigpending", 256, 256},
        {RLIMIT_NICE, "nice", 0, 0},
        {RLIMIT_RTPRIO, "rtprio", 0, 0},
        {RLIMIT_CPU, "cpu", spec->cpu_s, spec->cpu_s + 1},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (!set_limit(limits[i].resource, limits[i].soft, limits[i].hard))
            return wd_slot_fail(fault, WD_LAYER_RLIMITS, "setrlimit %s",
                                limits[i].name);
    return true;
}

/* --- capabilities and ids -------------------------------------------------------- */

static bool drop_sets(wd_slot_fault *fault)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "PR_CAP_AMBIENT");
    if (syscall(SYS_capset, &header, none) != 0)
        return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "capset");
    return true;
}

bool wd_slot_wall_capabilities(wd_slot_fault *fault)
{
    if (prctl(PR_CAPBSET_READ, 0, 0, 0, 0) < 0)
        return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "PR_CAPBSET_READ");
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
            return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "PR_CAPBSET_DROP %lu",
                                cap);
    if (setgroups(0, NULL) != 0)
        return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "setgroups");
    const gid_t gid = WD_SLOT_WORKER_ID;
    const uid_t uid = WD_SLOT_WORKER_ID;
    if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "setresuid 1000");
    return drop_sets(fault);
}

bool wd_slot_wall_no_new_privs(wd_slot_fault *fault)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return wd_slot_fail(fault, WD_LAYER_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS");
    return true;
}

/* --- Landlock -------------------------------------------------------------------- */

/* Known rights by the ABI that brought them; landlock.h of the build may be older than
 * the kernel or newer. */
#define ALL_ABI1 ((1ULL << 13) - 1)
#define READ_ONLY                                                                      \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                       \
     LANDLOCK_ACCESS_FS_READ_DIR)
#define ONLY_FILES                                                                     \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                       \
     LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                     \
     LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define NEVER                                                                          \
    (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                    \
     LANDLOCK_ACCESS_FS_IOCTL_DEV)

int wd_slot_landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
                        LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t known_rights(int abi)
{
    uint64_t rights = ALL_ABI1;
    if (abi >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (abi >= 5)
        rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    return rights;
}

static int make_ruleset(int abi)
{
    struct
    { /* as landlock_ruleset_attr of ABI 6; the size passed says how much of it */
        uint64_t fs, net, scoped;
    } attr = {.fs = known_rights(abi)};
    size_t size = sizeof(attr.fs);
    if (abi >= 4) {
        attr.net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
        size = offsetof(__typeof__(attr), scoped);
    }
    if (abi >= 6) {
        attr.scoped =
            3; /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, LANDLOCK_SCOPE_SIGNAL */
        size = sizeof(attr);
    }
    return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

static bool allow(int ruleset, const char *path, uint64_t rights, wd_slot_fault *fault)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return true; /* a root that this host does not have */
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return wd_slot_fail(fault, WD_LAYER_LANDLOCK, "open %s", path);
    struct landlock_path_beneath_attr rule = {.allowed_access = rights,
                                              .parent_fd = fd};
    if (!S_ISDIR(st.st_mode))
        rule.allowed_access &= ONLY_FILES;
    long rc =
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    (void)close(fd);
    return rc == 0 || wd_slot_fail(fault, WD_LAYER_LANDLOCK, "add_rule %s", path);
}

static bool allow_all(int ruleset, const wd_slot_spec *spec, uint64_t known,
                      wd_slot_fault *fault)
{
    static const char *const writable[] = {"/work", "/tmp", "/dev/shm"};
    const uint64_t dev = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                         LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    const char *root = spec->roots;
    for (uint32_t i = 0; i < spec->n_roots; i++, root += strlen(root) + 1)
        if (!allow(ruleset, root, READ_ONLY, fault))
            return false;
    for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
        if (!allow(ruleset, writable[i], known & ~(uint64_t)NEVER, fault))
            return false;
    const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    return allow(ruleset, "/", LANDLOCK_ACCESS_FS_READ_DIR, fault) &&
           allow(ruleset, "/etc", READ_ONLY, fault) &&
           allow(ruleset, "/proc", read, fault) &&
           allow(ruleset, "/dev", dev & known, fault);
}

bool wd_slot_wall_landlock(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    int abi = wd_slot_landlock_abi();
    int ruleset = abi < 1 ? -1 : make_ruleset(abi);
    if (ruleset < 0)
        return wd_slot_fail(fault, WD_LAYER_LANDLOCK, "landlock_create_ruleset");
    bool ok = allow_all(ruleset, spec, known_rights(abi), fault);
    if (ok && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        ok = wd_slot_fail(fault, WD_LAYER_LANDLOCK, "landlock_restrict_self");
    (void)close(ruleset);
    return ok;
}

/* --- seccomp --------------------------------------------------------------------- */

bool wd_slot_wall_seccomp(int filter_fd, wd_slot_fault *fault)
{
    off_t size = lseek(filter_fd, 0, SEEK_END);
    if (size <= 0 || size % (off_t)sizeof(struct sock_filter) != 0 ||
        size / (off_t)sizeof(struct sock_filter) > BPF_MAXINSNS)
        return wd_slot_fail(fault, WD_LAYER_SECCOMP, "filter of %lld bytes",
                            (long long)size);
    void *text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, filter_fd, 0);
    if (text == MAP_FAILED)
        return wd_slot_fail(fault, WD_LAYER_SECCOMP, "mmap filter");
    struct sock_fprog program = {
        .len = (unsigned short)((size_t)size / sizeof(struct sock_filter)),
        .filter = text};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return wd_slot_fail(fault, WD_LAYER_SECCOMP, "seccomp");
    return true; /* the mapping goes with the exec */
}

void wd_slot_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL); /* refused for KILL, STOP: as it should be */
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
