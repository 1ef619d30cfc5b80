#include "server/executor/cgroup.h"

#include "proto/c/process.h"
#include "server/executor/cgroup_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "warded-"
/* A leaf's share of the processors once its action has had its first go; the default,
 * with which it starts, is 1024 and 100. */
#define CPU_SHARES "512"
#define CPU_WEIGHT "50"
/* The kernel's most: of one that is being killed. */
#define CPU_SHARES_MOST "262144"
#define CPU_WEIGHT_MOST "10000"
/* warded-slot and the slot's init stand in the leaf as well. */
#define OWN_PROCESSES 2

/* --- names ------------------------------------------------------------------------- */

static void folder_of(const wd_cgroup *cgroup, unsigned controller, char ret[PATH_MAX])
{
    (void)snprintf(ret, PATH_MAX, "%s/%s", cgroup->tree->parent[controller],
                   cgroup->name);
}

/* Whether an earlier controller has the same folder: v2, or "cpu,cpuacct". */
static bool seen_before(const wd_cgroup_tree *tree, unsigned controller)
{
    for (unsigned i = 0; i < controller; i++)
        if (tree->parent[i] != NULL &&
            strcmp(tree->parent[i], tree->parent[controller]) == 0)
            return true;
    return false;
}

static bool distinct(const wd_cgroup_tree *tree, unsigned controller)
{
    return tree->parent[controller] != NULL && !seen_before(tree, controller);
}

/* 0: dead; whoever should reap it may never do. */
static uint64_t start_of(pid_t pid)
{
    char state = 0;
    uint64_t start = wd_process_start(pid, &state);
    return state != 'Z' ? start : 0;
}

/* --- making ------------------------------------------------------------------------ */

/* The layer of a hierarchy; a v2 or shared one is named by its first controller. */
static wd_layer_id layer_of(unsigned controller)
{
    static const wd_layer_id layers[WD_CGROUP_CONTROLLERS] = {
        WD_LAYER_CGROUP_MEMORY, WD_LAYER_CGROUP_PIDS, WD_LAYER_CGROUP_CPU,
        WD_LAYER_CGROUP_CPU};
    return layers[controller];
}

/* *ret_layer: which could not be made. */
static bool make_folders(const wd_cgroup *cgroup, wd_layer_id *ret_layer)
{
    char folder[PATH_MAX];
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        if (!distinct(cgroup->tree, i))
            continue;
        folder_of(cgroup, i, folder);
        *ret_layer = layer_of(i);
        if (mkdir(folder, 0755) != 0)
            return false;
    }
    return true;
}

static bool set_number(const char *folder, const char *name, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return wd_cgroup_file_write(folder, name, text);
}

static bool limit_memory(const wd_cgroup *cgroup, uint64_t bytes)
{
    char folder[PATH_MAX];
    folder_of(cgroup, WD_CGROUP_MEMORY, folder);
    bool v2 = cgroup->tree->v2[WD_CGROUP_MEMORY];
    const char *file = v2 ? "memory.max" : "memory.limit_in_bytes";
    const char *swap = v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
    bytes -= bytes % (uint64_t)sysconf(_SC_PAGESIZE);
    if (!set_number(folder, file, bytes))
        return false;
    if (!set_number(folder, swap, v2 ? 0 : bytes) && errno != ENOENT)
        return false;
    if (!v2) /* where swap is not accounted there is no other way to forbid it */
        (void)set_number(folder, "memory.swappiness", 0);
    errno = ERANGE;
    return wd_cgroup_file_number(folder, file, NULL) == bytes;
}

static bool limit_pids(const wd_cgroup *cgroup, uint64_t pids)
{
    char folder[PATH_MAX];
    folder_of(cgroup, WD_CGROUP_PIDS, folder);
    if (!set_number(folder, "pids.max", pids + OWN_PROCESSES))
        return false;
    errno = ERANGE;
    return wd_cgroup_file_number(folder, "pids.max", NULL) == pids + OWN_PROCESSES;
}

static wd_status refused(const wd_cgroup *cgroup, wd_layer_id layer, const char *what,
                         wd_error *err)
{
    int error = errno;
    (void)wd_cgroup_remove(cgroup);
    return wd_fail(err, WD_UNAVAILABLE, "%s: %s: %s", wd_layer_name(layer), what,
                   strerror(error));
}

wd_status wd_cgroup_make(const wd_cgroup_tree *tree, unsigned slot,
                         const wd_cgroup_limits *limits, wd_cgroup *ret_cgroup,
                         wd_error *err)
{
    wd_cgroup cgroup = {.tree = tree};
    (void)snprintf(cgroup.name, sizeof(cgroup.name), PREFIX "%ld.%llu-%u",
                   (long)getpid(), (unsigned long long)start_of(getpid()), slot);
    errno = ENOENT;
    if (tree->parent[WD_CGROUP_MEMORY] == NULL)
        return refused(&cgroup, WD_LAYER_CGROUP_MEMORY, "no such controller", err);
    if (tree->parent[WD_CGROUP_PIDS] == NULL)
        return refused(&cgroup, WD_LAYER_CGROUP_PIDS, "no such controller", err);
    wd_layer_id layer;
    if (!make_folders(&cgroup, &layer))
        return refused(&cgroup, layer, "make a leaf", err);
    if (!limit_memory(&cgroup, limits->memory_bytes))
        return refused(&cgroup, WD_LAYER_CGROUP_MEMORY, "set the memory limit", err);
    if (!limit_pids(&cgroup, limits->pids))
        return refused(&cgroup, WD_LAYER_CGROUP_PIDS, "set the process limit", err);
    *ret_cgroup = cgroup;
    return WD_OK;
}

