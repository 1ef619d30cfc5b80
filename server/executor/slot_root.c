#include "server/executor/slot_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the host is while the new root is built. */
#define OLD_NAME ".old"
#define OLD      "/" OLD_NAME

static bool failed(wd_slot_fault *fault, const char *what, const char *path)
{
    return wd_slot_fail(fault, WD_LAYER_MOUNTS, "%s %s", what, path);
}

/* --- names in the fresh root ---------------------------------------------------- */

static bool make_file(const char *path, const char *text, wd_slot_fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return failed(fault, "create", path);
    size_t size = strlen(text);
    bool ok = write(fd, text, size) == (ssize_t)size;
    (void)close(fd);
    return ok || failed(fault, "write", path);
}

static bool make_dir(const char *path, mode_t mode, wd_slot_fault *fault)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return failed(fault, "mkdir", path);
    if (chmod(path, mode) != 0) /* past the umask */
        return failed(fault, "chmod", path);
    return true;
}

/* Every folder on the way to `path`, not itself. */
static bool make_parents(const char *path, wd_slot_fault *fault)
{
    char part[WD_SLOT_ROOTS_BYTES];
    for (const char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return failed(fault, "mkdir", part);
    }
    return true;
}

static bool make_link(const char *target, const char *path, wd_slot_fault *fault)
{
    if (symlink(target, path) != 0)
        return failed(fault, "symlink", path);
    return true;
}

/* --- binds ---------------------------------------------------------------------- */

/* A detached copy of what the host has at `path` (below OLD); symbolic links on the way
 * mean what they mean on the host. -1: errno. */
static int clone_old(const char *path)
{
    int old = open(OLD, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (old < 0)
        return -1;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int source = (int)syscall(SYS_openat2, old, path, &how, sizeof(how));
    int error = errno;
    (void)close(old);
    errno = error;
    if (source < 0)
        return -1;
    int tree = open_tree(
        source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
    error = errno;
    (void)close(source);
    errno = error;
    return tree;
}

static bool make_mountpoint(int tree, const char *path, wd_slot_fault *fault)
{
    struct stat st;
    if (fstat(tree, &st) != 0)
        return failed(fault, "stat", path);
    if (!make_parents(path, fault))
        return false;
    if (S_ISDIR(st.st_mode))
        return make_dir(path, 0755, fault);
    return access(path, F_OK) == 0 || make_file(path, "", fault);
}

/* Takes `tree`. Its flags are set before anything can see it. */
static bool attach(int tree, const char *path, uint64_t flags, wd_slot_fault *fault)
{
    struct mount_attr attr = {.attr_set = flags};
    bool ok = make_mountpoint(tree, path, fault);
    if (ok &&
        mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) != 0)
        ok = failed(fault, "mount_setattr", path);
    if (ok && move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        ok = failed(fault, "move_mount", path);
    (void)close(tree);
    return ok;
}

/* The ids of a slot are nobody on the host: which folder on the way shuts them out. */
static bool fail_shut(const char *root, wd_slot_fault *fault)
{
    char part[sizeof(OLD) + WD_SLOT_ROOTS_BYTES];
    (void)snprintf(part, sizeof(part), OLD "%s", root);
    for (char *at = part + sizeof(OLD); (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        if (access(part, X_OK) == 0)
            continue;
        errno = 0; /* the text tells */
        return wd_slot_fail(
            fault, WD_LAYER_MOUNTS,
            "sandbox.roots: chmod o+x %.48s, or name a folder elsewhere",
            part + sizeof(OLD) - 1);
    }
    return wd_slot_fail(fault, WD_LAYER_MOUNTS,
                        "sandbox.roots: %.60s: name a folder elsewhere", root);
}

static bool bind_roots(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    const char *root = spec->roots;
    for (uint32_t i = 0; i < spec->n_roots; i++, root += strlen(root) + 1) {
        int tree = clone_old(root);
        if (tree < 0 && errno == ENOENT)
            continue; /* the configuration may list what only some hosts have */
        if (tree < 0 && errno == EACCES)
            return fail_shut(root, fault);
        if (tree < 0)
            return failed(fault, "open_tree", root);
        if (!attach(tree, root,
                    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, fault))
            return false;
    }
    return true;
}

/* /bin and friends, where the host's are links into /usr. */
static bool copy_links(wd_slot_fault *fault)
{
    static const char *const names[] = {"/bin", "/sbin", "/lib", "/lib64", "/lib32"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char old[32];
        char target[WD_SLOT_PATH_BYTES];
        (void)snprintf(old, sizeof(old), OLD "%s", names[i]);
        ssize_t size = readlink(old, target, sizeof(target) - 1);
        if (size < 0)
            continue; /* not there, or a folder: then sandbox.roots has to name it */
        target[size] = '\0';
        if (access(names[i], F_OK) != 0 && !make_link(target, names[i], fault))
            return false;
    }
    return true;
}

/* --- parts ---------------------------------------------------------------------- */

static bool fill_etc(wd_slot_fault *fault)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"/etc/passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
                        "sandbox:x:1000:1000:sandbox:/work:/bin/sh\n"},
        {"/etc/group", "root:x:0:\nsandbox:x:1000:\n"},
        {"/etc/hosts", "127.0.0.1 localhost\n"},
        {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
        {"/etc/resolv.conf", ""},
    };
    if (!make_dir("/etc", 0755, fault))
        return false;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (!make_file(files[i].path, files[i].text, fault))
            return false;
    return true;
}

/* Read-only: a device can still be written to, but its node, which is the host's, keeps
 * its times, mode and attributes. */
static bool fill_dev(wd_slot_fault *fault)
{
    static const char *const nodes[] = {"/dev/null", "/dev/zero", "/dev/full",
                                        "/dev/random", "/dev/urandom"};
    if (!make_dir("/dev", 0755, fault))
        return false;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        int tree = clone_old(nodes[i]);
        if (tree < 0)
            return failed(fault, "open_tree", nodes[i]);
        if (!attach(tree, nodes[i],
                    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, fault))
            return false;
    }
    return make_link("/proc/self/fd", "/dev/fd", fault) &&
           make_link("fd/0", "/dev/stdin", fault) &&
           make_link("fd/1", "/dev/stdout", fault) &&
           make_link("fd/2", "/dev/stderr", fault);
}

