#include "server/executor/slot_kit.h"

#include "runner_text.h"
#include "server/executor/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A ceiling for address space: far above the memory limit, which is what counts. */
#define ADDRESS_BYTES  (4ULL << 30)
#define ADDRESS_FACTOR 8

/* Seen from the folder of this program; `warded check` is not in that of execd. The last
 * is looked for first, the first is named where there is none. */
static const char *const slot_places[] = {"warded-slot",
                                          "../libexec/warded/warded-slot"};

wd_status wd_slot_program(char ret_path[PATH_MAX], wd_error *err)
{
    ssize_t size = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
    if (size <= 0)
        return wd_fail(err, WD_UNAVAILABLE, "descriptors: read /proc/self/exe: %s",
                       strerror(errno));
    ret_path[size] = '\0';
    char *slash = strrchr(ret_path, '/');
    size_t room = PATH_MAX - (size_t)(slash + 1 - ret_path);
    for (size_t i = sizeof(slot_places) / sizeof(slot_places[0]); i-- > 0;) {
        (void)snprintf(slash + 1, room, "%s", slot_places[i]);
        if (access(ret_path, X_OK) == 0)
            return WD_OK;
    }
    return wd_fail(err, WD_UNAVAILABLE, "descriptors: %s: %s; install it there",
                   ret_path, strerror(errno));
}

/* --- roots ----------------------------------------------------------------------------- */

/* Whether `path` is `folder` or below it. */
static bool is_below(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 &&
           (path[size] == '\0' || path[size] == '/');
}

/* What a slot makes itself; a root there would be hidden or would hide it. */
static bool is_own_place(const char *root)
{
    static const char *const own[] = {"/proc", "/dev", "/sys",  "/tmp",    "/work",
                                      "/box",  "/run", "/.old", "/var/tmp"};
    static const char *const made[] = {"/", "/etc", "/var"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (is_below(root, own[i]))
            return true;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        if (strcmp(root, made[i]) == 0)
            return true;
    return false;
}

wd_status wd_slot_check_roots(const wd_config *config, wd_error *err)
{
    const wd_text_list *roots = &config->sandbox.roots;
    for (size_t i = 0; i < roots->n_items; i++) {
        const char *root = roots->items[i];
        if (is_own_place(root))
            return wd_fail(err, WD_UNAVAILABLE,
                           "mounts: sandbox.roots: %s is a place that each slot makes "
                           "for itself; name a folder elsewhere",
                           root);
    }
    return WD_OK;
}

/* --- spec ------------------------------------------------------------------------------ */

static bool add_roots(const wd_text_list *roots, wd_slot_spec *spec)
{
    size_t used = 0;
    for (size_t i = 0; i < roots->n_items; i++) {
        size_t size = strlen(roots->items[i]) + 1;
        if (size > sizeof(spec->roots) - used || spec->n_roots == WD_SLOT_ROOTS)
            return false;
        memcpy(spec->roots + used, roots->items[i], size);
        used += size;
        spec->n_roots++;
    }
    return true;
}

wd_status wd_slot_spec_fill(const wd_config *config, unsigned index,
                            const wd_action *action, wd_slot_spec *ret_spec,
                            wd_error *err)
{
    const wd_action_limits *limits = &action->limits;
    uint64_t address = limits->memory_bytes * ADDRESS_FACTOR;
    memset(ret_spec, 0, sizeof(*ret_spec));
    ret_spec->size = sizeof(*ret_spec);
    ret_spec->init_uid = (uint32_t)(config->sandbox.uid_base + 2ULL * index);
    ret_spec->worker_uid = ret_spec->init_uid + 1;
    ret_spec->files_bytes = limits->files_bytes;
    ret_spec->address_bytes = address > ADDRESS_BYTES ? address : ADDRESS_BYTES;
    ret_spec->cpu_s = limits->cpu_ms / 1000 + 2; /* the cgroup's sum comes first */
    ret_spec->pids = limits->pids;
    _Static_assert(sizeof(wd_runner_text) <= sizeof(ret_spec->runner), "runner.py");
    memcpy(ret_spec->runner, wd_runner_text, sizeof(wd_runner_text));
    if (strlen(action->interpreter) >= sizeof(ret_spec->interpreter))
        return wd_fail(err, WD_UNAVAILABLE, "interpreter: path above %zu bytes: %s",
                       sizeof(ret_spec->interpreter) - 1, action->interpreter);
    memcpy(ret_spec->interpreter, action->interpreter, strlen(action->interpreter) + 1);
    if (!add_roots(&config->sandbox.roots, ret_spec))
        return wd_fail(err, WD_UNAVAILABLE,
                       "mounts: sandbox.roots: more than %d paths or %d bytes; "
                       "name fewer",
                       WD_SLOT_ROOTS, WD_SLOT_ROOTS_BYTES);
    return WD_OK;
}

/* Remove what a killed executor left. What it ran dies at its death, and for a moment
 * more its cgroups can't be removed. The start waits for that, but not for good. */
static void sweep(const wd_cgroup_tree *tree)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (unsigned tries = 100; wd_cgroup_sweep(tree) > 0 && tries > 0; tries--)
        (void)nanosleep(&pause, NULL);
}

bool wd_slot_kit_sweep(const wd_slot_kit *kit)
{
    return wd_cgroup_sweep(&kit->cgroups) == 0;
}

/* --- kit ------------------------------------------------------------------------------- */

static wd_status open_kit(wd_slot_kit *kit, wd_error *err)
{
    WD_TRY(wd_slot_program(kit->program, err));
    WD_TRY(wd_slot_check_roots(kit->config, err));
    if (!wd_slot_adopt_orphans())
        return wd_fail(err, WD_UNAVAILABLE, "process-tree: PR_SET_CHILD_SUBREAPER: %s",
                       strerror(errno));
    WD_TRY(wd_filter_build(&kit->filter_fd, err));
    WD_TRY(wd_cgroup_find(&kit->cgroups, err));
    WD_TRY(wd_cgroup_enable(&kit->cgroups, err));
    sweep(&kit->cgroups);
    return WD_OK;
}

wd_status wd_slot_kit_new(const wd_config *config, wd_slot_kit **ret_kit, wd_error *err)
{
    WD_AUTO(wd_slot_kit) *kit = calloc(1, sizeof(*kit));
    if (kit == NULL)
        return wd_fail(err, WD_UNAVAILABLE, "out of memory");
    kit->config = config;
    kit->filter_fd = -1;
    WD_TRY(open_kit(kit, err));
    *ret_kit = WD_STEAL(kit);
    return WD_OK;
}

void wd_slot_kit_free(wd_slot_kit *kit)
{
    if (kit == NULL)
        return;
    if (kit->filter_fd >= 0)
        (void)close(kit->filter_fd);
    wd_cgroup_tree_done(&kit->cgroups);
    free(kit);
}
