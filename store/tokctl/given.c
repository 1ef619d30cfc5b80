#include "store/tokctl/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/c/cleanup.h"

#define TEXT_BYTES (1U << 20) /* of many certificates */

static wd_status could_not_read(const char *option, const char *path, wd_error *err)
{
    const int code = errno;
    wd_status status = code == ENOENT || code == ENOTDIR ? WD_NOT_FOUND
                       : code == EACCES || code == EPERM ? WD_PERMISSION_DENIED
                                                         : WD_INVALID_ARGUMENT;
    return wd_fail(err, status, "%s: could not read %.400s: %s", option, path,
                   strerrordesc_np(code));
}

static wd_status read_all(const char *option, const char *path, FILE *file,
                          char **ret_text, wd_error *err)
{
    WD_AUTO(wd_text) *text = malloc(TEXT_BYTES + 2);
    if (text == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "%s: no memory to read it", option);
    size_t size = fread(text, 1, TEXT_BYTES + 1, file);
    if (ferror(file) != 0)
        return could_not_read(option, path, err);
    text[size] = '\0';
    if (size > TEXT_BYTES || strlen(text) != size)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s: %.400s: not a text of at most %u bytes", option, path,
                       TEXT_BYTES);
    *ret_text = WD_STEAL(text);
    return WD_OK;
}

wd_status wd_given_text_read(const char *option, const char *path, char **ret_text,
                             wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return could_not_read(option, path, err);
    if (!S_ISREG(st.st_mode)) /* a device or a pipe may never end */
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s: %.400s: no regular file: copy it to one", option, path);
    WD_AUTO_FILE FILE *file = fdopen(fd, "r");
    if (file == NULL)
        return could_not_read(option, path, err);
    (void)WD_STEAL_FD(fd); /* the stream's now */
    return read_all(option, path, file, ret_text, err);
}
