#include "server/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/c/heap.h"
#include "server/audit_keeper.h"
#include "server/control.h"
#include "server/delays.h"
#include "server/descriptors.h"
#include "server/gate_boot.h"
#include "server/gate_reload.h"
#include "server/log.h"
#include "server/recovery.h"
#include "server/vanished.h"

#define TICK_MS          1000 /* refusals of strangers are written so often */
#define GRACE_MS         3000
#define DRAIN_MS         10000
#define EXECUTOR_WAIT_MS 30000
#define CANCEL_WAIT_MS   5000 /* for signalled calls to end; a kill takes half a second */
#define DRAIN_STEP_MS    20

/* The main thread's: control messages, and what has to be done by the clock. */
typedef struct run {
    wd_gate gate;
    int control;
    int wake; /* eventfd */
    wd_vanished *vanished;
    bool listening, stopping, orphaned;
    int64_t executor_by_ms; /* monotonic */
    int64_t next_tick_ms;
} run;

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static int64_t now_ms(const run *r)
{
    return wd_clock_mono_ms(r->gate.clock);
}

/* --- called from other threads ------------------------------------------------------------- */

static void wake(void *arg)
{
    const run *r = arg;
    uint64_t one = 1;
    (void)!write(r->wake, &one, sizeof(one));
}

static void pipe_gone(void *arg, uint32_t pipe)
{
    run *r = arg;
    int64_t grace = or_default(r->gate.options.vanish_grace_ms, GRACE_MS);

    wd_vanished_note(r->vanished, pipe, now_ms(r) + grace);
    wake(r);
}

/* --- start --------------------------------------------------------------------------------- */

/* Many connections need many descriptors: take what the system allows. */
static wd_status take_descriptors(wd_gate *gate, wd_error *err)
{
    char text[512];
    uint64_t limit = wd_files_raise();

    gate->files = wd_files_plan(limit);
    if (wd_files_tell(limit, gate->config->limits.connections_per_principal, text,
                      sizeof(text)))
        return WD_OK;
    if (limit < WD_FILES_LEAST)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s", text);
    wd_log(WD_LOG_WARN, "gate.descriptors", WD_KV("why", text));
    return WD_OK;
}

