/* cgroup_find.c - where the controllers are mounted, and which folder there is ours. */
#include "server/executor/cgroup.h"
#include "server/executor/cgroup_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes of ours that stood in a v2 cgroup which now has leaves. */
#define MAIN_CHILD "/warded-main"

static const char *const names[WD_CGROUP_CONTROLLERS] = {"memory", "pids", "cpu",
                                                         "cpuacct"};

/* Whether `word` is one of the comma- or space-separated words of `list`. */
static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += size) {
        bool starts = at == list || at[-1] == ',' || at[-1] == ' ';
        bool ends =
            at[size] == '\0' || at[size] == ',' || at[size] == ' ' || at[size] == '\n';
        if (starts && ends)
            return true;
    }
    return false;
}

typedef struct mount_line {
    char root[PATH_MAX];
    char point[PATH_MAX];
    char options[256];
} mount_line;

/* The first mount of `type` whose super-block options name `controller` (NULL: any). */
static bool find_mount(const char *mountinfo, const char *type, const char *controller,
                       mount_line *ret)
{
    for (const char *line = mountinfo; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        char found[32];
        const char *end = strchr(line, '\n');
        const char *dash = strstr(line, " - ");
        if (dash == NULL || (end != NULL && dash > end))
            continue;
        if (sscanf(line, "%*d %*d %*s %4095s %4095s", ret->root, ret->point) != 2 ||
            sscanf(dash, " - %31s %*s %255s", found, ret->options) != 2)
            continue;
        if (strcmp(found, type) == 0 &&
            (controller == NULL || has_word(ret->options, controller)))
            return true;
    }
    return false;
}

/* The path of "ID:CONTROLLERS:PATH" with that controller; "" names v2's line. */
static bool find_path(const char *self, const char *controller, char ret[PATH_MAX])
{
    for (const char *line = self; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        char list[256] = "";
        const char *colon = strchr(line, ':');
        const char *path = colon != NULL ? strchr(colon + 1, ':') : NULL;
        if (path == NULL || path - colon > (long)sizeof(list))
            continue;
        memcpy(list, colon + 1, (size_t)(path - colon - 1));
        bool is_v2 = list[0] == '\0';
        if (controller[0] == '\0' ? !is_v2 : !has_word(list, controller))
            continue;
        return sscanf(path + 1, "%4095[^\n]", ret) == 1;
    }
    return false;
}

static void strip_end(char *path, const char *end)
{
    size_t size = strlen(path);
    size_t tail = strlen(end);
    if (size >= tail && strcmp(path + size - tail, end) == 0)
        path[size - tail] = '\0';
}

/* The folder of cgroup `path` under a mount that shows the hierarchy from `root` on. */
static char *folder_of(const mount_line *mount, const char *path)
{
    const char *below = path;
    size_t root_size = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(path, mount->root, root_size) == 0)
        below = path + root_size;
    else
        below = ""; /* a cgroup namespace: the mount's top is where we are */
    char *folder = NULL;
    if (asprintf(&folder, "%s%s", mount->point, strcmp(below, "/") == 0 ? "" : below) <
        0)
        return NULL;
    strip_end(folder, MAIN_CHILD);
    return folder;
}

wd_status wd_cgroup_parse(wd_cgroup_tree *ret_tree, const char *mountinfo,
                          const char *self, wd_error *err)
{
    memset(ret_tree, 0, sizeof(*ret_tree));
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        mount_line mount;
        char path[PATH_MAX];
        bool v1 = find_mount(mountinfo, "cgroup", names[i], &mount) &&
                  find_path(self, names[i], path);
        bool v2 = !v1 && find_mount(mountinfo, "cgroup2", NULL, &mount) &&
                  find_path(self, "", path);
        if (!v1 && !v2)
            continue;
        ret_tree->v2[i] = v2;
        ret_tree->parent[i] = folder_of(&mount, path);
        if (ret_tree->parent[i] == NULL) {
            wd_cgroup_tree_done(ret_tree);
            return wd_fail(err, WD_INTERNAL, "out of memory");
        }
    }
    return WD_OK;
}

void wd_cgroup_tree_done(wd_cgroup_tree *tree)
{
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++)
        free(tree->parent[i]);
    memset(tree, 0, sizeof(*tree));
}

/* v2 shows the same folder for all; only what it controls counts. */
static void drop_absent(wd_cgroup_tree *tree)
{
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        char list[512];
        if (tree->parent[i] == NULL || !tree->v2[i] || i == WD_CGROUP_CPUACCT)
            continue;
        if (wd_cgroup_file_read(tree->parent[i], "cgroup.controllers", list,
                                sizeof(list)) &&
            has_word(list, names[i]))
            continue;
        free(tree->parent[i]);
        tree->parent[i] = NULL;
    }
}

wd_status wd_cgroup_find(wd_cgroup_tree *ret_tree, wd_error *err)
{
    WD_AUTO(wd_text) *mountinfo = wd_cgroup_file_all("/proc/self/mountinfo");
    WD_AUTO(wd_text) *self = wd_cgroup_file_all("/proc/self/cgroup");
    if (mountinfo == NULL || self == NULL)
        return wd_fail(err, WD_INTERNAL, "read /proc/self/mountinfo and cgroup: %s",
                       strerror(errno));
    WD_TRY(wd_cgroup_parse(ret_tree, mountinfo, self, err));
    drop_absent(ret_tree);
    return WD_OK;
}

/* --- v2: hand the controllers down ------------------------------------------------- */

static bool enable_one(const char *parent, const char *name)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "+%s", name);
    return wd_cgroup_file_write(parent, "cgroup.subtree_control", text);
}

/* cgroup-v2.rst, "No Internal Process Constraint". */
static bool move_processes(const char *parent)
{
    char child[PATH_MAX];
    (void)snprintf(child, sizeof(child), "%s%s", parent, MAIN_CHILD);
    if (!wd_cgroup_file_dir(child))
        return false;
    WD_AUTO(wd_text) *list = NULL;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", parent);
    list = wd_cgroup_file_all(path);
    char *rest = NULL;
    for (char *pid = list != NULL ? strtok_r(list, "\n", &rest) : NULL; pid != NULL;
         pid = strtok_r(NULL, "\n", &rest))
        if (!wd_cgroup_file_write(child, "cgroup.procs", pid) && errno != ESRCH)
            return false;
    return list != NULL;
}

wd_status wd_cgroup_enable(const wd_cgroup_tree *tree, wd_error *err)
{
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        const char *parent = tree->parent[i];
        if (parent == NULL || !tree->v2[i] || i == WD_CGROUP_CPUACCT)
            continue;
        bool ok = enable_one(parent, names[i]);
        if (!ok && errno == EBUSY)
            ok = move_processes(parent) && enable_one(parent, names[i]);
        if (!ok)
            return wd_fail(err, WD_UNAVAILABLE,
                           "cgroup-%s: write +%s to %s/cgroup.subtree_control: %s",
                           names[i], names[i], parent, strerror(errno));
    }
    return WD_OK;
}

bool wd_cgroup_enabled(const wd_cgroup_tree *tree)
{
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        char list[512];
        if (tree->parent[i] == NULL || !tree->v2[i] || i == WD_CGROUP_CPUACCT)
            continue;
        if (!wd_cgroup_file_read(tree->parent[i], "cgroup.subtree_control", list,
                                 sizeof(list)) ||
            !has_word(list, names[i]))
            return false;
    }
    return true;
}
