#include "server/executor/probe.h"

#include "server/executor/filter.h"
#include "server/executor/slot_kit.h"
#include "server/executor/uids.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 5000
/* Begins the detail of a layer that could not be tried for want of another. */
#define NOT_TRIED "not tried: "

/* What every try needs. A part that could not be had leaves its failure in `error`. */
typedef struct bench {
    const wd_config *config;
    wd_error error; /* of what all need; status WD_OK: none */
    char program[PATH_MAX];
    int filter_fd;
    int spec_fd;
    wd_error filter_error;
} bench;

static void set_absent(wd_layer_state *layer, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void set_absent(wd_layer_state *layer, int error, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(layer->detail, sizeof(layer->detail), fmt, args);
    va_end(args);
    layer->active = false;
    layer->error = error;
}

/* --- tries by warded-slot ---------------------------------------------------------- */

static wd_slot_reading await_report(int fd, wd_slot_report *report)
{
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    if (poll(&answer, 1, ANSWER_MS) <= 0)
        return WD_SLOT_NOTHING_YET;
    wd_slot slot = {.report_fd = fd};
    return wd_slot_read(&slot, report);
}

/* A fault of another layer says nothing of this one. */
static void describe_fault(const wd_slot_report *report, wd_layer_state *layer)
{
    const bool own = report->layer == (int32_t)layer->id;
    set_absent(layer, report->error, "%s%s%s%s%s%s", own ? "" : NOT_TRIED,
               own ? "" : wd_layer_name((wd_layer_id)report->layer), own ? "" : ": ",
               report->what, report->error != 0 ? ": " : "",
               report->error != 0 ? strerror(report->error) : "");
}

/* `pid` is killed when it does not answer. */
static void read_answer(int fd, pid_t pid, wd_layer_state *layer)
{
    wd_slot_report report;
    switch (await_report(fd, &report)) {
    case WD_SLOT_NOTHING_YET:
        set_absent(layer, ETIMEDOUT, "no answer in %d ms", ANSWER_MS);
        (void)kill(pid, SIGKILL);
        return;
    case WD_SLOT_LOST:
        set_absent(layer, 0, "the process that tried it was killed");
        return;
    case WD_SLOT_REPORTED:
        break;
    }
    layer->active = report.kind == WD_SLOT_ENDED;
    if (!layer->active)
        describe_fault(&report, layer);
}

/* What each try takes failed: `about` is the layer that this tells of. */
static void describe_failed_try(wd_layer_id about, const char *what,
                                wd_layer_state *layer)
{
    wd_slot_report report = {.layer = (int32_t)about, .error = errno};
    (void)snprintf(report.what, sizeof(report.what), "%s", what);
    describe_fault(&report, layer);
}

static void try_in_slot(const bench *b, wd_layer_state *layer)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        describe_failed_try(WD_LAYER_DESCRIPTORS, "pipe2", layer);
        return;
    }
    const wd_slot_birth birth = {
        .program = b->program,
        .probe = layer->name,
        .fds = {-1, -1, -1, b->spec_fd, -1, b->filter_fd, report[1], -1},
    };
    pid_t pid = wd_slot_spawn(&birth);
    (void)close(report[1]);
    if (pid < 0)
        describe_failed_try(WD_LAYER_PROCESS_TREE, "fork", layer);
    else
        read_answer(report[0], pid, layer);
    (void)close(report[0]);
    if (pid > 0) /* it has answered and ends, and reaps its own child before */
        (void)waitpid(pid, NULL, 0);
}

/* --- tries from here --------------------------------------------------------------- */

/* Wait for a leaf's last process to be seen as gone. */
static bool remove_leaf(const wd_cgroup *leaf)
{
    for (int i = 0; i < 100; i++) {
        if (wd_cgroup_remove(leaf))
            return true;
        (void)poll(NULL, 0, 5);
    }
    return false;
}

static bool try_join(const wd_cgroup *leaf)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(wd_cgroup_join(leaf) ? 0 : errno);
    int status = -1;
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    return errno == 0;
}

/* v2 before the executor's first start: enabling would move processes, perhaps those of
 * a shell that asked `warded check`. Only whether it could be done is looked at. */
static wd_status look_only(const wd_cgroup_tree *tree, wd_error *err)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control",
                   tree->parent[WD_CGROUP_MEMORY]);
    if (access(path, W_OK) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "cgroup-memory: write %s: %s", path,
                       strerror(errno));
    return WD_OK;
}

/* Makes a leaf, reads its limits back, joins it. The wanted layer is named by the
 * error's first word. */
