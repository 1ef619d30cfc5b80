#include "server/executor/run.h"

#include "proto/c/clock.h"
#include "proto/c/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written beyond what is kept before an action is stopped for it. */
#define FLOOD_BYTES (8ULL << 20)
/* How long what was killed may take to be gone before more force is used. A kernel
 * needs 100 ms and more to take down a fork bomb, and init reports after that. */
#define HARD_MS 300
/* An ended cgroup can be busy for a moment. */
#define RETRY_MS 2
/* Processor time that an action uses at full weight: most need no more, and a machine
 * that is busy otherwise does not hold them up. */
#define BRISK_US   1000000ULL
#define READ_BYTES (64U << 10)
#define READS      8 /* per step and stream: others want their turn */

#define CAUSE(name) WARDED__EXEC__V1__DONE__CAUSE__##name

enum { PROCESS, REPORT, OUT, ERR };

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- start ---------------------------------------------------------------------------- */

/* When to look at the processor time: what is left can't be spent sooner than on all
 * processors at once. */
static int64_t next_cpu_check(const wd_run *run)
{
    uint64_t next_us = run->limits.cpu_ms * 1000;
    if (!run->yields && next_us > BRISK_US)
        next_us = BRISK_US;
    uint64_t left_us = next_us - run->usage.cpu_us;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t least_ms = left_us / 1000 / (uint64_t)(processors > 0 ? processors : 1);
    return now_ms() + (int64_t)least_ms + 1;
}

wd_status wd_run_start(wd_run *run, const wd_slot_kit *kit, unsigned index,
                       const wd_action *action, wd_error *err)
{
    *run = (wd_run){.limits = action->limits,
                    .started_ns = wd_clock_mono_ns(wd_clock_system()),
                    .hard_ms = INT64_MAX,
                    .retry_ms = INT64_MAX};
    run->end_by_ms =
        earlier(action->end_by_ms, now_ms() + (int64_t)action->limits.wall_ms);
    run->cpu_check_ms = next_cpu_check(run);
    wd_capture_init(&run->out, action->limits.output_bytes);
    wd_capture_init(&run->err, action->limits.output_bytes);
    wd_status status = wd_slot_start(kit, index, action, &run->slot, err);
    if (status != WD_OK)
        wd_layer_add_cure(err->msg, sizeof(err->msg));
    return status;
}

/* --- watching --------------------------------------------------------------------------- */

void wd_run_watch(const wd_run *run, struct pollfd fds[WD_RUN_FDS])
{
    const wd_slot *slot = &run->slot;
    fds[PROCESS].fd = run->process_ended ? -1 : slot->process_fd;
    fds[REPORT].fd = run->reading == WD_SLOT_NOTHING_YET ? slot->report_fd : -1;
    fds[OUT].fd = run->out_ended ? -1 : slot->out_fd;
    fds[ERR].fd = run->err_ended ? -1 : slot->err_fd;
    for (int i = 0; i < WD_RUN_FDS; i++) {
        fds[i].events = POLLIN;
        fds[i].revents = 0;
    }
}

int64_t wd_run_wake_ms(const wd_run *run)
{
    if (run->process_ended)
        return run->retry_ms;
    if (run->hard_ms != INT64_MAX)
        return run->hard_ms;
    return earlier(run->end_by_ms, run->cpu_check_ms);
}

/* --- steps ------------------------------------------------------------------------------ */

/* The report may lie unread when the process has ended already. */
static void read_report(wd_run *run)
{
    run->reading = wd_slot_read(&run->slot, &run->report);
    if (run->reading == WD_SLOT_NOTHING_YET && run->process_ended)
        run->reading = WD_SLOT_LOST;
}

void wd_run_kill(wd_run *run, wd_cause cause)
{
    if (run->hard_ms != INT64_MAX || run->process_ended)
        return;
    if (run->reading == WD_SLOT_NOTHING_YET)
        read_report(run);
    if (run->reading == WD_SLOT_NOTHING_YET)
        run->killed = cause; /* else it has ended by itself, whatever is left */
    run->hard_ms = now_ms() + HARD_MS;
    run->force = WD_SLOT_KILL_ACTION;
    wd_slot_kill(&run->slot, run->force);
}

static bool read_stream(int fd, wd_capture *capture)
{
    uint8_t bytes[READ_BYTES];
    for (int i = 0; i < READS; i++) {
        ssize_t size = read(fd, bytes, sizeof(bytes));
        if (size < 0)
            return errno != EAGAIN && errno != EINTR;
        if (size == 0)
            return true;
        if (!wd_capture_add(capture, (wd_span){bytes, (size_t)size}))
            return true; /* out of memory: what came is kept, the rest is not */
    }
    return false;
}

static void check_flood(wd_run *run)
{
    uint64_t most = run->limits.output_bytes + FLOOD_BYTES;
    if (run->out.original > most || run->err.original > most)
        wd_run_kill(run, CAUSE(OUTPUT));
}

static void check_cpu(wd_run *run)
{
    uint64_t limit_us = run->limits.cpu_ms * 1000;
    wd_slot_usage(&run->slot, &run->usage);
    if (run->usage.cpu_us >= limit_us) {
        wd_run_kill(run, CAUSE(CPU));
        return;
    }
    if (!run->yields && run->usage.cpu_us >= BRISK_US) {
        run->yields = true;
        wd_slot_yield(&run->slot);
    }
    run->cpu_check_ms = next_cpu_check(run);
}

