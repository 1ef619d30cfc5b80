#include "clients/c/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/tls/credentials.h"

static wd_stamp stamp_of(const struct stat *st)
{
    return (wd_stamp){
        /* Only compared: a file may be dated beyond what 64 bits hold. */
        .mtime_ns = (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000U +
                              (uint64_t)st->st_mtim.tv_nsec),
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

/* As the Python client says it (_files.py). */
static const char *cure_of(const char *path, int error)
{
    struct stat st;
    if (error == EACCES || error == EPERM)
        return "check its owner and its mode";
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return "this symbolic link leads to no file: point it at one or remove it";
    return error == ENOENT ? WD_HOW_TO_MAKE : "put a regular file there";
}

static wd_status refuse_open(const char *path, int error, wd_failure *why)
{
    wd_status status = WD_INVALID_ARGUMENT;
    if (error == EACCES || error == EPERM)
        status = WD_PERMISSION_DENIED;
    else if (error == ENOENT && wd_file_absent(path))
        status = WD_NOT_FOUND;
    return wd_failure_plain(why, WD_PHASE_PROFILE, status, "%.300s: %s; %s", path,
                            strerrordesc_np(error), cure_of(path, error));
}

static wd_status refuse_kind(const char *path, wd_failure *why)
{
    return wd_failure_plain(why, WD_PHASE_PROFILE, WD_INVALID_ARGUMENT,
                            "%.300s: no regular file; %s", path, cure_of(path, EINVAL));
}

static wd_status open_file(const char *path, FILE **ret, wd_failure *why)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return refuse_open(path, errno, why);
    if (!S_ISREG(st.st_mode))
        return refuse_kind(path, why);
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
                                "%.300s: not a text of at most %u bytes; put the "
                                "right file there",
                                path, WD_PROFILE_FILE_BYTES);
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        memmove(text, text + 3, size - 2);
    *ret = realloc(WD_STEAL(text), size + 1); /* shrinks: stays where it is */
    return WD_OK;
}

wd_status wd_secret_look(const char *path, wd_failure *why)
{
    struct stat st;
    wd_error err = {0};
    if (stat(path, &st) != 0)
        return refuse_open(path, errno, why);
    if (!S_ISREG(st.st_mode))
        return refuse_kind(path, why);
    if (wd_secret_file_check(path, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_PROFILE, NULL, &err);
    return WD_OK;
}

wd_status wd_secret_text_read(const char *path, char **ret, wd_failure *why)
{
    WD_TRY(wd_secret_look(path, why));
    return wd_text_file_read(path, ret, why);
}
