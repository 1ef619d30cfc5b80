#include "server/files.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wd_status system_failure(const char *path, wd_error *err)
{
    int why = errno;
    switch (why) {
    case EEXIST:
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "%s is there already; nothing was overwritten", path);
    case ENOENT:
    case ENOTDIR:
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerror(why));
    case ENOSPC:
    case EDQUOT:
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "%s: %s", path, strerror(why));
    default:
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s%s", path, strerror(why),
                       wd_rights_cure(why));
    }
}

/* By descriptor, so that nobody can slip another file in between. */
static wd_status set_owner(int fd, const char *path, mode_t mode, wd_owner owner,
                           wd_error *err)
{
    bool give = owner.uid != (uid_t)-1 || owner.gid != (gid_t)-1;
    if (give && fchown(fd, owner.uid, owner.gid) != 0)
        return system_failure(path, err);
    if (fchmod(fd, mode) != 0)
        return system_failure(path, err);
    return WD_OK;
}

static wd_status own_folder(const char *path, mode_t mode, wd_owner owner,
                            wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return system_failure(path, err);
    return set_owner(fd, path, mode, owner, err);
}

wd_status wd_make_folder(const char *path, mode_t mode, wd_owner owner, wd_error *err)
{
    if (mkdir(path, 0700) != 0)
        return system_failure(path, err);
    return own_folder(path, mode, owner, err);
}

wd_status wd_ensure_folder(const char *path, mode_t mode, wd_owner owner, wd_error *err)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return system_failure(path, err);
    return own_folder(path, mode, owner, err);
}

static bool write_all(int fd, wd_span content)
{
    while (content.size > 0) {
        ssize_t written = write(fd, content.data, content.size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        content.data += written;
        content.size -= (size_t)written;
    }
    return fsync(fd) == 0;
}

wd_status wd_write_new(const char *path, wd_span content, mode_t mode, wd_owner owner,
                       wd_error *err)
{
    WD_AUTO_FD int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return system_failure(path, err);
    wd_status status = write_all(fd, content) ? set_owner(fd, path, mode, owner, err)
                                              : system_failure(path, err);
    if (status != WD_OK)
        (void)unlink(path);
    return status;
}

bool wd_read_text(const char *path, char *out, size_t size)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, out, size) : -1;
    if (got < 0 || (size_t)got >= size)
        return false;
    out[got] = '\0';
    return true;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void wd_remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

wd_status wd_act_as(uid_t uid, gid_t gid, wd_error *err)
{
    if (getuid() != 0)
        return WD_OK;
    if (setegid(gid) != 0 || seteuid(uid) != 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "act as uid %u: %s", (unsigned)uid,
                       strerror(errno));
    return WD_OK;
}

void wd_act_as_self(void)
{
    /* Back to root cannot fail for a process whose real uid is root. */
    WD_ASSERT(getuid() != 0 || (seteuid(0) == 0 && setegid(0) == 0));
}
