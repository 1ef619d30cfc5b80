#include "clients/c/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/c/cleanup.h"

wd_stamp wd_stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return (wd_stamp){0};
    return (wd_stamp){
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        .size = st.st_size,
        .inode = st.st_ino,
        .device = st.st_dev,
    };
}

bool wd_stamp_equal(const wd_stamp *a, const wd_stamp *b)
{
    return a->mtime_ns == b->mtime_ns && a->size == b->size && a->inode == b->inode &&
           a->device == b->device;
}

static wd_status refuse_open(const char *path, int error, wd_failure *why)
{
    if (error == ENOENT)
        return wd_failure_plain(why, WD_PHASE_PROFILE, WD_NOT_FOUND,
                                "%.300s: %s; make a profile with `warded profile new "
                                "NAME --scope ... --out DIR`",
                                path, strerrordesc_np(error));
    return wd_failure_plain(why, WD_PHASE_PROFILE, WD_PERMISSION_DENIED,
                            "%.300s: %s; check its owner and its mode", path,
                            strerrordesc_np(error));
}

wd_status wd_text_file_read(const char *path, char **ret, wd_failure *why)
{
    WD_AUTO_FILE FILE *file = fopen(path, "re");
    if (file == NULL)
        return refuse_open(path, errno, why);
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