static wd_status try_leaf(const wd_cgroup_tree *tree, wd_error *err)
{
    const wd_cgroup_limits limits = {.memory_bytes = 64U << 20, .pids = 8};
    wd_cgroup leaf;
    if (tree->parent[WD_CGROUP_MEMORY] != NULL && !wd_cgroup_enabled(tree))
        return look_only(tree, err);
    /* a number that no slot has */
    WD_TRY(wd_cgroup_make(tree, 1000000, &limits, &leaf, err));
    bool joined = try_join(&leaf);
    int error = errno;
    if (!remove_leaf(&leaf))
        return wd_fail(err, WD_UNAVAILABLE, "cgroup-pids: remove the leaf");
    if (!joined)
        return wd_fail(err, WD_UNAVAILABLE, "cgroup-pids: join the leaf: %s",
                       strerror(error));
    return WD_OK;
}

static void describe_cgroup(const wd_cgroup_tree *tree, wd_cgroup_controller controller,
                            const wd_error *error, wd_layer_state *layer)
{
    size_t size = strlen(layer->name);
    if (tree->parent[controller] == NULL)
        set_absent(layer, ENOENT, "no hierarchy has this controller");
    else if (error->status != WD_OK && strncmp(error->msg, layer->name, size) == 0)
        set_absent(layer, 0, "%s", error->msg + size + 2);
    else {
        layer->active = true;
        (void)snprintf(layer->detail, sizeof(layer->detail), "v%d at %.150s",
                       tree->v2[controller] ? 2 : 1, tree->parent[controller]);
    }
}

static void try_cgroups(wd_layer_state layers[WD_LAYER_COUNT])
{
    wd_cgroup_tree tree = {0};
    wd_error error = {.status = WD_OK};
    if (wd_cgroup_find(&tree, &error) == WD_OK)
        error.status = try_leaf(&tree, &error);
    describe_cgroup(&tree, WD_CGROUP_MEMORY, &error, &layers[WD_LAYER_CGROUP_MEMORY]);
    describe_cgroup(&tree, WD_CGROUP_PIDS, &error, &layers[WD_LAYER_CGROUP_PIDS]);
    describe_cgroup(&tree, WD_CGROUP_CPU, &error, &layers[WD_LAYER_CGROUP_CPU]);
    wd_cgroup_tree_done(&tree);
}

static void try_uids(const wd_config *config, wd_layer_state *layer)
{
    wd_error error;
    const wd_uid_range range = {config->sandbox.uid_base, 2 * config->sandbox.slots};
    if (wd_uids_check(range, config->user, &error) != WD_OK) {
        set_absent(layer, 0, "%s", error.msg + sizeof("uid-range: ") - 1);
        return;
    }
    (void)snprintf(layer->detail, sizeof(layer->detail), "%llu..%llu",
                   (unsigned long long)range.base,
                   (unsigned long long)(range.base + range.count - 1));
}