static bool bind_box(const char *from, const char *to, wd_slot_fault *fault)
{
    int tree = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return failed(fault, "open_tree", from);
    return attach(tree, to, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, fault);
}

/* One tmpfs, so that one size bounds all that the action can write. */
static bool mount_box(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    char options[96];
    uint64_t inodes = 4096 + spec->files_bytes / 16384;
    (void)snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0755",
                   (unsigned long long)spec->files_bytes, (unsigned long long)inodes);
    if (!make_dir("/box", 0755, fault))
        return false;
    if (mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        return failed(fault, "mount tmpfs", "/box");
    if (!make_dir("/box/work", 0700, fault) || !make_dir("/box/tmp", 01777, fault) ||
        !make_dir("/box/shm", 01777, fault))
        return false;
    if (chown("/box/work", WD_SLOT_WORKER_ID, WD_SLOT_WORKER_ID) != 0)
        return failed(fault, "chown", "/box/work");
    if (!bind_box("/box/work", "/work", fault) ||
        !bind_box("/box/tmp", "/tmp", fault) ||
        !bind_box("/box/shm", "/dev/shm", fault))
        return false;
    if (umount2("/box", MNT_DETACH) != 0 || rmdir("/box") != 0)
        return failed(fault, "umount", "/box");
    return make_dir("/var", 0755, fault) && make_link("/tmp", "/var/tmp", fault);
}

/* What mounts and modes let an action read and only Landlock does not: shows the canary
 * that Landlock is there. */
static bool fill_landlocked(wd_slot_fault *fault)
{
    return make_file("/var/landlocked", "no rule of Landlock names this file\n", fault);
}

/* The kernel grants a fresh proc only while the host's is still visible, under OLD. */
static bool mount_proc(wd_slot_fault *fault)
{
    if (!make_dir("/proc", 0555, fault))
        return false;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
              "subset=pid,hidepid=invisible") != 0)
        return wd_slot_fail(fault, WD_LAYER_PROC, "mount /proc (subset=pid)");
    return true;
}

/* The host moves to OLD; "/" is an empty tmpfs. Any folder serves as the place where
 * the tmpfs is first mounted: what it hides there is visible again below OLD. */
static bool pivot(wd_slot_fault *fault)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return failed(fault, "mount --make-rprivate", "/");
    if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV,
              "size=1m,nr_inodes=512,mode=0755") != 0)
        return failed(fault, "mount tmpfs", "/tmp");
    if (chdir("/tmp") != 0 || mkdir(OLD_NAME, 0700) != 0)
        return failed(fault, "mkdir", OLD);
    if (syscall(SYS_pivot_root, ".", OLD_NAME) != 0)
        return failed(fault, "pivot_root", "(is warded inside a chroot?)");
    if (chdir("/") != 0)
        return failed(fault, "chdir", "/");
    return true;
}

static bool leave_old(wd_slot_fault *fault)
{
    if (umount2(OLD, MNT_DETACH) != 0 || rmdir(OLD) != 0)
        return failed(fault, "umount", OLD);
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
              NULL) != 0)
        return failed(fault, "remount read-only", "/");
    return true;
}

bool wd_slot_root_build(const wd_slot_spec *spec, wd_slot_fault *fault)
{
    (void)umask(022);
    return pivot(fault) && bind_roots(spec, fault) && copy_links(fault) &&
           fill_etc(fault) && fill_dev(fault) && mount_box(spec, fault) &&
           fill_landlocked(fault) && mount_proc(fault) && leave_old(fault);
}
