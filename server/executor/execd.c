#include "server/executor/execd.h"

#include "proto/c/clock.h"
#include "server/control.h"
#include "server/executor/uids.h"
#include "server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a stop may take; then the end of this process kills what is left. */
#define STOP_MS 5000
/* Between two looks for what a killed executor left, while there is something. */
#define SWEEP_MS 1000
/* Between two looks for a child that is left when nothing runs: it is about to die. */
#define REAP_MS 10

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

/* --- start and end ------------------------------------------------------------------------ */

static wd_status check_layers(wd_execd *execd, wd_error *err)
{
    wd_probe_layers(execd->config, execd->layers);
    const wd_layer_state *missing = wd_probe_missing(execd->layers);
    if (missing == NULL)
        return WD_OK;
    return wd_fail(err, WD_UNAVAILABLE, "%s: %s", missing->name, missing->detail);
}

wd_status wd_execd_init(wd_execd *execd, const wd_config *config, int control,
                        int64_t canary_ms, wd_error *err)
{
    *execd = (wd_execd){.config = config,
                        .control = control,
                        .canary_ms = canary_ms,
                        .next_fd = -1,
                        .claim = -1,
                        .link = {.fd = -1},
                        .n_places = (unsigned)config->sandbox.slots};
    wd_queue_init(&execd->queue);
    if (config->sandbox.mode == WD_SANDBOX_EXTERNAL)
        return wd_fail(err, WD_UNAVAILABLE,
                       "sandbox.mode external is not built yet; use mode namespaces");
    WD_TRY(check_layers(execd, err));
    const wd_uid_range ids = {config->sandbox.uid_base, 2 * config->sandbox.slots};
    WD_TRY(wd_uids_claim(ids, &execd->claim, err));
    WD_TRY(wd_slot_kit_new(config, &execd->kit, err));
    WD_TRY(wd_canary_new(config, &execd->canary, err));
    execd->places = calloc(execd->n_places, sizeof(*execd->places));
    if (execd->places == NULL)
        return wd_fail(err, WD_UNAVAILABLE, "out of memory");
    for (unsigned i = 0; i < execd->n_places; i++)
        execd->places[i].index = i; /* due_ms 0: a canary first */
    return WD_OK;
}

/* Those too that ran when the start was refused. */
static void free_places(wd_execd *execd)
{
    for (unsigned i = 0; execd->places != NULL && i < execd->n_places; i++) {
        wd_place *place = &execd->places[i];
        if (place->state != WD_PLACE_FREE)
            wd_run_done(&place->run);
        wd_job_free(place->job);
    }
    free(execd->places);
}

void wd_execd_done(wd_execd *execd)
{
    free_places(execd);
    wd_link_close(&execd->link);
    wd_queue_done(&execd->queue);
    if (execd->next_fd >= 0)
        (void)close(execd->next_fd);
    if (execd->claim >= 0)
        (void)close(execd->claim);
    wd_canary_free(execd->canary);
    wd_slot_kit_free(execd->kit);
}

/* --- the supervisor ------------------------------------------------------------------------ */

static void take_socket(wd_execd *execd)
{
    wd_error error;
    int fd = execd->next_fd;
    execd->next_fd = -1;
    if (wd_link_open(&execd->link, fd, &error) != WD_OK) {
        wd_log(WD_LOG_ERROR, "execd.link", WD_KV("error", error.msg));
        execd->ending = true; /* as if it had come and gone */
        return;
    }
    if (execd->available)
        wd_execd_say_ready(execd);
    else
        wd_execd_say_unavailable(execd, "canary: the sandbox does not hold");
}

static void stop(wd_execd *execd)
{
    wd_execd_forget(execd);
    execd->stopping = true;
    for (unsigned i = 0; i < execd->n_places; i++)
        if (execd->places[i].state != WD_PLACE_FREE)
            wd_run_kill(&execd->places[i].run, WARDED__EXEC__V1__DONE__CAUSE__CANCEL);
}

static void read_control(wd_execd *execd)
{
    wd_control_message message;
    wd_error error;
    if (wd_control_receive(execd->control, &message, &error) != WD_OK) {
        if (error.status != WD_UNAVAILABLE)
            wd_log(WD_LOG_ERROR, "execd.control", WD_KV("error", error.msg));
        return;
    }
    if (message.kind == WD_CONTROL_END || message.kind == WD_CONTROL_STOP) {
        stop(execd);
    } else if (message.kind == WD_CONTROL_CHANNEL) {
        wd_execd_forget(execd); /* the one before has to have ended */
        if (execd->next_fd >= 0)
            (void)close(execd->next_fd);
        execd->next_fd = message.fd;
    }
}

static bool tell(wd_execd *execd, wd_control_kind kind)
{
    wd_error error;
    return wd_control_send(execd->control, kind, -1, NULL, &error) == WD_OK;
}

