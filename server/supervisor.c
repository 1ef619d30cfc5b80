#include "server/supervisor.h"

#include "proto/c/clock.h"
#include "server/ctl.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/repeats.h"
#include "server/run_lock.h"
#include "server/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A dying process closes its descriptors before its end is told: longer than that. */
#define RELINK_MS 200

typedef struct supervisor {
    wd_supervisor_options options; /* defaults filled in */
    wd_child execd;
    wd_child gate;
    int lock;
    int signals;
    int ctl;
    bool linked;         /* the gate has the other end of execd's job socket */
    bool outstanding;    /* execd has a job socket and has not said 'K' of it */
    int64_t dead_by_ms;  /* 'K' is due; INT64_MAX: not waited for */
    int64_t link_at_ms;  /* not before: who lost its link may be about to end */
    wd_repeats nonsense; /* messages of children that mean nothing */
    bool announced;      /* both were ready once */
    bool stopping;
    int refused; /* the first start was: the exit status; 0: not */
    char refusal[WD_CONTROL_TEXT_BYTES + 32];
} supervisor;

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

static bool is_up(const wd_child *child)
{
    return child->state == WD_CHILD_STARTING || child->state == WD_CHILD_READY;
}

/* --- doing -------------------------------------------------------------------------- */

static void start(supervisor *s, wd_child *child)
{
    wd_error err = {0};
    int64_t now = now_ms();
    if (wd_child_start(child, now, &err) != WD_OK) {
        wd_log(WD_LOG_ERROR, "child.start_failed", WD_KV("error", err.msg));
        child->start_at_ms = now + s->options.backoff_most_ms;
        return;
    }
    wd_run_lock_note(s->lock, (pid_t[2]){s->execd.pid, s->gate.pid});
    child->kill_at_ms = now + s->options.start_ms;
    wd_log(WD_LOG_INFO, "child.start", WD_KV("child", child->program->name),
           WD_KN("pid", child->pid), WD_KN("starts", child->starts));
}

/* A fresh pair of job sockets, one end to each. */
static void make_link(supervisor *s)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        wd_log(WD_LOG_ERROR, "link.failed", WD_KV("error", strerror(errno)));
        return;
    }
    WD_AUTO_FD int for_execd = ends[0];
    WD_AUTO_FD int for_gate = ends[1];
    if (wd_control_send(s->execd.control, WD_CONTROL_CHANNEL, for_execd, NULL, NULL) !=
        WD_OK)
        return; /* it is ending: its exit comes next */
    s->outstanding = true;
    s->dead_by_ms = INT64_MAX;
    /* Where this fails the gate is ending, execd sees the end of file and says 'K'. */
    s->linked = wd_control_send(s->gate.control, WD_CONTROL_CHANNEL, for_gate, NULL,
                                NULL) == WD_OK;
    wd_log(WD_LOG_INFO, "link.made", WD_KN("execd", s->execd.pid),
           WD_KN("gate", s->gate.pid));
}

static void stop(supervisor *s)
{
    int64_t now = now_ms();
    if (s->stopping) { /* asked twice: no more waiting */
        wd_child_kill(&s->gate);
        wd_child_kill(&s->execd);
        return;
    }
    s->stopping = true;
    wd_notify("STOPPING=1");
    wd_log_event(WD_LOG_INFO, "supervisor.stop");
    wd_child_stop(&s->gate, now, now + s->options.stop_ms);
}

static void reload(const supervisor *s)
{
    wd_log_event(WD_LOG_INFO, "supervisor.reload");
    if (s->gate.control >= 0)
        (void)!wd_control_send(s->gate.control, WD_CONTROL_RELOAD, -1, NULL, NULL);
}

static void kill_late(wd_child *child, int64_t now)
{
    if (child->state == WD_CHILD_DOWN || now < child->kill_at_ms)
        return;
    wd_log(WD_LOG_ERROR, "child.late", WD_KV("child", child->program->name),
           WD_KV("state", wd_child_state_name(child->state)));
    child->kill_at_ms = INT64_MAX;
    wd_child_kill(child);
}

/* The next step from here, whatever has happened: the whole policy. */
static void advance(supervisor *s)
{
    int64_t now = now_ms();
    kill_late(&s->gate, now);
    kill_late(&s->execd, now);
    if (s->outstanding && !is_up(&s->gate) && now >= s->dead_by_ms) {
        wd_log_event(WD_LOG_ERROR, "execd.did_not_confirm");
        s->dead_by_ms = INT64_MAX;
        wd_child_kill(&s->execd);
    }
    if (s->stopping) {
        if (s->gate.state == WD_CHILD_DOWN)
            wd_child_stop(&s->execd, now, now + s->options.stop_ms);
        return;
    }
    if (s->execd.state == WD_CHILD_DOWN && now >= s->execd.start_at_ms)
        start(s, &s->execd);
    if (s->execd.state != WD_CHILD_READY || s->outstanding)
        return;
    if (s->gate.state == WD_CHILD_DOWN && now >= s->gate.start_at_ms)
        start(s, &s->gate);
    if (is_up(&s->gate) && !s->linked && now >= s->link_at_ms)
        make_link(s);
}

