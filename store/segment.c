#include "store/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/gentle_sync.h"

#define NUMBER_DIGITS 18U /* of a seq in a name */

void wd_segments_done(wd_segments *segments)
{
    free(segments->list);
    *segments = (wd_segments){0};
}

char *wd_segment_file(const char *dir, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/" WD_SEGMENT_FOLDER "%s%s", dir, name[0] != '\0' ? "/" : "",
                 name) < 0)
        return NULL;
    return path;
}

char *wd_segment_path(const char *dir, const wd_segment *segment)
{
    char name[64];
    (void)snprintf(
        name, sizeof(name), "%llu-%llu.%s", (unsigned long long)segment->first,
        (unsigned long long)segment->last, segment->kept_only ? "kept" : "db");
    return wd_segment_file(dir, name);
}

/* --- the list --------------------------------------------------------------------- */

/* A decimal number without leading zeros; *at is moved behind it. */
static bool take_number(const char **at, uint64_t *ret_number)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > NUMBER_DIGITS || **at == '0')
        return false;
    *ret_number = strtoull(*at, NULL, 10);
    *at += digits;
    return true;
}

/* Whether a name is a segment's: others are not ours to judge. */
static bool parse_name(const char *name, wd_segment *ret)
{
    const char *at = name;
    if (!take_number(&at, &ret->first) || *at != '-')
        return false;
    at++;
    if (!take_number(&at, &ret->last) || ret->last < ret->first)
        return false;
    ret->kept_only = strcmp(at, ".kept") == 0;
    return ret->kept_only || strcmp(at, ".db") == 0;
}

static wd_status add(wd_segments *all, const wd_segment *one, wd_error *err)
{
    wd_segment *list = reallocarray(all->list, all->n + 1, sizeof(*list));
    if (list == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for %zu segments", all->n);
    all->list = list;
    all->list[all->n++] = *one;
    return WD_OK;
}

static int by_first(const void *a, const void *b)
{
    const wd_segment *left = a;
    const wd_segment *right = b;
    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return (int)left->kept_only - (int)right->kept_only;
}

/* Of a segment that is there twice the one that counts; a whole one that was pruned is
 * about to go. */
static void drop_doubles(wd_segments *all, uint64_t pruned)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const wd_segment *one = &all->list[i];
        bool again = i + 1 < all->n && all->list[i + 1].first == one->first;
        bool before = n > 0 && all->list[n - 1].first == one->first;
        if (before || (again && one->last <= pruned))
            continue;
        all->list[n++] = *one;
    }
    all->n = n;
}

static void auto_dir(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

static wd_status read_folder(const char *path, wd_segments *all, wd_error *err)
{
    __attribute__((cleanup(auto_dir))) DIR *dir = opendir(path);
    if (dir == NULL && errno == ENOENT)
        return WD_OK;
    if (dir == NULL)
        return wd_fail(err, WD_UNAVAILABLE, "could not read %s: %s", path,
                       strerrordesc_np(errno));
    const struct dirent *entry = NULL;
    wd_segment one;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    while ((entry = readdir(dir)) != NULL) {
        if (parse_name(entry->d_name, &one))
            WD_TRY(add(all, &one, err));
    }
    return WD_OK;
}

wd_status wd_segments_find(const char *dir, uint64_t pruned, wd_segments *ret_segments,
                           wd_error *err)
{
    WD_AUTO(wd_text) *path = wd_segment_file(dir, "");
    WD_AUTO_SEGMENTS all = {0};
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_TRY(read_folder(path, &all, err));
    if (all.n > 0)
        qsort(all.list, all.n, sizeof(wd_segment), by_first);
    drop_doubles(&all, pruned);
    *ret_segments = (wd_segments){WD_STEAL(all.list), all.n};
    return WD_OK;
}

/* --- files ------------------------------------------------------------------------ */

wd_status wd_segment_open(const char *dir, const wd_segment *segment, const char *vfs,
                          sqlite3 **ret_db, wd_error *err)
{
    WD_AUTO(wd_text) *path = wd_segment_path(dir, segment);
    WD_AUTO(sqlite3) *db = NULL;
    int64_t rows = 0;
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return wd_fail(err, WD_NOT_FOUND, "segment %s is gone", path);
    WD_TRY(wd_sql_open(path, SQLITE_OPEN_READONLY, vfs, &db, err));
    wd_error cause;
    if (wd_sql_exec(db, "PRAGMA query_only = 1", &cause) != WD_OK ||
        wd_sql_number(db, "SELECT 1 FROM meta", &rows, &cause) != WD_OK)
        return wd_fail(err, cause.status == WD_INTERNAL ? WD_DATA_LOSS : cause.status,
                       "segment %s: %s", path, cause.msg);
    *ret_db = WD_STEAL(db);
    return WD_OK;
}

wd_status wd_segment_file_make(const char *dir, const char *path, wd_error *err)
{
    struct stat st;
    (void)unlink(path);
    WD_AUTO_FD int fd =
        open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || (geteuid() == 0 &&
                   (stat(dir, &st) != 0 || fchown(fd, st.st_uid, st.st_gid) != 0)))
        return wd_fail(err, WD_UNAVAILABLE, "could not make %s: %s", path,
                       strerrordesc_np(errno));
    return WD_OK;
}

