#include "server/executor/uids.h"

#include "proto/c/cleanup.h"
#include "server/executor/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NSS_BYTES 16384

/* A number, after blanks; *ret_end is behind it. */
static bool parse_number(const char *text, uint64_t *ret_number, char **ret_end)
{
    *ret_number = strtoull(text, ret_end, 10);
    return *ret_end != text;
}

static bool overlaps(wd_uid_range range, uint64_t first, uint64_t count)
{
    return first < range.base + range.count && range.base < first + count;
}

bool wd_uids_mapped(wd_uid_range range, const char *map)
{
    for (const char *line = map; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        uint64_t first = 0;
        uint64_t count = 0;
        char *at = NULL;
        if (parse_number(line, &first, &at) && parse_number(at, &count, &at) &&
            parse_number(at, &count, &at) && first <= range.base &&
            range.base + range.count <= first + count)
            return true;
    }
    return false;
}

const char *wd_uids_subid_owner(wd_uid_range range, char *text, const char *owner)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        uint64_t first = 0;
        uint64_t count = 0;
        char *at = NULL;
        char *colon = strchr(line, ':');
        if (colon == NULL || !parse_number(colon + 1, &first, &at) || *at != ':' ||
            !parse_number(at + 1, &count, &at))
            continue;
        *colon = '\0';
        if (strcmp(line, owner) == 0 || strcmp(line, "root") == 0)
            continue;
        if (overlaps(range, first, count))
            return line;
    }
    return NULL;
}

static wd_status check_maps(wd_uid_range range, wd_error *err)
{
    static const char *const files[] = {"/proc/self/uid_map", "/proc/self/gid_map"};
    for (size_t i = 0; i < 2; i++) {
        WD_AUTO(wd_text) *map = wd_cgroup_file_all(files[i]);
        if (map == NULL || !wd_uids_mapped(range, map))
            return wd_fail(err, WD_UNAVAILABLE,
                           "uid-range: %s does not offer %llu..%llu", files[i],
                           (unsigned long long)range.base,
                           (unsigned long long)(range.base + range.count - 1));
    }
    return WD_OK;
}

static wd_status check_subids(wd_uid_range range, const char *owner, wd_error *err)
{
    static const char *const files[] = {"/etc/subuid", "/etc/subgid"};
    for (size_t i = 0; i < 2; i++) {
        WD_AUTO(wd_text) *text = wd_cgroup_file_all(files[i]);
        const char *other =
            text != NULL ? wd_uids_subid_owner(range, text, owner) : NULL;
        if (other != NULL)
            return wd_fail(err, WD_UNAVAILABLE,
                           "uid-range: %s gives some of %llu..%llu to %s", files[i],
                           (unsigned long long)range.base,
                           (unsigned long long)(range.base + range.count - 1), other);
    }
    return WD_OK;
}

static wd_status check_id(uint64_t id, wd_error *err)
{
    char space[NSS_BYTES];
    struct passwd account;
    struct passwd *found = NULL;
    struct group group;
    struct group *found_group = NULL;
    (void)getpwuid_r((uid_t)id, &account, space, sizeof(space), &found);
    if (found != NULL)
        return wd_fail(err, WD_UNAVAILABLE, "uid-range: %llu is the account %s",
                       (unsigned long long)id, found->pw_name);
    (void)getgrgid_r((gid_t)id, &group, space, sizeof(space), &found_group);
    if (found_group != NULL)
        return wd_fail(err, WD_UNAVAILABLE, "uid-range: %llu is the group %s",
                       (unsigned long long)id, found_group->gr_name);
    return WD_OK;
}

wd_status wd_uids_check(wd_uid_range range, const char *owner, wd_error *err)
{
    WD_TRY(check_maps(range, err));
    WD_TRY(check_subids(range, owner, err));
    for (uint64_t i = 0; i < range.count; i++)
        WD_TRY(check_id(range.base + i, err));
    return WD_OK;
}

/* --- claim --------------------------------------------------------------------------- */

static struct flock lock_of(wd_uid_range range, short type)
{
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)range.base,
                          .l_len = (off_t)range.count};
}

/* The file can't be opened for writing, so all locks are shared ones, which never
 * conflict: each claimant sets its own and then asks who else could be in the way of a
 * lock for writing. Of two at once, one or both are refused. */
wd_status wd_uids_claim(wd_uid_range range, int *ret_fd, wd_error *err)
{
    WD_AUTO_FD int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    struct flock own = lock_of(range, F_RDLCK);
    struct flock other = lock_of(range, F_WRLCK);
    if (fd < 0 || fcntl(fd, F_SETLK, &own) != 0 || fcntl(fd, F_GETLK, &other) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "uid-range: lock /proc/self/ns/user: %s",
                       strerror(errno));
    if (other.l_type != F_UNLCK)
        return wd_fail(err, WD_UNAVAILABLE,
                       "uid-range: %llu..%llu: process %d runs slots under some of "
                       "these ids; give one of the two another sandbox.uid_base",
                       (unsigned long long)range.base,
                       (unsigned long long)(range.base + range.count - 1),
                       (int)other.l_pid);
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}
