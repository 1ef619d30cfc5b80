/* slot_cold.c - slot.h by fresh namespaces and an exec per action. */
#include "server/executor/cgroup_file.h"
#include "server/executor/slot_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both ends of the pipes and all memfds while a slot is being started. */
typedef struct parts {
    int stdin_fd, spec_fd, code_fd;
    int out[2], err[2], report[2], control[2];
} parts;

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void parts_done(parts *p)
{
    int *const all[] = {&p->stdin_fd,  &p->spec_fd,    &p->code_fd,   &p->out[0],
                        &p->out[1],    &p->err[0],     &p->err[1],    &p->report[0],
                        &p->report[1], &p->control[0], &p->control[1]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        close_one(all[i]);
}

/* A pipe whose end on our side (`ours`: 0 reads, 1 writes) does not block. */
static bool open_pipe(int fds[2], int ours)
{
    return pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[ours], F_SETFL, O_NONBLOCK) == 0;
}

static wd_status open_parts(const wd_slot_kit *kit, unsigned index,
                            const wd_action *action, parts *p, wd_error *err)
{
    wd_slot_spec spec;
    WD_TRY(wd_slot_spec_fill(kit->config, index, action, &spec, err));
    p->spec_fd = wd_slot_memfd(
        "spec", (wd_span){.data = (const uint8_t *)&spec, .size = sizeof(spec)});
    p->code_fd = wd_slot_memfd("code", action->code);
    p->stdin_fd = wd_slot_memfd("stdin", action->stdin_data);
    if (p->spec_fd < 0 || p->code_fd < 0 || p->stdin_fd < 0 || !open_pipe(p->out, 0) ||
        !open_pipe(p->err, 0) || !open_pipe(p->report, 0) || !open_pipe(p->control, 1))
        return wd_fail(err, WD_UNAVAILABLE, "descriptors: memfds and pipes: %s",
                       strerror(errno));
    return WD_OK;
}

static wd_status spawn(const wd_slot_kit *kit, const parts *p, wd_slot *slot,
                       wd_error *err)
{
    const wd_slot_birth birth = {
        .program = kit->program,
        .cgroup = &slot->cgroup,
        .fds = {p->stdin_fd, p->out[1], p->err[1], p->spec_fd, p->code_fd,
                kit->filter_fd, p->report[1], p->control[0]},
    };
    slot->pid = wd_slot_spawn(&birth);
    if (slot->pid < 0)
        return wd_fail(err, WD_UNAVAILABLE, "process-tree: fork: %s", strerror(errno));
    slot->process_fd = pidfd_open(slot->pid, 0);
    if (slot->process_fd >= 0)
        return WD_OK;
    int error = errno;
    (void)kill(slot->pid, SIGKILL);
    (void)waitpid(slot->pid, NULL, 0);
    return wd_fail(err, WD_UNAVAILABLE, "process-tree: pidfd_open: %s",
                   strerror(error));
}

wd_status wd_slot_start(const wd_slot_kit *kit, unsigned index, const wd_action *action,
                        wd_slot *ret_slot, wd_error *err)
{
    const wd_cgroup_limits limits = {.memory_bytes = action->limits.memory_bytes,
                                     .pids = action->limits.pids};
    wd_slot slot = {.index = index, .pid = -1};
    parts p = {-1, -1, -1, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    wd_status status = open_parts(kit, index, action, &p, err);
    if (status == WD_OK)
        status = wd_cgroup_make(&kit->cgroups, index, &limits, &slot.cgroup, err);
    if (status == WD_OK) {
        status = spawn(kit, &p, &slot, err);
        if (status != WD_OK)
            (void)wd_cgroup_remove(&slot.cgroup);
    }
    if (status == WD_OK) {
        slot.out_fd = WD_STEAL_FD(p.out[0]);
        slot.err_fd = WD_STEAL_FD(p.err[0]);
        slot.report_fd = WD_STEAL_FD(p.report[0]);
        slot.control_fd = WD_STEAL_FD(p.control[1]);
        *ret_slot = slot;
    }
    parts_done(&p);
    return status;
}

/* The child of warded-slot; 0: none, or the kernel does not say. */
static pid_t init_of(const wd_slot *slot)
{
    char folder[64];
    char list[64];
    (void)snprintf(folder, sizeof(folder), "/proc/%d/task/%d", (int)slot->pid,
                   (int)slot->pid);
    if (!wd_cgroup_file_read(folder, "children", list, sizeof(list)))
        return 0;
    return (pid_t)strtol(list, NULL, 10);
}

void wd_slot_kill(wd_slot *slot, wd_slot_force force)
{
    pid_t spared[2] = {0};
    wd_cgroup_hurry(&slot->cgroup);
    if (write(slot->control_fd, "K", 1) < 0 && errno != EAGAIN &&
        force == WD_SLOT_KILL_ACTION)
        force = WD_SLOT_KILL_INIT; /* it is gone */
    if (force != WD_SLOT_KILL_ALL && slot->pid > 0)
        spared[0] = slot->pid;
    if (force == WD_SLOT_KILL_ACTION)
        spared[1] = init_of(slot);
    if (force == WD_SLOT_KILL_ACTION && spared[1] == 0)
        return; /* init has the order; it can't be told from the action here */
    wd_cgroup_kill(&slot->cgroup, spared);
}

wd_slot_reading wd_slot_read(wd_slot *slot, wd_slot_report *ret_report)
{
    ssize_t size = read(slot->report_fd, ret_report, sizeof(*ret_report));
    if (size == (ssize_t)sizeof(*ret_report)) {
        ret_report->what[sizeof(ret_report->what) - 1] = '\0';
        return WD_SLOT_REPORTED;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return WD_SLOT_NOTHING_YET;
    return WD_SLOT_LOST;
}

void wd_slot_usage(const wd_slot *slot, wd_cgroup_usage *ret_usage)
{
    wd_cgroup_usage_read(&slot->cgroup, ret_usage);
}

void wd_slot_yield(const wd_slot *slot)
{
    wd_cgroup_yield(&slot->cgroup);
}

bool wd_slot_gone(wd_slot *slot)
{
    if (slot->pid > 0) {
        if (waitpid(slot->pid, NULL, WNOHANG) == 0)
            return false;
        slot->pid = -1;
    }
    (void)wd_slot_reap();
    return wd_cgroup_remove(&slot->cgroup);
}

/* An init whose warded-slot was killed is ours now (the kit made us subreaper). Slots that
 * run may lose their status here, which nobody asks for: their pidfd tells. */
bool wd_slot_reap(void)
{
    pid_t pid = 0;
    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0);
    return pid < 0;
}

void wd_slot_done(wd_slot *slot)
{
    close_one(&slot->process_fd);
    close_one(&slot->report_fd);
    close_one(&slot->control_fd);
    close_one(&slot->out_fd);
    close_one(&slot->err_fd);
}
