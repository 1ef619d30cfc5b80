#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proto/c/cleanup.h"

#define PRIVATE_DIR  0700
#define PRIVATE_FILE 0600
#define OTHERS       0077

static int real_type(void *arg, const char *dir, uint64_t *ret_magic)
{
    (void)arg;
    struct statfs fs;
    if (statfs(dir, &fs) != 0)
        return errno;
    *ret_magic = (uint64_t)(uint32_t)fs.f_type;
    return 0;
}

static int real_free_bytes(void *arg, const char *dir, uint64_t *ret_bytes)
{
    (void)arg;
    struct statvfs fs;
    if (statvfs(dir, &fs) != 0)
        return errno;
    *ret_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize;
    return 0;
}

/* File systems that live elsewhere, or that several hosts share: statfs(2) and the
 * kernel's magic.h; Lustre, GPFS, BeeGFS, PanFS and the shared folders of virtual machines
 * from their own sources. Whatever runs in user space (sshfs, GlusterFS, s3fs, virtiofs)
 * shows FUSE's number alone, so all of it is refused. */
static const struct {
    uint32_t magic;
    const char *name;
} network_fs[] = {
    {0x00006969, "nfs"},    {0x0BD00BD0, "lustre"},   {0x47504653, "gpfs"},
    {0x0000517B, "smb"},    {0xFF534D42, "cifs"},     {0xFE534D42, "smb2"},
    {0x00C36400, "ceph"},   {0x19830326, "beegfs"},   {0xAAD7AAEA, "panfs"},
    {0x5346414F, "afs"},    {0x6B414653, "kafs"},     {0x73757245, "coda"},
    {0x0000564C, "ncpfs"},  {0x20030528, "orangefs"}, {0x01021997, "9p"},
    {0x65735546, "fuse"},   {0x7461636F, "ocfs2"},    {0x01161970, "gfs2"},
    {0x786F4256, "vboxsf"}, {0xBACBACBC, "vmhgfs"},
};

const char *wd_place_network_fs(uint64_t magic)
{
    for (size_t i = 0; i < sizeof(network_fs) / sizeof(network_fs[0]); i++) {
        if (network_fs[i].magic == magic)
            return network_fs[i].name;
    }
    return NULL;
}

/* --- the folder ------------------------------------------------------------------- */

static wd_status make_dir(const wd_store_options *options, wd_error *err)
{
    if (!options->create || mkdir(options->dir, PRIVATE_DIR) == 0 || errno == EEXIST)
        return WD_OK;
    return wd_fail(err, WD_UNAVAILABLE, "could not make the store's folder %s: %s%s",
                   options->dir, strerrordesc_np(errno), wd_rights_cure(errno));
}

static wd_status check_dir(const char *dir, wd_error *err)
{
    struct stat st;
    if (stat(dir, &st) != 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return wd_fail(err, absent ? WD_NOT_FOUND : WD_PERMISSION_DENIED,
                       "store %s: %s%s", dir, strerrordesc_np(errno),
                       absent ? "; `warded init` makes one" : wd_rights_cure(errno));
    }
    if (!S_ISDIR(st.st_mode))
        return wd_fail(err, WD_NOT_FOUND, "store %s is not a folder", dir);
    if ((st.st_mode & OTHERS) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "store %s can be entered by others (mode %04o): chmod 0700 it",
                       dir, st.st_mode & 07777);
    if (geteuid() != 0 && st.st_uid != geteuid())
        return wd_fail(
            err, WD_FAILED_PRECONDITION,
            "store %s belongs to uid %u, not to uid %u who opens it: run this "
            "as root, or as uid %u",
            dir, st.st_uid, geteuid(), st.st_uid);
    return WD_OK;
}

static wd_status check_fs(const wd_place *place, wd_error *err)
{
    uint64_t magic = 0;
    int failed = place->disk.type(place->disk.arg, place->dir, &magic);
    if (failed != 0)
        return wd_fail(err, WD_UNAVAILABLE, "statfs %s: %s", place->dir,
                       strerrordesc_np(failed));
    const char *name = wd_place_network_fs(magic);
    if (name != NULL)
        return wd_fail(
            err, WD_FAILED_PRECONDITION,
            "store %s lies on a network file system or one like it (%s), where "
            "SQLite's locks and syncs do not hold: set store.path to a local disk, "
            "such as /var/lib/warded/store",
            place->dir, name);
    return WD_OK;
}

/* --- files ------------------------------------------------------------------------ */

/* Root may work on a store of the gate's user: what it makes must stay that user's. */
static wd_status give_to_owner(const wd_place *place, int fd, wd_error *err)
{
    struct stat st;
    if (geteuid() != 0)
        return WD_OK;
    if (stat(place->dir, &st) != 0 || fchown(fd, st.st_uid, st.st_gid) != 0)
        return wd_fail(err, WD_UNAVAILABLE,
                       "could not give a file in %s to its owner: %s", place->dir,
                       strerrordesc_np(errno));
    return WD_OK;
}

static wd_status check_file(const char *path, int fd, wd_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
    if (!S_ISREG(st.st_mode))
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s is no regular file", path);
    if ((st.st_mode & OTHERS) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "%s can be read by others (mode %04o): chmod 0600 it", path,
                       st.st_mode & 07777);
    return WD_OK;
}