/* --- what children say -------------------------------------------------------------- */

static void on_ready(supervisor *s, wd_child *child)
{
    if (child->state != WD_CHILD_STARTING)
        return;
    child->state = WD_CHILD_READY;
    child->got_ready = true;
    child->reason[0] = '\0';
    child->backoff_ms = 0;
    child->kill_at_ms = INT64_MAX;
    child->since_ms = now_ms();
    wd_log(WD_LOG_INFO, "child.ready", WD_KV("child", child->program->name),
           WD_KN("pid", child->pid));
    if (!s->announced && s->gate.state == WD_CHILD_READY) {
        s->announced = true;
        wd_notify("READY=1");
        wd_log_event(WD_LOG_INFO, "supervisor.ready");
    }
}

static void on_failed(wd_child *child, const char *text)
{
    (void)snprintf(child->reason, sizeof(child->reason), "%s", text);
    wd_log(WD_LOG_ERROR, "child.refused", WD_KV("child", child->program->name),
           WD_KV("reason", text));
}

static void on_message(supervisor *s, wd_child *child, const wd_control_message *m)
{
    switch (m->kind) {
    case WD_CONTROL_READY:
        on_ready(s, child);
        return;
    case WD_CONTROL_FAILED:
        on_failed(child, m->text);
        return;
    case WD_CONTROL_DEAD:
        if (child == &s->execd) {
            s->link_at_ms = now_ms() + (s->linked ? RELINK_MS : 0);
            s->outstanding = false;
            s->linked = false;
        }
        return;
    case WD_CONTROL_END: /* its exit follows, or is helped along */
        (void)close(child->control);
        child->control = -1;
        child->kill_at_ms = now_ms() + 2000;
        return;
    case WD_CONTROL_CHANNEL:
    case WD_CONTROL_STOP:
    case WD_CONTROL_RELOAD:
        break;
    }
    if (m->fd >= 0)
        (void)close(m->fd);
    wd_repeats_log(&s->nonsense, "child.nonsense", child->program->name, "its kind");
}

static void read_control(supervisor *s, wd_child *child)
{
    while (child->control >= 0) {
        wd_control_message m;
        wd_error err = {0};
        wd_status status = wd_control_receive(child->control, &m, &err);
        if (status == WD_UNAVAILABLE)
            return;
        if (status == WD_OK)
            on_message(s, child, &m);
        else
            wd_repeats_log(&s->nonsense, "child.nonsense", child->program->name,
                           err.msg);
    }
}

/* --- ends --------------------------------------------------------------------------- */

static void plan_restart(supervisor *s, wd_child *child, int64_t now)
{
    if (child->got_ready) {
        child->start_at_ms = now;
        return;
    }
    int64_t wait =
        child->backoff_ms > 0 ? child->backoff_ms * 2 : s->options.backoff_first_ms;
    if (wait > s->options.backoff_most_ms)
        wait = s->options.backoff_most_ms;
    child->backoff_ms = wait;
    child->start_at_ms = now + wait;
    wd_log(WD_LOG_WARN, "child.backoff", WD_KV("child", child->program->name),
           WD_KN("wait_ms", wait));
}

static void refuse(supervisor *s, const wd_child *child, int wait_status)
{
    (void)snprintf(s->refusal, sizeof(s->refusal), "%s: %s", child->program->name,
                   child->reason);
    bool in_use = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == WD_EXIT_IN_USE;
    s->refused = in_use ? WD_EXIT_IN_USE : WD_EXIT_REFUSED;
    stop(s);
}

static void on_exit_of(supervisor *s, wd_child *child)
{
    read_control(s, child); /* its last words */
    char text[64];
    int64_t now = now_ms();
    bool asked = child->state == WD_CHILD_STOPPING;
    int wait_status = wd_child_reap(child, now);
    wd_wait_status_text(wait_status, text, sizeof(text));
    wd_log(asked ? WD_LOG_INFO : WD_LOG_WARN, "child.exit",
           WD_KV("child", child->program->name), WD_KV("status", text));
    s->linked = false;
    s->link_at_ms = 0;
    if (child == &s->execd)
        s->outstanding = false;
    else if (s->outstanding)
        s->dead_by_ms = now + s->options.dead_ms;
    if (s->stopping)
        return;
    if (!s->announced && child->reason[0] != '\0')
        refuse(s, child, wait_status);
    else
        plan_restart(s, child, now);
}