/* run/address appears whole, or not at all. */
static wd_status write_address(const wd_config *config, const char *address,
                               wd_error *err)
{
    WD_AUTO(wd_text) *path = wd_path_join(config->places.run_dir, "address");
    WD_AUTO(wd_text) *fresh = wd_path_join(config->places.run_dir, ".address.new");

    if (path == NULL || fresh == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory");
    (void)unlink(fresh);
    WD_AUTO_FILE FILE *file = fopen(fresh, "wxe");
    if (file == NULL || fprintf(file, "%s\n", address) < 0 || fflush(file) != 0 ||
        rename(fresh, path) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "can't write %s: %s", path,
                       strerror(errno));
    return WD_OK;
}

/* Nobody is to take an old address for ours. */
static void remove_address(const wd_config *config)
{
    WD_AUTO(wd_text) *path = wd_path_join(config->places.run_dir, "address");

    if (path != NULL)
        (void)unlink(path);
}

static wd_status listen_now(run *r, wd_error *err)
{
    char address[WD_ADDRESS_BYTES];

    WD_TRY(wd_listener_start(r->gate.listener, address, err));
    WD_TRY(write_address(r->gate.config, address, err));
    r->listening = true;
    wd_log(WD_LOG_INFO, "gate.ready", WD_KV("address", address),
           WD_KV("uri", r->gate.uri));
    return wd_control_send(r->control, WD_CONTROL_READY, -1, NULL, err);
}

/* Nothing listens before the executor has shown that its sandbox holds. */
static wd_status listen_when_ready(run *r, wd_error *err)
{
    char problem[256];

    if (r->listening || r->stopping)
        return WD_OK;
    wd_link_ready *ready = wd_link_get_ready(r->gate.link, problem, sizeof(problem));
    if (ready != NULL) {
        wd_link_ready_unref(r->gate.link, ready);
        return listen_now(r, err);
    }
    if (now_ms(r) < r->executor_by_ms)
        return WD_OK;
    return wd_fail(err, WD_UNAVAILABLE, "the executor is not ready: %s", problem);
}

/* --- running ------------------------------------------------------------------------------- */

static void hear(run *r)
{
    wd_control_message message;
    wd_error err;

    if (wd_control_receive(r->control, &message, &err) != WD_OK) {
        wd_log(WD_LOG_WARN, "gate.control", WD_KV("why", err.msg));
        return;
    }
    switch (message.kind) {
    case WD_CONTROL_CHANNEL:
        wd_link_attach(r->gate.link, message.fd);
        break;
    case WD_CONTROL_STOP:
        r->stopping = true;
        break;
    case WD_CONTROL_RELOAD:
        wd_gate_reload(&r->gate);
        break;
    case WD_CONTROL_END: /* the supervisor is gone */
        r->stopping = r->orphaned = true;
        break;
    case WD_CONTROL_READY:
    case WD_CONTROL_DEAD:
    case WD_CONTROL_FAILED:
        break;
    }
}

static void do_what_is_due(run *r)
{
    int64_t now = now_ms(r);
    uint32_t pipe;

    while (wd_vanished_due(r->vanished, now, &pipe)) {
        const wd_live_filter filter = {.pipe = pipe};
        (void)wd_inflight_signal(r->gate.inflight, &filter, WD_SIGNAL_VANISHED);
    }
    wd_delays_run(r->gate.delays, r->gate.service_pool, now);
    if (now < r->next_tick_ms)
        return;
    r->next_tick_ms = now + TICK_MS;
    wd_keeper_expire(r->gate.keeper, now - WD_CALL_FLOOR_MS);
    wd_rejects_flush(r->gate.rejects, r->gate.writer);
}

static void wait_for_news(run *r, int64_t most_ms)
{
    struct pollfd fds[2] = {
        {.fd = r->control, .events = POLLIN},
        {.fd = r->wake, .events = POLLIN},
    };
    int64_t now = now_ms(r);
    int64_t vanished = wd_vanished_next_ms(r->vanished);
    int64_t delayed = wd_delays_next_ms(r->gate.delays);
    int64_t until = now + most_ms;

    if (vanished < until)
        until = vanished;
    if (delayed < until)
        until = delayed;
    if (r->next_tick_ms < until)
        until = r->next_tick_ms;
    if (poll(fds, r->orphaned ? 0 : 2, until > now ? (int)(until - now) : 0) <= 0)
        return;
    if ((fds[1].revents & POLLIN) != 0) {
        uint64_t count;
        (void)!read(r->wake, &count, sizeof(count));
    }
    if (fds[0].revents != 0)
        hear(r);
}

static wd_status serve(run *r, wd_error *err)
{
    r->executor_by_ms =
        now_ms(r) + or_default(r->gate.options.executor_wait_ms, EXECUTOR_WAIT_MS);
    while (!r->stopping) {
        wait_for_news(r, TICK_MS);
        do_what_is_due(r);
        WD_TRY(listen_when_ready(r, err));
    }
    return WD_OK;
}

/* --- stop ---------------------------------------------------------------------------------- */

/* Wait until no call is left, at most `most_ms`. */
static bool drained(run *r, int64_t most_ms)
{
    int64_t until = now_ms(r) + most_ms;

    while (wd_listener_busy(r->gate.listener) > 0) {
        if (now_ms(r) >= until)
            return false;
        wait_for_news(r, DRAIN_STEP_MS);
        do_what_is_due(r);
    }
    return true;
}

/* Let calls end, then end them, then close. false: some would not. */
static bool drain(run *r)
{
    const wd_live_filter all = {.principal = NULL};
    int64_t patience = or_default(r->gate.options.drain_ms, DRAIN_MS);

    remove_address(r->gate.config);
    atomic_store(&r->gate.draining, true);
    wd_log(WD_LOG_INFO, "gate.draining",
           WD_KN("calls", wd_listener_busy(r->gate.listener)));
    if (!drained(r, r->orphaned ? 0 : patience))
        (void)wd_inflight_signal(r->gate.inflight, &all, WD_SIGNAL_DRAIN);
    (void)drained(r, CANCEL_WAIT_MS);
    wd_listener_shut(r->gate.listener);
    return drained(r, CANCEL_WAIT_MS);
}

static void stop(run *r)
{
    wd_error err;

    if (!drain(r)) {
        wd_log_event(WD_LOG_ERROR,
                     "gate.stuck"); /* the next start records what was cut */
        _exit(0);
    }
    wd_rejects_flush(r->gate.rejects, r->gate.writer);
    wd_audit_keeper_stop(WD_STEAL(r->gate.audit_keeper));
    wd_writer_stop(WD_STEAL(r->gate.writer));
    if (wd_recovery_stop(&r->gate, &err) != WD_OK)
        wd_log(WD_LOG_ERROR, "gate.stop_unrecorded", WD_KV("why", err.msg));
    wd_log_event(WD_LOG_INFO, "gate.stopped");
}

static wd_status live(run *r, wd_error *err)
{
    const wd_gate_hooks hooks = {.changed = wake, .vanished = pipe_gone, .arg = r};

    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->vanished = wd_vanished_new();
    if (r->wake < 0 || r->vanished == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory or no descriptor for the gate");
    remove_address(r->gate.config);
    WD_TRY(take_descriptors(&r->gate, err));
    WD_TRY(wd_gate_boot(&r->gate, &hooks, err));
    WD_TRY(serve(r, err));
    stop(r);
    return WD_OK;
}

int wd_gate_run_with(const wd_config *config, int control_fd,
                     const wd_gate_options *options)
{
    run *r = calloc(1, sizeof(*r));
    wd_error err = {.status = WD_OK};

    if (r == NULL)
        return WD_GATE_EXIT_REFUSED;
    wd_heap_set_up();
    (void)signal(SIGPIPE, SIG_IGN);
    r->control = control_fd;
    r->wake = -1;
    r->gate.config = config;
    r->gate.options = *options;
    r->gate.clock = options->clock != NULL ? options->clock : wd_clock_system();
    r->gate.started_ms = now_ms(r);
    wd_status status = live(r, &err);
    if (status != WD_OK) {
        wd_log(WD_LOG_ERROR, "gate.refused", WD_KV("why", err.msg));
        (void)!wd_control_send(control_fd, WD_CONTROL_FAILED, -1, err.msg, NULL);
    }
    wd_gate_unboot(&r->gate);
    wd_vanished_free(r->vanished);
    if (r->wake >= 0)
        (void)close(r->wake);
    (void)close(control_fd);
    free(r);
    if (status == WD_OK)
        return 0;
    return err.reason == WD_REASON_CONFLICT ? WD_GATE_EXIT_IN_USE
                                            : WD_GATE_EXIT_REFUSED;
}

int wd_gate_run(const wd_config *config, int control_fd)
{
    const wd_gate_options options = {.clock = NULL};

    return wd_gate_run_with(config, control_fd, &options);
}
