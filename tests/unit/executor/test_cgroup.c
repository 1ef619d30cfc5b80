#include "server/executor/cgroup.h"
#include "server/executor/cgroup_file.h"
#include "server/executor/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define V1_MOUNTS                                                                      \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                       \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"      \
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:4 - cgroup cgroup rw,memory\n"       \
    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"                    \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V2_MOUNT                                                                       \
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

/* What mountinfo and cgroup say, and where leaves go; NULL: no such controller. */
static const struct {
    const char *name, *mounts, *self;
    const char *memory, *pids, *cpu, *cpuacct;
    bool v2;
} cases[] = {
    {"v1, the root cgroup", V1_MOUNTS, "8:pids:/\n4:memory:/\n2:cpu,cpuacct:/\n0::/\n",
     "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu,cpuacct",
     "/sys/fs/cgroup/cpu,cpuacct", false},
    {"v1, below it", V1_MOUNTS, "8:pids:/a\n4:memory:/a/b\n2:cpu,cpuacct:/\n",
     "/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/pids/a", "/sys/fs/cgroup/cpu,cpuacct",
     "/sys/fs/cgroup/cpu,cpuacct", false},
    {"v1, a container's view: the mount shows a part",
     "35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
     "39 31 0:36 /docker/1 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
     "8:pids:/docker/1\n4:memory:/docker/1/x\n", "/sys/fs/cgroup/memory/x",
     "/sys/fs/cgroup/pids", NULL, NULL, false},
    {"v1, a cgroup namespace around the mount",
     "35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
     "4:memory:/\n", "/sys/fs/cgroup/memory", NULL, NULL, NULL, false},
    {"v2", V2_MOUNT, "0::/system.slice/warded.service\n",
     "/sys/fs/cgroup/system.slice/warded.service",
     "/sys/fs/cgroup/system.slice/warded.service",
     "/sys/fs/cgroup/system.slice/warded.service",
     "/sys/fs/cgroup/system.slice/warded.service", true},
    {"v2, second start: our processes were moved down", V2_MOUNT,
     "0::/x.service/warded-main\n", "/sys/fs/cgroup/x.service",
     "/sys/fs/cgroup/x.service", "/sys/fs/cgroup/x.service", "/sys/fs/cgroup/x.service",
     true},
    {"v2 in a cgroup namespace", V2_MOUNT, "0::/\n", "/sys/fs/cgroup", "/sys/fs/cgroup",
     "/sys/fs/cgroup", "/sys/fs/cgroup", true},
    {"none", "30 23 0:26 / / rw - ext4 /dev/vda rw\n", "0::/\n", NULL, NULL, NULL, NULL,
     false},
    {"not what it should be", "garbage\n- cgroup\n\n5 6\n", "::\n:\ngarbage", NULL,
     NULL, NULL, NULL, false},
    {"empty", "", "", NULL, NULL, NULL, NULL, false},
};

static void same(const char *found, const char *expected)
{
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found, expected);
}

static void controllers_are_found_by_mountinfo(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wd_cgroup_tree tree;
        wd_error error;
        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_cgroup_parse(&tree, cases[i].mounts, cases[i].self, &error),
                         WD_OK);
        same(tree.parent[WD_CGROUP_MEMORY], cases[i].memory);
        same(tree.parent[WD_CGROUP_PIDS], cases[i].pids);
        same(tree.parent[WD_CGROUP_CPU], cases[i].cpu);
        same(tree.parent[WD_CGROUP_CPUACCT], cases[i].cpuacct);
        if (cases[i].memory != NULL)
            assert_int_equal(tree.v2[WD_CGROUP_MEMORY], cases[i].v2);
        wd_cgroup_tree_done(&tree);
    }
}

static void a_leaf_without_controllers_is_refused_by_layer(void **state)
{
    (void)state;
    const wd_cgroup_limits limits = {64U << 20, 8};
    wd_cgroup_tree tree = {0};
    wd_cgroup leaf;
    wd_error error;
    assert_int_equal(wd_cgroup_make(&tree, 0, &limits, &leaf, &error), WD_UNAVAILABLE);
    assert_int_equal(strncmp(error.msg, "cgroup-memory: ", 15), 0);
    tree.parent[WD_CGROUP_MEMORY] = strdup("/nonexistent");
    assert_int_equal(wd_cgroup_make(&tree, 0, &limits, &leaf, &error), WD_UNAVAILABLE);
    assert_int_equal(strncmp(error.msg, "cgroup-pids: ", 13), 0);
    wd_cgroup_tree_done(&tree);
}

