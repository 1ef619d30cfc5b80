#include "server/places.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

typedef struct place {
    size_t offset; /* of the char * in wd_places */
    const char *system;
    const char *under_home;
} place;

static const place places_table[] = {
    {offsetof(wd_places, config_file), "/etc/warded/warded.yaml", "warded.yaml"},
    {offsetof(wd_places, state_dir), "/var/lib/warded", "state"},
    {offsetof(wd_places, ca_dir), "/var/lib/warded/ca", "state/ca"},
    {offsetof(wd_places, gate_dir), "/var/lib/warded/gate", "state/gate"},
    {offsetof(wd_places, store_dir), "/var/lib/warded/store", "state/store"},
    {offsetof(wd_places, run_dir), "/run/warded", "run"},
    {offsetof(wd_places, profile_dir), "/etc/warded/profile", "profile"},
};
#define N_PLACES (sizeof(places_table) / sizeof(places_table[0]))

static void set_place(wd_places *places, const place *p, char *path)
{
    memcpy((char *)places + p->offset, &path, sizeof(path));
}

static char *get_place(const wd_places *places, const place *p)
{
    char *path = NULL;
    memcpy(&path, (const char *)places + p->offset, sizeof(path));
    return path;
}

char *wd_path_join(const char *dir, const char *name)
{
    char *path = NULL;
    const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", dir, slash, name) < 0 ? NULL : path;
}

static wd_status absolute(const char *path, char **ret_path, wd_error *err)
{
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_MAX / 2)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "--home: the name of a folder, 1 to %d bytes", PATH_MAX / 2 - 1);
    for (const char *at = path; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "--home: a name with a control character in it, which no "
                           "file of settings and no log can hold; name another");
    WD_AUTO(wd_text) *cwd = path[0] == '/' ? strdup("/") : getcwd(NULL, 0);
    WD_AUTO(wd_text) *joined = NULL;
    if (cwd != NULL)
        joined = path[0] == '/' ? strdup(path) : wd_path_join(cwd, path);
    if (joined == NULL)
        return wd_fail(err, WD_INTERNAL, "--home %s: %s", path, strerror(errno));
    for (size_t n = strlen(joined); n > 1 && joined[n - 1] == '/'; n--)
        joined[n - 1] = '\0';
    *ret_path = WD_STEAL(joined);
    return WD_OK;
}

wd_status wd_places_init(wd_places *places, const char *home, wd_error *err)
{
    memset(places, 0, sizeof(*places));
    if (home != NULL)
        WD_TRY(absolute(home, &places->home, err));
    for (size_t i = 0; i < N_PLACES; i++) {
        const place *p = &places_table[i];
        char *path = places->home != NULL ? wd_path_join(places->home, p->under_home)
                                          : strdup(p->system);
        set_place(places, p, path);
        if (path == NULL) {
            wd_places_done(places);
            return wd_fail(err, WD_INTERNAL, "out of memory");
        }
    }
    return WD_OK;
}

void wd_places_done(wd_places *places)
{
    for (size_t i = 0; i < N_PLACES; i++)
        free(get_place(places, &places_table[i]));
    free(places->home);
    memset(places, 0, sizeof(*places));
}

static bool may_traverse(const char *dir, unsigned uid, unsigned gid)
{
    struct stat st;
    if (stat(dir, &st) != 0)
        return errno == ENOENT; /* not there yet: nothing to say */
    if (uid == 0)
        return true;
    if (st.st_uid == uid)
        return (st.st_mode & S_IXUSR) != 0;
    if (st.st_gid == gid)
        return (st.st_mode & S_IXGRP) != 0;
    return (st.st_mode & S_IXOTH) != 0;
}

char *wd_path_blocked(const char *path, unsigned uid, unsigned gid)
{
    WD_AUTO(wd_text) *dir = strdup(path);
    for (char *slash = dir;
         slash != NULL && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        if (!may_traverse(dir, uid, gid))
            return WD_STEAL(dir);
        *slash = '/';
    }
    return NULL;
}