static bool has_forgotten(const wd_execd *execd)
{
    for (unsigned i = 0; i < execd->n_places; i++)
        if (execd->places[i].state == WD_PLACE_JOB && execd->places[i].forgotten)
            return true;
    return false;
}

/* What the supervisor waits for. */
static void report_progress(wd_execd *execd)
{
    if (execd->ending && !has_forgotten(execd)) {
        execd->ending = false;
        if (!execd->stopping && !tell(execd, WD_CONTROL_DEAD))
            stop(execd);
    }
    if (execd->available && !execd->was_ready) {
        execd->was_ready = true;
        if (!tell(execd, WD_CONTROL_READY))
            stop(execd);
    }
    if (execd->next_fd >= 0 && !execd->ending)
        take_socket(execd);
}

/* --- the loop -------------------------------------------------------------------------------- */

static bool is_idle(const wd_execd *execd)
{
    for (unsigned i = 0; i < execd->n_places; i++)
        if (execd->places[i].state != WD_PLACE_FREE)
            return false;
    return true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int timeout_ms(const wd_execd *execd)
{
    int64_t wake = earlier(execd->queue.wake_ms, execd->sweep_ms);
    if (is_idle(execd) && !wd_slot_reap())
        wake = earlier(wake, now_ms() + REAP_MS);
    for (unsigned i = 0; i < execd->n_places; i++) {
        const wd_place *place = &execd->places[i];
        wake =
            earlier(wake, place->state == WD_PLACE_FREE ? place->due_ms
                                                        : wd_run_wake_ms(&place->run));
    }
    int64_t left = wake == INT64_MAX ? 60000 : wake - now_ms();
    return left < 0 ? 0 : (int)earlier(left, 60000);
}

/* fds[0] control, fds[1] job socket, then each place's. */
static void watch(const wd_execd *execd, struct pollfd *fds)
{
    fds[0] =
        (struct pollfd){.fd = execd->stopping ? -1 : execd->control, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = execd->link.fd, .events = POLLIN};
    if (execd->link.out.size > 0)
        fds[1].events |= POLLOUT;
    for (unsigned i = 0; i < execd->n_places; i++) {
        struct pollfd *own = &fds[2 + (size_t)i * WD_RUN_FDS];
        for (unsigned k = 0; k < WD_RUN_FDS; k++)
            own[k] = (struct pollfd){.fd = -1};
        if (execd->places[i].state != WD_PLACE_FREE)
            wd_run_watch(&execd->places[i].run, own);
    }
}

static void serve_link(wd_execd *execd, short events)
{
    wd_error error = {.status = WD_OK};
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 &&
        wd_link_read(&execd->link, wd_execd_frame, execd, &error) != WD_OK) {
        wd_log(WD_LOG_INFO, "execd.gate_gone", WD_KV("why", error.msg));
        wd_execd_forget(execd);
    }
}

static void sweep(wd_execd *execd)
{
    if (now_ms() >= execd->sweep_ms)
        execd->sweep_ms =
            wd_slot_kit_sweep(execd->kit) ? INT64_MAX : now_ms() + SWEEP_MS;
}

static wd_status step(wd_execd *execd, const struct pollfd *fds, wd_error *err)
{
    for (unsigned i = 0; i < execd->n_places; i++) {
        wd_place *place = &execd->places[i];
        if (place->state != WD_PLACE_FREE &&
            wd_run_step(&place->run, &fds[2 + (size_t)i * WD_RUN_FDS]))
            WD_TRY(wd_execd_finish(execd, place, err));
    }
    if (fds[0].revents != 0)
        read_control(execd);
    if (execd->link.fd >= 0 && execd->link.fd == fds[1].fd)
        serve_link(execd, fds[1].revents);
    report_progress(execd);
    wd_execd_schedule(execd);
    sweep(execd);
    if (!wd_link_flush(&execd->link)) { /* gone before we could greet it */
        wd_execd_forget(execd);
        report_progress(execd);
    }
    return WD_OK;
}

wd_status wd_execd_run(wd_execd *execd, wd_error *err)
{
    size_t n_fds = 2 + (size_t)execd->n_places * WD_RUN_FDS;
    struct pollfd *fds = calloc(n_fds, sizeof(*fds));
    if (fds == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    wd_status status = WD_OK;
    int64_t stop_by = INT64_MAX;
    wd_execd_schedule(execd);
    while (status == WD_OK && execd->refused.status == WD_OK &&
           !(execd->stopping && is_idle(execd)) && now_ms() < stop_by) {
        watch(execd, fds);
        if (poll(fds, n_fds, timeout_ms(execd)) < 0)
            continue; /* EINTR */
        status = step(execd, fds, err);
        if (execd->stopping && stop_by == INT64_MAX)
            stop_by = now_ms() + STOP_MS;
    }
    free(fds);
    if (status != WD_OK || execd->refused.status == WD_OK)
        return status;
    *err = execd->refused;
    return err->status;
}