/* --- the loop ----------------------------------------------------------------------- */

static void answer(const supervisor *s)
{
    char execd[2048];
    char gate[2048];
    char text[WD_CTL_TEXT_BYTES];
    wd_child_describe(&s->execd, now_ms(), execd, sizeof(execd));
    wd_child_describe(&s->gate, now_ms(), gate, sizeof(gate));
    (void)snprintf(text, sizeof(text), "supervisor.pid=%d\nlinked=%d\n%s%s",
                   (int)getpid(), (int)s->linked, execd, gate);
    wd_ctl_answer(s->ctl, text);
}

static void on_signal(supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP)
            reload(s);
        else if (info.ssi_signo != SIGCHLD)
            stop(s);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_ms(const supervisor *s)
{
    int64_t next = earlier(s->gate.kill_at_ms, s->execd.kill_at_ms);
    if (s->outstanding && !is_up(&s->gate))
        next = earlier(next, s->dead_by_ms);
    if (!s->stopping && s->execd.state == WD_CHILD_DOWN)
        next = earlier(next, s->execd.start_at_ms);
    if (!s->stopping && s->gate.state == WD_CHILD_DOWN &&
        s->execd.state == WD_CHILD_READY)
        next = earlier(next, s->gate.start_at_ms);
    if (!s->stopping && is_up(&s->gate) && !s->linked && !s->outstanding &&
        s->execd.state == WD_CHILD_READY)
        next = earlier(next, s->link_at_ms);
    if (next == INT64_MAX)
        return -1;
    int64_t left = next - now_ms();
    return left < 0 ? 0 : (int)earlier(left, 60000);
}

/* Ends are seen before words, so that a gate's death is known when its 'K' comes. */
static void turn(supervisor *s)
{
    struct pollfd fds[] = {
        {s->execd.pidfd, POLLIN, 0},   {s->gate.pidfd, POLLIN, 0},
        {s->execd.control, POLLIN, 0}, {s->gate.control, POLLIN, 0},
        {s->signals, POLLIN, 0},       {s->ctl, POLLIN, 0},
    };
    if (poll(fds, 6, wait_ms(s)) <= 0)
        return;
    if (fds[0].revents != 0)
        on_exit_of(s, &s->execd);
    if (fds[1].revents != 0)
        on_exit_of(s, &s->gate);
    read_control(s, &s->execd);
    read_control(s, &s->gate);
    if (fds[4].revents != 0)
        on_signal(s);
    if (fds[5].revents != 0)
        answer(s);
}

static void default_to(int64_t *value, int64_t preset)
{
    if (*value == 0)
        *value = preset;
}

/* Of a gate that was killed: nobody is to take it for the one that starts now. */
static void forget_address(const char *run_dir)
{
    WD_AUTO_FD int dir = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        (void)unlinkat(dir, "address", 0);
}

static int finish(const supervisor *s, wd_error *err)
{
    wd_ctl_close(s->options.run_dir, s->ctl);
    wd_log_event(WD_LOG_INFO, "supervisor.end");
    if (s->refused == 0)
        return 0;
    (void)wd_fail(err, WD_FAILED_PRECONDITION, "%s", s->refusal);
    return s->refused;
}

int wd_supervisor_run(const wd_supervisor_options *options, wd_error *err)
{
    supervisor s = {.options = *options, .ctl = -1, .dead_by_ms = INT64_MAX};
    default_to(&s.options.backoff_first_ms, 100);
    default_to(&s.options.backoff_most_ms, 10000);
    default_to(&s.options.start_ms, 120000);
    default_to(&s.options.stop_ms, 20000);
    default_to(&s.options.dead_ms, 10000);
    wd_child_init(&s.execd, &options->execd);
    wd_child_init(&s.gate, &options->gate);
    WD_AUTO_FD int lock = -1;
    WD_AUTO_FD int signals = -1;
    if (wd_run_lock(options->run_dir, s.options.dead_ms, &lock, err) != WD_OK)
        return err->reason == WD_REASON_CONFLICT ? WD_EXIT_IN_USE : 1;
    forget_address(options->run_dir);
    if (wd_signals_open(&signals, err) != WD_OK ||
        wd_ctl_listen(options->run_dir, &s.ctl, err) != WD_OK)
        return 1;
    s.lock = lock;
    s.signals = signals;
    wd_log(WD_LOG_INFO, "supervisor.start", WD_KN("pid", getpid()),
           WD_KV("version", WD_VERSION));
    for (advance(&s);
         !s.stopping || s.gate.state != WD_CHILD_DOWN || s.execd.state != WD_CHILD_DOWN;
         advance(&s))
        turn(&s);
    return finish(&s, err);
}