/* Moves a child in, looks, kills it. */
static void use_leaf(const wd_cgroup *leaf)
{
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool joined = wd_cgroup_join(leaf);
        (void)!write(go[1], &joined, sizeof(joined));
        (void)pause();
        _exit(0);
    }
    bool joined = false;
    assert_int_equal(read(go[0], &joined, sizeof(joined)), sizeof(joined));
    assert_true(joined);
    assert_false(wd_cgroup_remove(leaf)); /* in use */
    int status = 0;
    wd_cgroup_kill(leaf, (const pid_t[2]){0, pid});
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* spared */
    wd_cgroup_kill(leaf, (const pid_t[2]){0});
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(wd_cgroup_remove(leaf));
    assert_true(wd_cgroup_remove(leaf)); /* gone is gone */
    (void)close(go[0]);
    (void)close(go[1]);
}

/* The errno of a fork in the leaf after wd_cgroup_hurry. */
static int fork_in_a_hurry(const wd_cgroup *leaf)
{
    pid_t pid = fork();
    if (pid == 0) {
        bool joined = wd_cgroup_join(leaf);
        wd_cgroup_hurry(leaf);
        pid_t child = joined ? fork() : 0;
        _exit(child < 0 ? errno : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void nothing_starts_in_a_leaf_that_dies(void **state)
{
    (void)state;
    const wd_cgroup_limits limits = {64U << 20, 8};
    wd_cgroup_tree tree;
    wd_cgroup leaf;
    wd_error error;
    assert_int_equal(wd_cgroup_find(&tree, &error), WD_OK);
    assert_int_equal(wd_cgroup_enable(&tree, &error), WD_OK);
    assert_int_equal(wd_cgroup_make(&tree, 8, &limits, &leaf, &error), WD_OK);
    assert_int_equal(fork_in_a_hurry(&leaf), EAGAIN);
    assert_true(wd_cgroup_remove(&leaf));
    wd_cgroup_tree_done(&tree);
}

static void a_leaf_limits_counts_and_kills(void **state)
{
    (void)state;
    const wd_cgroup_limits limits = {64U << 20, 8};
    wd_cgroup_tree tree;
    wd_cgroup leaf;
    wd_cgroup_usage usage;
    wd_error error;
    assert_int_equal(wd_cgroup_find(&tree, &error), WD_OK);
    assert_int_equal(wd_cgroup_enable(&tree, &error), WD_OK);
    assert_int_equal(wd_cgroup_make(&tree, 7, &limits, &leaf, &error), WD_OK);
    assert_int_equal(wd_cgroup_make(&tree, 7, &limits, &leaf, &error), WD_UNAVAILABLE);
    assert_int_equal(wd_cgroup_make(&tree, 7, &limits, &leaf, &error), WD_OK);
    wd_cgroup_usage_read(&leaf, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_int_equal(usage.pids_refused, 0);
    use_leaf(&leaf);
    wd_cgroup_tree_done(&tree);
}

/* A hierarchy of version 2 of our own; its controllers may be on version 1 here, but
 * membership, killing and removing are the same. */
static void version_2_kills_by_its_own_file(void **state)
{
    (void)state;
    char point[] = "/tmp/warded-cgroup2-XXXXXX";
    char command[128];
    wd_cgroup_tree tree = {0};
    assert_non_null(mkdtemp(point));
    (void)snprintf(command, sizeof(command), "mount -t cgroup2 none %s", point);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed text */
    for (unsigned i = 0; i < WD_CGROUP_CONTROLLERS; i++) {
        tree.v2[i] = true;
        tree.parent[i] = strdup(point);
    }
    wd_cgroup leaf = {.tree = &tree};
    (void)snprintf(leaf.name, sizeof(leaf.name), "warded-unit-%d", (int)getpid());
    (void)snprintf(command, sizeof(command), "%s/%s", point, leaf.name);
    assert_true(wd_cgroup_file_dir(command));
    use_leaf(&leaf);
    wd_cgroup_tree_done(&tree);
    (void)snprintf(command, sizeof(command), "umount %s && rmdir %s", point, point);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed text */
}

static void leaves_of_a_dead_executor_are_swept_and_others_are_not(void **state)
{
    (void)state;
    char parent[] = "/tmp/warded-sweep-XXXXXX";
    char path[160];
    static const char *const dead[] = {"warded-1.1-0", "warded-4194305.77-3"};
    static const char *const kept[] = {"warded-main", "warded-", "other",
                                       "warded-1.x-0"};
    assert_non_null(mkdtemp(parent));
    wd_cgroup_tree tree = {.parent = {strdup(parent)}};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, dead[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, kept[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(wd_cgroup_sweep(&tree), 0);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, dead[i]);
        assert_int_equal(access(path, F_OK), -1);
    }
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", parent, kept[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(parent), 0);
    wd_cgroup_tree_done(&tree);
}

static void a_folder_that_is_not_delegated_is_refused_with_its_cure(void **state)
{
    (void)state;
    wd_error error;
    wd_cgroup_tree tree = {.v2 = {true}, .parent = {strdup("/nonexistent")}};
    assert_int_equal(wd_cgroup_enable(&tree, &error), WD_UNAVAILABLE);
    assert_int_equal(strncmp(error.msg, "cgroup-memory: write +memory", 28), 0);
    wd_layer_add_cure(error.msg, sizeof(error.msg));
    assert_non_null(strstr(error.msg, "Delegate=yes"));
    assert_false(wd_cgroup_enabled(&tree));
    wd_cgroup_tree_done(&tree);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static void version_2_is_enabled_when_every_controller_is_handed_down(void **state)
{
    (void)state;
    char folder[] = "/tmp/warded-enabled-XXXXXX";
    char path[160];
    assert_non_null(mkdtemp(folder));
    wd_cgroup_tree tree = {
        .v2 = {true, true, true, true},
        .parent = {strdup(folder), strdup(folder), strdup(folder), strdup(folder)}};
    write_text(folder, "cgroup.subtree_control", "cpu memory\n");
    assert_false(wd_cgroup_enabled(&tree));
    write_text(folder, "cgroup.subtree_control", "cpuset cpu memory pids\n");
    assert_true(wd_cgroup_enabled(&tree));
    (void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", folder);
    assert_int_equal(unlink(path) + rmdir(folder), 0);
    wd_cgroup_tree_done(&tree);
}

static void numbers_are_read_by_key(void **state)
{
    (void)state;
    char folder[] = "/tmp/warded-number-XXXXXX";
    char path[128];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/events", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "oom 3\noom_kill 4\nmax\n", 21), 21);
    (void)close(fd);
    assert_int_equal(wd_cgroup_file_number(folder, "events", "oom_kill"), 4);
    assert_int_equal(wd_cgroup_file_number(folder, "events", "oom"), 3);
    assert_int_equal(wd_cgroup_file_number(folder, "events", "max"), 0);
    assert_int_equal(wd_cgroup_file_number(folder, "events", "absent"), 0);
    assert_int_equal(wd_cgroup_file_number(folder, "absent", NULL), 0);
    assert_int_equal(unlink(path) + rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_are_found_by_mountinfo),
        cmocka_unit_test(a_leaf_without_controllers_is_refused_by_layer),
        cmocka_unit_test(a_leaf_limits_counts_and_kills),
        cmocka_unit_test(nothing_starts_in_a_leaf_that_dies),
        cmocka_unit_test(version_2_kills_by_its_own_file),
        cmocka_unit_test(leaves_of_a_dead_executor_are_swept_and_others_are_not),
        cmocka_unit_test(a_folder_that_is_not_delegated_is_refused_with_its_cure),
        cmocka_unit_test(version_2_is_enabled_when_every_controller_is_handed_down),
        cmocka_unit_test(numbers_are_read_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
