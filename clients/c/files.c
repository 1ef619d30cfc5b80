#include "clients/c/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/c/cleanup.h"

static wd_stamp stamp_of(const struct stat *st)
{
    return (wd_stamp){
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .size = st->st_size,
        .inode = st->st_ino,
        .device = st->st_dev,
    };
}

wd_stamp wd_stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 || lstat(path, &st) == 0)
        return stamp_of(&st);
    return (wd_stamp){.size = errno == ENOENT ? 0 : -errno};
}

bool wd_file_absent(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

bool wd_stamp_equal(const wd_stamp *a, const wd_stamp *b)
{
    return a->mtime_ns == b->mtime_ns && a->size == b->size && a->inode == b->inode &&
           a->device == b->device;
}

static wd_status refuse_open(const char *path, int error, wd_failure *why)
{
    if (error == EACCES || error == EPERM)
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_PERMISSION_DENIED,
                                "%.300s: %s; check its owner and its mode", path,
                                strerrordesc_np(error));
    if (error == ENOENT && wd_file_absent(path))
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_NOT_FOUND,
                                "%.300s: %s; make a profile with `warded profile new "
                                "NAME --scope ... --out DIR`",
                                path, strerrordesc_np(error));
    return wd_failure_plain(why, WD_PHASE_PROFILE, WD_INVALID_ARGUMENT,
                            "%.300s: %s; it must be a regular file, or a link to one",
                            path, strerrordesc_np(error));
}

static wd_status open_file(const char *path, FILE **ret, wd_failure *why)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return refuse_open(path, errno, why);
    if (!S_ISREG(st.st_mode))
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_INVALID_ARGUMENT,
                                "%.300s is no regular file; put one there", path);
    *ret = fdopen(fd, "r");
    if (*ret == NULL)
        return refuse_open(path, errno, why);
    (void)WD_STEAL_FD(fd); /* the stream's now */
    return WD_OK;
}

wd_status wd_text_file_read(const char *path, char **ret, wd_failure *why)
{
    WD_AUTO_FILE FILE *file = NULL;
    WD_TRY(open_file(path, &file, why));
    WD_AUTO(wd_text) *text = malloc(WD_PROFILE_FILE_BYTES + 2);
    if (text == NULL)
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_RESOURCE_EXHAUSTED,
                                "%.300s: no memory to read it", path);
    size_t size = fread(text, 1, WD_PROFILE_FILE_BYTES + 1, file);
    if (ferror(file) != 0)
        return refuse_open(path, errno, why);
    text[size] = '\0';
    if (size > WD_PROFILE_FILE_BYTES || strlen(text) != size)
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_INVALID_ARGUMENT,
                                "%.300s: not a text of at most %u bytes", path,
                                WD_PROFILE_FILE_BYTES);
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        memmove(text, text + 3, size - 2);
    *ret = realloc(WD_STEAL(text), size + 1); /* shrinks: stays where it is */
    return WD_OK;
}
