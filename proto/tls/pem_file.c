#include "proto/tls/pem_file.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/platform_util.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/tls/credentials.h"

enum { FILE_BYTES = 1 << 20 };

static wd_status fail_errno(wd_error *err, const char *verb, const char *path)
{
    int why = errno;
    wd_status status = WD_RESOURCE_EXHAUSTED;

    if (why == ENOENT || why == ENOTDIR)
        status = WD_NOT_FOUND;
    if (why == EACCES || why == EPERM || why == EROFS)
        status = WD_PERMISSION_DENIED;
    if (why == EEXIST || why == ELOOP)
        status = WD_FAILED_PRECONDITION;
    return wd_fail(err, status, "cannot %s %s: %s%s", verb, path, strerrordesc_np(why),
                   wd_rights_cure(why));
}

void wd_secret_text_free(char *text)
{
    if (text != NULL)
        mbedtls_platform_zeroize(text, strlen(text));
    free(text);
}

static ssize_t read_all(int fd, char *buffer, size_t room)
{
    size_t have = 0;

    while (have < room) {
        ssize_t n = read(fd, buffer + have, room - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* `size` bytes of a file into `text`, which has room for a NUL more. */
static wd_status read_text(int fd, char *text, size_t size, const char *path,
                           wd_error *err)
{
    ssize_t n = read_all(fd, text, size);

    if (n < 0)
        return fail_errno(err, "read", path);
    if (memchr(text, 0, (size_t)n) != NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s is no text", path);
    return WD_OK;
}

static const char *kind_of(const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return "a folder";
    if (S_ISFIFO(st->st_mode))
        return "a pipe";
    return S_ISSOCK(st->st_mode) ? "a socket" : "a device";
}

wd_status wd_pem_file_read(const char *path, char **ret, wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    wd_status status;
    char *text;

    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_errno(err, "read", path);
    if (!S_ISREG(st.st_mode))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s is %s; put a regular file there, in PEM", path,
                       kind_of(&st));
    if (st.st_size >= FILE_BYTES)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "%s has %lld bytes, where less than 1 MiB is read; put the right "
            "file there",
            path, (long long)st.st_size);
    text = calloc(1, (size_t)st.st_size + 1);
    if (text == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for %s", path);
    status = read_text(fd, text, (size_t)st.st_size, path, err);
    if (status == WD_OK)
        *ret = text;
    else
        wd_secret_text_free(text);
    return status;
}

static bool write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

wd_status wd_pem_file_write(const char *path, bool secret, const char *text,
                            wd_error *err)
{
    const mode_t mode = secret ? 0600 : 0644;
    WD_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    wd_status status;

    if (fd < 0)
        return fail_errno(err, "create", path);
    if (fchmod(fd, mode) == 0 && write_all(fd, text, strlen(text)) && fsync(fd) == 0)
        return WD_OK;
    status = fail_errno(err, "write", path);
    (void)unlink(path);
    return status;
}

wd_status wd_secret_file_check(const char *path, wd_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return fail_errno(err, "read", path);
    if (!S_ISREG(st.st_mode))
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s is no regular file", path);
    if ((st.st_mode & 0007) != 0 || (st.st_mode & 0020) != 0 ||
        ((st.st_mode & 0070) != 0 && st.st_uid != 0))
        return wd_fail(err, WD_PERMISSION_DENIED,
                       "%s: mode %04o lets others at a secret (a group may read it "
                       "where root owns it); chmod 600 %s",
                       path, (unsigned)(st.st_mode & 07777), path);
    return WD_OK;
}