wd_status wd_segment_name(const char *dir, const char *path, const wd_segment *segment,
                          wd_error *err)
{
    WD_AUTO(wd_text) *final = wd_segment_path(dir, segment);
    WD_AUTO(wd_text) *folder = wd_segment_file(dir, "");
    if (final == NULL || folder == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    if (chmod(path, 0400) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "chmod %s: %s", path,
                       strerrordesc_np(errno));
    WD_TRY(wd_segment_sync(path, err));
    if (rename(path, final) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "could not name %s: %s", final,
                       strerrordesc_np(errno));
    return wd_segment_sync(folder, err);
}

/* The whole file of a segment of which there is what is kept. */
static wd_status tidy_one(const char *dir, const wd_segment *whole, wd_error *err)
{
    const wd_segment rest = {whole->first, whole->last, true};
    WD_AUTO(wd_text) *path = wd_segment_path(dir, whole);
    WD_AUTO(wd_text) *kept = wd_segment_path(dir, &rest);
    if (path == NULL || kept == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    if (access(kept, F_OK) == 0 && unlink(path) != 0 && errno != ENOENT)
        return wd_fail(err, WD_UNAVAILABLE, "could not remove %s: %s", path,
                       strerrordesc_np(errno));
    return WD_OK;
}

wd_status wd_segments_tidy(const char *dir, uint64_t pruned, wd_error *err)
{
    WD_AUTO(wd_text) *folder = wd_segment_file(dir, "");
    WD_AUTO_SEGMENTS all = {0};
    if (folder == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_TRY(read_folder(folder, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        if (!all.list[i].kept_only && all.list[i].last <= pruned)
            WD_TRY(tidy_one(dir, &all.list[i], err));
    }
    return WD_OK;
}

wd_status wd_segment_sync(const char *path, wd_error *err)
{
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || wd_gentle_sync(fd) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "could not sync %s: %s", path,
                       strerrordesc_np(errno));
    return WD_OK;
}

wd_status wd_segment_folder(const char *dir, wd_error *err)
{
    WD_AUTO(wd_text) *path = wd_segment_file(dir, "");
    struct stat st;
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        return wd_fail(err, WD_UNAVAILABLE, "could not make %s: %s", path,
                       strerrordesc_np(errno));
    if (made && geteuid() == 0 &&
        (stat(dir, &st) != 0 || chown(path, st.st_uid, st.st_gid) != 0))
        return wd_fail(err, WD_UNAVAILABLE, "could not give %s to its owner: %s", path,
                       strerrordesc_np(errno));
    return WD_OK;
}
