#include "server/executor/cgroup_file.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES (4U << 20)

static int open_file(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC);
}

bool wd_cgroup_file_write(const char *folder, const char *name, const char *text)
{
    WD_AUTO_FD int fd = open_file(folder, name, O_WRONLY);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

bool wd_cgroup_file_read(const char *folder, const char *name, char *ret_text,
                         size_t size)
{
    WD_AUTO_FD int fd = open_file(folder, name, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, ret_text, size - 1) : -1;
    ret_text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

uint64_t wd_cgroup_file_number(const char *folder, const char *name, const char *key)
{
    char text[2048];
    if (!wd_cgroup_file_read(folder, name, text, sizeof(text)))
        return 0;
    if (key == NULL)
        return strtoull(text, NULL, 10);
    size_t size = strlen(key);
    for (const char *line = text; line != NULL;
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return strtoull(line + size, NULL, 10);
    return 0;
}

char *wd_cgroup_file_all(const char *path)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    WD_AUTO(wd_text) *text = fd >= 0 ? calloc(1, FILE_BYTES) : NULL;
    size_t used = 0;
    while (text != NULL && used < FILE_BYTES - 1) {
        ssize_t got = read(fd, text + used, FILE_BYTES - 1 - used);
        if (got < 0)
            return NULL;
        if (got == 0)
            return WD_STEAL(text);
        used += (size_t)got;
    }
    if (text != NULL)
        errno = EFBIG;
    return NULL;
}

bool wd_cgroup_file_dir(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}