/* What is worth knowing of a layer that is there. */
static void describe_landlock(wd_layer_state *layer)
{
    if (layer->active)
        (void)snprintf(layer->detail, sizeof(layer->detail), "ABI %ld",
                       syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
}

/* --- interpreters ------------------------------------------------------------------ */

static wd_status make_spec(bench *b, const char *interpreter, wd_error *err)
{
    wd_slot_spec spec;
    const wd_action action = {.interpreter = interpreter,
                              .limits = b->config->sandbox.defaults};
    WD_TRY(wd_slot_spec_fill(b->config, 0, &action, &spec, err));
    if (b->spec_fd >= 0)
        (void)close(b->spec_fd);
    b->spec_fd = wd_slot_memfd(
        "spec", (wd_span){.data = (const uint8_t *)&spec, .size = sizeof(spec)});
    if (b->spec_fd < 0)
        return wd_fail(err, WD_UNAVAILABLE, "descriptors: memfd_create: %s",
                       strerror(errno));
    return WD_OK;
}

static void try_interpreters(bench *b, wd_layer_state *layer)
{
    for (size_t i = 0; i < b->config->n_tools; i++) {
        wd_error error;
        if (make_spec(b, b->config->tools[i].interpreter, &error) != WD_OK) {
            set_absent(layer, 0, "%s", error.msg);
            return;
        }
        try_in_slot(b, layer);
        if (!layer->active)
            return;
    }
    layer->active = true;
}

/* --- all ----------------------------------------------------------------------------- */

/* An error of what all need: it begins with the name of the layer that it is about. */
static void describe_error(const wd_error *error, wd_layer_state *layer)
{
    size_t size = strlen(layer->name);
    if (strncmp(error->msg, layer->name, size) == 0 && error->msg[size] == ':')
        set_absent(layer, 0, "%s", error->msg + size + 2);
    else
        set_absent(layer, 0, NOT_TRIED "%s", error->msg);
}

static void bench_open(bench *b, const wd_config *config)
{
    *b = (bench){.config = config, .filter_fd = -1, .spec_fd = -1};
    b->filter_error.status = wd_filter_build(&b->filter_fd, &b->filter_error);
    b->error.status = wd_slot_program(b->program, &b->error);
    if (b->error.status == WD_OK)
        b->error.status = wd_slot_check_roots(config, &b->error);
    if (b->error.status == WD_OK)
        b->error.status = make_spec(b, "/", &b->error);
}

static void bench_close(bench *b)
{
    if (b->filter_fd >= 0)
        (void)close(b->filter_fd);
    if (b->spec_fd >= 0)
        (void)close(b->spec_fd);
}

static void try_filter(const bench *b, wd_layer_state *layer)
{
    if (b->filter_error.status == WD_OK)
        try_in_slot(b, layer);
    else
        set_absent(layer, 0, "%s", b->filter_error.msg);
}

const char *wd_probe_untried(const wd_layer_state *layer)
{
    const size_t size = sizeof(NOT_TRIED) - 1;
    return strncmp(layer->detail, NOT_TRIED, size) == 0 ? layer->detail + size : NULL;
}

static bool was_refused(const wd_layer_state *layer)
{
    return !layer->active && wd_probe_untried(layer) == NULL;
}

/* Without the second the first can't be tried: its failure would say nothing new. */
static const struct {
    wd_layer_id layer, needs;
} needs[] = {
    {WD_LAYER_PROCESS_TREE, WD_LAYER_PID_NS}, {WD_LAYER_MOUNTS, WD_LAYER_PID_NS},
    {WD_LAYER_PROC, WD_LAYER_PID_NS},         {WD_LAYER_INTERPRETER, WD_LAYER_PID_NS},
    {WD_LAYER_PROC, WD_LAYER_MOUNTS},         {WD_LAYER_INTERPRETER, WD_LAYER_MOUNTS},
};

/* NULL: nothing that it needs is missing. Of the layers those before it were tried. */
static const wd_layer_state *find_missing(const wd_layer_state *layers, wd_layer_id id)
{
    if (id != WD_LAYER_USER_NS && was_refused(&layers[WD_LAYER_USER_NS]))
        return &layers[WD_LAYER_USER_NS];
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].layer == id && was_refused(&layers[needs[i].needs]))
            return &layers[needs[i].needs];
    return NULL;
}

static void try_one(bench *b, wd_layer_state *layers, wd_layer_state *layer)
{
    const wd_layer_state *missing = find_missing(layers, layer->id);
    if (layer->id == WD_LAYER_CGROUP_MEMORY || layer->id == WD_LAYER_CGROUP_PIDS ||
        layer->id == WD_LAYER_CGROUP_CPU)
        return; /* together, by try_cgroups */
    if (missing != NULL)
        set_absent(layer, 0, NOT_TRIED "it takes %s", missing->name);
    else if (layer->id == WD_LAYER_CANARY)
        set_absent(layer, 0, "tried by warded-execd at its start");
    else if (layer->id == WD_LAYER_INTERPRETER)
        try_interpreters(b, layer);
    else if (layer->id == WD_LAYER_SECCOMP)
        try_filter(b, layer);
    else
        try_in_slot(b, layer);
}

void wd_probe_layers(const wd_config *config, wd_layer_state layers[WD_LAYER_COUNT])
{
    bench b;
    bench_open(&b, config);
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        const wd_layer_id id = (wd_layer_id)i;
        layers[i] = (wd_layer_state){.id = id,
                                     .name = wd_layer_name(id),
                                     .mandatory = wd_layer_mandatory(id),
                                     .cure = wd_layer_cure(id)};
        if (b.error.status == WD_OK)
            try_one(&b, layers, &layers[i]);
        else
            describe_error(&b.error, &layers[i]);
    }
    try_cgroups(layers);
    if (layers[WD_LAYER_UIDS].active)
        try_uids(config, &layers[WD_LAYER_UIDS]);
    describe_landlock(&layers[WD_LAYER_LANDLOCK]);
    bench_close(&b);
}

static bool is_missing(const wd_layer_state *layer)
{
    return layer->mandatory && !layer->active && layer->id != WD_LAYER_CANARY;
}

const wd_layer_state *wd_probe_missing(const wd_layer_state layers[WD_LAYER_COUNT])
{
    const wd_layer_state *untried = NULL;
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        if (!is_missing(&layers[i]))
            continue;
        if (wd_probe_untried(&layers[i]) == NULL)
            return &layers[i];
        if (untried == NULL)
            untried = &layers[i];
    }
    return untried;
}