wd_status wd_place_file(const wd_place *place, const char *name, bool create,
                        int *ret_fd, wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    if (asprintf(&path, "%s/%s", place->dir, name) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (create ? O_CREAT : 0);
    WD_AUTO_FD int fd = open(path, flags, PRIVATE_FILE);
    if (fd < 0) {
        bool absent = errno == ENOENT;
        return wd_fail(err, absent ? WD_NOT_FOUND : WD_UNAVAILABLE,
                       "could not open %s: %s%s", path, strerrordesc_np(errno),
                       absent ? "; `warded init` makes a store"
                              : wd_rights_cure(errno));
    }
    WD_TRY(check_file(path, fd, err));
    WD_TRY(give_to_owner(place, fd, err));
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

/* --- the lock --------------------------------------------------------------------- */

static wd_status refuse_locked(const wd_place *place, int fd, wd_error *err)
{
    char holder[24] = "unknown";
    ssize_t size = pread(fd, holder, sizeof(holder) - 1, 0);
    if (size > 0)
        holder[size] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return wd_refuse(
        err, WD_REASON_CONFLICT,
        "store %s is in use by process %s (it holds %s/lock): if it is a "
        "gate, change the store through it, or stop it first; if it is another "
        "command, try again when that has ended",
        place->dir, holder, place->dir);
}

static wd_status take_lock(wd_place *place, wd_error *err)
{
    WD_AUTO_FD int fd = -1;
    WD_TRY(wd_place_file(place, "lock", true, &fd, err));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return refuse_locked(place, fd, err);
        return wd_fail(err, WD_UNAVAILABLE, "could not lock %s/lock: %s", place->dir,
                       strerrordesc_np(errno));
    }
    char pid[24];
    int size = snprintf(pid, sizeof(pid), "%d\n", getpid());
    /* Never empty once it was written: who is refused meanwhile reads whose it is. */
    if (pwrite(fd, pid, (size_t)size, 0) != size || ftruncate(fd, size) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "could not write %s/lock: %s", place->dir,
                       strerrordesc_np(errno));
    place->lock_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

/* --- the reserve ------------------------------------------------------------------ */

/* Nobody said how large: as large as it is, or the default. */
static uint64_t reserve_size(const wd_place *place)
{
    struct stat st;
    if (place->reserve_bytes != 0)
        return place->reserve_bytes;
    if (fstat(place->reserve_fd, &st) == 0 && st.st_size > 0)
        return (uint64_t)st.st_size;
    return WD_STORE_RESERVE_BYTES;
}

static wd_status make_reserve(wd_place *place, wd_error *err)
{
    WD_TRY(wd_place_file(place, "reserve", true, &place->reserve_fd, err));
    place->reserve_bytes = reserve_size(place);
    off_t size = (off_t)place->reserve_bytes;
    int failed = posix_fallocate(place->reserve_fd, 0, size);
    if (failed == 0 && ftruncate(place->reserve_fd, size) != 0)
        failed = errno;
    if (failed != 0)
        return wd_fail(
            err, WD_RESOURCE_EXHAUSTED,
            "could not set %llu bytes aside in %s/reserve: %s; free some space, "
            "or lower audit.reserve_bytes",
            (unsigned long long)place->reserve_bytes, place->dir,
            strerrordesc_np(failed));
    place->reserve_left = place->reserve_bytes;
    return WD_OK;
}

int wd_place_free(const wd_store_disk *disk, const char *dir, uint64_t *ret_bytes)
{
    return disk->free_bytes != NULL ? disk->free_bytes(disk->arg, dir, ret_bytes)
                                    : real_free_bytes(NULL, dir, ret_bytes);
}

bool wd_place_low(const wd_place *place)
{
    uint64_t bytes = 0;
    int failed = place->disk.free_bytes(place->disk.arg, place->dir, &bytes);
    return failed != 0 || bytes < place->reserve_bytes;
}

bool wd_place_broken(const wd_place *place)
{
    return place->reserve_left < place->reserve_bytes;
}

bool wd_place_shorten(wd_place *place)
{
    if (place->reserve_left == 0)
        return false;
    uint64_t left = place->reserve_left > WD_STORE_RESERVE_STEP
                        ? place->reserve_left - WD_STORE_RESERVE_STEP
                        : 0;
    if (ftruncate(place->reserve_fd, (off_t)left) != 0)
        return false;
    place->reserve_left = left;
    return true;
}

void wd_place_refill(wd_place *place)
{
    uint64_t missing = place->reserve_bytes - place->reserve_left;
    uint64_t bytes = 0;
    if (missing == 0 ||
        place->disk.free_bytes(place->disk.arg, place->dir, &bytes) != 0 ||
        bytes < missing || bytes - missing < place->reserve_bytes)
        return;
    if (posix_fallocate(place->reserve_fd, 0, (off_t)place->reserve_bytes) == 0)
        place->reserve_left = place->reserve_bytes;
}

/* --- all of it -------------------------------------------------------------------- */

static void init(wd_place *place, const wd_store_options *options)
{
    *place = (wd_place){
        .dir = strdup(options->dir),
        .lock_fd = -1,
        .reserve_fd = -1,
        .reserve_bytes = options->reserve_bytes,
        .disk = options->disk,
    };
    if (place->disk.type == NULL)
        place->disk.type = real_type;
    if (place->disk.free_bytes == NULL)
        place->disk.free_bytes = real_free_bytes;
}

wd_status wd_place_open(wd_place *place, const wd_store_options *options, wd_error *err)
{
    init(place, options);
    if (place->dir == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_TRY(make_dir(options, err));
    WD_TRY(check_dir(place->dir, err));
    WD_TRY(check_fs(place, err));
    WD_TRY(take_lock(place, err));
    return make_reserve(place, err);
}

void wd_place_close(wd_place *place)
{
    if (place->reserve_fd >= 0)
        (void)close(place->reserve_fd);
    if (place->lock_fd >= 0)
        (void)close(place->lock_fd);
    free(place->dir);
    *place = (wd_place){.lock_fd = -1, .reserve_fd = -1};
}