/* --- use --------------------------------------------------------------------------- */

bool wd_cgroup_join(const wd_cgroup *cgroup)
{
    char folder[PATH_MAX];
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        if (!distinct(cgroup->tree, i))
            continue;
        folder_of(cgroup, i, folder);
        if (!wd_cgroup_file_write(folder, "cgroup.procs", "0"))
            return false;
    }
    return true;
}

/* v1, v2 */
static void set_share(const wd_cgroup *cgroup, const char *shares, const char *weight)
{
    char folder[PATH_MAX];
    if (cgroup->tree->parent[WD_CGROUP_CPU] == NULL)
        return;
    folder_of(cgroup, WD_CGROUP_CPU, folder);
    if (cgroup->tree->v2[WD_CGROUP_CPU])
        (void)wd_cgroup_file_write(folder, "cpu.weight", weight);
    else
        (void)wd_cgroup_file_write(folder, "cpu.shares", shares);
}

void wd_cgroup_yield(const wd_cgroup *cgroup)
{
    set_share(cgroup, CPU_SHARES, CPU_WEIGHT);
}

void wd_cgroup_hurry(const wd_cgroup *cgroup)
{
    char folder[PATH_MAX];
    folder_of(cgroup, WD_CGROUP_PIDS, folder);
    (void)wd_cgroup_file_write(folder, "pids.max", "0");
    set_share(cgroup, CPU_SHARES_MOST, CPU_WEIGHT_MOST);
}

void wd_cgroup_usage_read(const wd_cgroup *cgroup, wd_cgroup_usage *ret_usage)
{
    const wd_cgroup_tree *tree = cgroup->tree;
    char folder[PATH_MAX];
    memset(ret_usage, 0, sizeof(*ret_usage));
    folder_of(cgroup, WD_CGROUP_MEMORY, folder);
    ret_usage->oom_kills = wd_cgroup_file_number(
        folder, tree->v2[WD_CGROUP_MEMORY] ? "memory.events" : "memory.oom_control",
        "oom_kill");
    folder_of(cgroup, WD_CGROUP_PIDS, folder);
    ret_usage->pids_refused = wd_cgroup_file_number(folder, "pids.events", "max");
    if (tree->parent[WD_CGROUP_CPUACCT] == NULL)
        return;
    folder_of(cgroup, WD_CGROUP_CPUACCT, folder);
    if (tree->v2[WD_CGROUP_CPUACCT])
        ret_usage->cpu_us = wd_cgroup_file_number(folder, "cpu.stat", "usage_usec");
    else
        ret_usage->cpu_us = wd_cgroup_file_number(folder, "cpuacct.usage", NULL) / 1000;
}

static void kill_listed(const char *folder, const pid_t spared[2])
{
    char list[65536];
    if (!wd_cgroup_file_read(folder, "cgroup.procs", list, sizeof(list)))
        return;
    char *rest = NULL;
    for (char *text = strtok_r(list, "\n", &rest); text != NULL;
         text = strtok_r(NULL, "\n", &rest)) {
        long pid = strtol(text, NULL, 10);
        /* 0: of a pid namespace that is not ours to see */
        if (pid > 1 && pid != spared[0] && pid != spared[1])
            (void)kill((pid_t)pid, SIGKILL);
    }
}

void wd_cgroup_kill(const wd_cgroup *cgroup, const pid_t spared[2])
{
    char folder[PATH_MAX];
    folder_of(cgroup, WD_CGROUP_PIDS, folder);
    bool all = spared[0] == 0 && spared[1] == 0;
    if (!all || !wd_cgroup_file_write(folder, "cgroup.kill", "1")) /* v2, Linux 5.14 */
        kill_listed(folder, spared);
}

bool wd_cgroup_remove(const wd_cgroup *cgroup)
{
    char folder[PATH_MAX];
    bool gone = true;
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        if (!distinct(cgroup->tree, i))
            continue;
        folder_of(cgroup, i, folder);
        if (rmdir(folder) != 0 && errno != ENOENT)
            gone = false;
    }
    return gone;
}

/* --- what a killed executor left ------------------------------------------------------ */

/* Whether `name` is a leaf whose executor is dead. */
static bool is_orphan(const char *name)
{
    if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
        return false;
    char *end = NULL;
    pid_t pid = (pid_t)strtol(name + sizeof(PREFIX) - 1, &end, 10);
    if (pid <= 0 || *end != '.')
        return false;
    char *dash = NULL;
    uint64_t start = strtoull(end + 1, &dash, 10);
    return dash != end + 1 && *dash == '-' && start_of(pid) != start;
}

static unsigned sweep_folder(const wd_cgroup_tree *tree, unsigned controller)
{
    unsigned left = 0;
    DIR *dir = opendir(tree->parent[controller]);
    if (dir == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char folder[PATH_MAX];
        if (!is_orphan(entry->d_name))
            continue;
        (void)snprintf(folder, sizeof(folder), "%s/%s", tree->parent[controller],
                       entry->d_name);
        kill_listed(folder, (const pid_t[2]){0});
        if (rmdir(folder) != 0)
            left++;
    }
    (void)closedir(dir);
    return left;
}

unsigned wd_cgroup_sweep(const wd_cgroup_tree *tree)
{
    unsigned left = 0;
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++)
        if (distinct(tree, i))
            left += sweep_folder(tree, i);
    return left;
}
