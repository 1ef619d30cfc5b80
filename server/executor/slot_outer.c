#include "server/executor/slot_outer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool wd_slot_read_spec(wd_slot_spec *ret_spec, wd_slot_fault *fault)
{
    errno = 0;
    ssize_t size = pread(WD_SLOT_SPEC_FD, ret_spec, sizeof(*ret_spec), 0);
    if (size != (ssize_t)sizeof(*ret_spec) || ret_spec->size != sizeof(*ret_spec))
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS,
                            "spec of %zd bytes: warded-execd and warded-slot are not "
                            "of one build",
                            size);
    return true;
}

/* --- outside ----------------------------------------------------------------------- */

static bool write_map(pid_t pid, const char *file, uint32_t root, uint32_t worker,
                      wd_slot_fault *fault)
{
    char path[64];
    char text[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int size = snprintf(text, sizeof(text), "0 %u 1\n%d %u 1\n", root,
                        WD_SLOT_WORKER_ID, worker);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, (size_t)size) == size;
    if (!ok)
        (void)wd_slot_fail(fault, WD_LAYER_USER_NS, "%s: ids %u and %u", file, root,
                           worker);
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static bool write_maps(const wd_slot_spec *spec, pid_t pid, wd_slot_fault *fault)
{
    return write_map(pid, "uid_map", spec->init_uid, spec->worker_uid, fault) &&
           write_map(pid, "gid_map", spec->init_uid, spec->worker_uid, fault);
}

/* Exit statuses of a child that could not take its ids, or not be told to die with its
 * parent. */
#define NO_IDS      125
#define NO_DEATHSIG 124

/* --- inside ------------------------------------------------------------------------ */

/* Waits for the maps; takes the ids; then dies with its parent. `go` is a pipe. 0, or an
 * exit status. */
static int take_ids(int go)
{
    char byte;
    if (read(go, &byte, 1) != 1)
        return NO_IDS; /* the parent failed, or is gone */
    if (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
        return NO_IDS;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* after setresuid, which clears it */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return NO_DEATHSIG;
    struct pollfd parent = {.fd = go};
    /* else it was gone before the line above */
    return poll(&parent, 1, 0) == 0 ? 0 : NO_DEATHSIG;
}

static _Noreturn void run_inside(const wd_slot_spec *spec, const int go[2],
                                 const wd_slot_child *child)
{
    (void)close(go[1]);
    int status = take_ids(go[0]);
    (void)close(go[0]);
    _exit(status == 0 ? child->run(spec, child->context) : status);
}

/* fork(2) with CLONE_NEW* flags. clone, not clone3: filters around us can see its flags
 * and thus allow it. */
static pid_t fork_into(unsigned long flags)
{
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);
}

/* What the child could not say itself; errno stayed with it. */
static bool has_failed_inside(int status, wd_slot_fault *fault)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    errno = 0;
    if (code == NO_IDS)
        (void)wd_slot_fail(fault, WD_LAYER_CAPABILITIES, "take ids 0 inside");
    else if (code == NO_DEATHSIG)
        (void)wd_slot_fail(fault, WD_LAYER_PROCESS_TREE, "PR_SET_PDEATHSIG inside");
    return code == NO_IDS || code == NO_DEATHSIG;
}

static bool start_child(const wd_slot_spec *spec, pid_t pid, const int go[2],
                        wd_slot_fault *fault)
{
    if (!write_maps(spec, pid, fault))
        return false;
    if (write(go[1], "", 1) != 1)
        return wd_slot_fail(fault, WD_LAYER_USER_NS, "start the child");
    return true;
}

bool wd_slot_outer_run(const wd_slot_spec *spec, const wd_slot_child *child,
                       int *ret_status, wd_slot_fault *fault)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return wd_slot_fail(fault, WD_LAYER_DESCRIPTORS, "pipe");
    pid_t pid = fork_into(child->flags);
    if (pid == 0)
        run_inside(spec, go, child);
    (void)close(go[0]);
    bool ok = pid > 0
                  ? start_child(spec, pid, go, fault)
                  : wd_slot_fail(fault, WD_LAYER_USER_NS, "clone(0x%lx)", child->flags);
    if (!ok)
        (void)close(go[1]); /* lets the child end */
    while (pid > 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
    }
    return ok && !has_failed_inside(*ret_status, fault);
}