static void check_times(wd_run *run)
{
    int64_t now = now_ms();
    if (run->hard_ms <= now) {
        if (run->force != WD_SLOT_KILL_ALL)
            run->force++;
        wd_slot_kill(&run->slot, run->force);
        run->hard_ms = now + HARD_MS;
        return;
    }
    if (run->hard_ms != INT64_MAX)
        return;
    if (run->end_by_ms <= now)
        wd_run_kill(run, CAUSE(WALL));
    else if (run->cpu_check_ms <= now)
        check_cpu(run);
}

static void end_process(wd_run *run)
{
    run->process_ended = true;
    run->ended_ns = wd_clock_mono_ns(wd_clock_system());
    wd_slot_usage(&run->slot, &run->usage); /* before the cgroup goes */
    if (run->reading == WD_SLOT_NOTHING_YET)
        read_report(run);
}

static void clear_away(wd_run *run)
{
    run->gone = wd_slot_gone(&run->slot);
    if (run->gone) {
        run->ended_ns = wd_clock_mono_ns(wd_clock_system());
        run->retry_ms = INT64_MAX;
        return;
    }
    wd_slot_kill(&run->slot, WD_SLOT_KILL_ALL);
    run->retry_ms = now_ms() + RETRY_MS;
}

bool wd_run_step(wd_run *run, const struct pollfd fds[WD_RUN_FDS])
{
    if (fds[OUT].revents != 0)
        run->out_ended = read_stream(run->slot.out_fd, &run->out);
    if (fds[ERR].revents != 0)
        run->err_ended = read_stream(run->slot.err_fd, &run->err);
    check_flood(run);
    if (fds[REPORT].revents != 0)
        read_report(run);
    if (fds[PROCESS].revents != 0)
        end_process(run);
    if (!run->process_ended)
        check_times(run);
    else if (!run->gone)
        clear_away(run);
    return run->gone && run->out_ended && run->err_ended;
}

/* --- result ----------------------------------------------------------------------------- */

static bool is_cpu_used_up(const wd_run *run)
{
    uint64_t used_us =
        run->report.cpu_us > run->usage.cpu_us ? run->report.cpu_us : run->usage.cpu_us;
    return used_us >= run->limits.cpu_ms * 1000;
}

/* Which limit ended it. Only what the kernel counted or we did is believed: a status
 * alone can be made by the action (exit 137, kill -XCPU of itself, limits that it lowers
 * for itself). A signal's limit is told only where it was reached. */
static wd_cause find_cause(const wd_run *run, int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == SIGKILL && run->killed != CAUSE(NONE))
        return run->killed;
    if (number == SIGKILL && run->usage.oom_kills > 0)
        return CAUSE(MEMORY);
    if (number == SIGXFSZ && run->report.files_full)
        return CAUSE(FILESIZE);
    if ((number == SIGXCPU || number == SIGKILL) && is_cpu_used_up(run))
        return CAUSE(CPU);
    /* what dies may not fork any more, which the kernel counts as well */
    if (status != 0 && run->usage.pids_refused > 0 && run->killed == CAUSE(NONE))
        return CAUSE(PIDS);
    return CAUSE(NONE);
}

static void set_failure(wd_run_result *result, wd_layer_id layer, const char *what,
                        int error)
{
    result->outcome = WARDED__EXEC__V1__DONE__OUTCOME__FAILED;
    (void)snprintf(result->failure, sizeof(result->failure), "%s: %s%s%s",
                   wd_layer_name(layer), what, error != 0 ? ": " : "",
                   error != 0 ? strerror(error) : "");
    wd_utf8_mend(result->failure); /* it quotes a path, cut to fit */
    wd_layer_add_cure(result->failure, sizeof(result->failure));
}

void wd_run_result_get(wd_run *run, wd_run_result *ret_result)
{
    const wd_slot_report *report = &run->report;
    *ret_result = (wd_run_result){
        .outcome = WARDED__EXEC__V1__DONE__OUTCOME__ENDED,
        .out = wd_capture_end(&run->out),
        .err = wd_capture_end(&run->err),
        .run_us = (uint64_t)(run->ended_ns - run->started_ns) / 1000,
    };
    /* what could not be set up any more because we killed it is no fault */
    bool fault = run->reading == WD_SLOT_REPORTED && report->kind == WD_SLOT_FAULT;
    if (fault && run->killed == CAUSE(NONE)) {
        set_failure(ret_result, (wd_layer_id)report->layer, report->what,
                    report->error);
        return;
    }
    bool lost = fault || run->reading != WD_SLOT_REPORTED;
    if (lost && run->killed == CAUSE(NONE) && run->usage.oom_kills == 0) {
        set_failure(ret_result, WD_LAYER_PID_NS, "the slot's init died", 0);
        return;
    }
    ret_result->wait_status = lost ? SIGKILL : report->wait_status;
    ret_result->leftovers = lost ? 0 : report->leftovers;
    ret_result->cause = find_cause(run, ret_result->wait_status);
}

void wd_run_done(wd_run *run)
{
    wd_slot_done(&run->slot);
    wd_capture_done(&run->out);
    wd_capture_done(&run->err);
}
