/* test_gate HOME [GRACE_MS [SILENCE_S]] - a gate of its own over a stub executor, on strings.
 *
 * The gate runs in a child process, as HOME's configuration says. The parent is its
 * supervisor and its executor. Commands, a line each on standard input, are answered
 * with a line each:
 *
 *     count           jobs=N running=N cancelled=N
 *     finish          every held action ends well
 *     die             the executor dies
 *     revive          and another comes
 *     log             what was written, synced and sent since the last time: W and S
 *                     (a write and a sync of the store), J (a job goes to the executor),
 *                     R (a reply goes out)
 *     reads           bytes of application data that TLS gave the gate since the last time
 *     crash           the gate's next job ends the process by a failed assertion
 *     unwritable N    the store's next N syncs fail
 *     clock W M       turn the gate's clocks on: W ms the wall's, M ms the monotonic one
 *     reload          read certificates and the deny list again
 *     kill            kill -9 the gate
 *     stop            drain and stop; "exit STATUS"
 *
 * It starts with "ready PID" or "refused TEXT"; when the gate has ended it says
 * "exit STATUS" or "signal N". The end of its input ends it. */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/control.h"
#include "server/gate.h"
#include "server/keepalive.h"
#include "tests/support/count_reads.h"
#include "tests/support/stub_executor.h"
#include "tests/support/vfs_shim.h"

#define LOG_BYTES (1U << 20)

/* Shared by both processes. */
typedef struct shared {
    atomic_size_t log_size;
    atomic_size_t read_bytes;
    atomic_bool crash;
    atomic_int fail_syncs;   /* from the next one on; -1: as it is */
    _Atomic int64_t wall_ms; /* by how much its clocks are ahead of the system's */
    _Atomic int64_t mono_ms;
    char log[LOG_BYTES];
} shared;

static shared *both;
static wd_shim shim;

/* --- the gate's process -------------------------------------------------------------------- */

static void note(char what)
{
    size_t at = atomic_fetch_add(&both->log_size, 1);
    if (at < LOG_BYTES)
        both->log[at] = what;
}

static void store_event(void *arg, const wd_shim_event *event)
{
    (void)arg;
    if (event->when == WD_SHIM_BEFORE && event->op == WD_SHIM_SYNC) {
        int left = atomic_exchange(&both->fail_syncs, -1);
        if (left >= 0) {
            atomic_store(&shim.fail_more, left - 1);
            atomic_store(&shim.fail_in[WD_SHIM_SYNC], left > 0);
        }
    }
    if (event->when != WD_SHIM_AFTER || event->code != SQLITE_OK)
        return;
    if (event->op == WD_SHIM_WRITE)
        note('W');
    else if (event->op == WD_SHIM_SYNC)
        note('S');
}

static void before_job(void *arg)
{
    (void)arg;
    WD_ASSERT(!atomic_load(&both->crash));
    note('J');
}

static void before_reply(void *arg)
{
    (void)arg;
    note('R');
}

static void become(const wd_config *config)
{
    unsigned uid = 0;
    unsigned gid = 0;

    if (geteuid() != 0)
        return;
    WD_ASSERT(wd_config_find_user(config, &uid, &gid, NULL) == WD_OK);
    WD_ASSERT(setgroups(0, NULL) == 0 && setgid(gid) == 0 && setuid(uid) == 0);
}

static int64_t turned_wall_ms(const wd_clock *clock)
{
    (void)clock;
    return wd_clock_wall_ms(wd_clock_system()) + atomic_load(&both->wall_ms);
}

static int64_t turned_mono_ms(const wd_clock *clock)
{
    (void)clock;
    return wd_clock_mono_ms(wd_clock_system()) + atomic_load(&both->mono_ms);
}

static int64_t turned_mono_ns(const wd_clock *clock)
{
    (void)clock;
    return wd_clock_mono_ns(wd_clock_system()) + atomic_load(&both->mono_ms) * 1000000;
}

static const wd_clock turned = {turned_wall_ms, turned_mono_ms, turned_mono_ns};

static int run_gate(const wd_config *config, int control, int64_t grace_ms,
                    int silence_s)
{
    const wd_keepalive keepalive = {1, 1, silence_s - 1};
    const wd_gate_options options = {
        .clock = &turned,
        .vfs = "shim",
        .vanish_grace_ms = grace_ms,
        .keepalive = silence_s > 1 ? &keepalive : NULL,
        .drain_ms = 500,
        .before_job_write = before_job,
        .before_reply_send = before_reply,
    };

    become(config);
    count_reads(&both->read_bytes);
    shim.event = store_event;
    atomic_store(&shim.fail_code, SQLITE_IOERR_FSYNC);
    WD_ASSERT(wd_shim_register(&shim, "shim") == SQLITE_OK);
    wd_log_setup(WD_LOG_TEXT, WD_LOG_INFO);
    return wd_gate_run_with(config, control, &options);
}

/* --- the supervisor's and the executor's --------------------------------------------------- */

typedef struct tester {
    int control;
    pid_t gate;
    wd_stub *stub;
    wd_stub_counts last; /* of the stub that ended */
    bool ended;
} tester;

static void give_socket(tester *t)
{
    int ends[2];

    WD_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    t->stub = wd_stub_new(ends[0]);
    (void)!wd_control_send(t->control, WD_CONTROL_CHANNEL, ends[1], NULL, NULL);
    (void)close(ends[1]);
}

static void end_stub(tester *t)
{
    if (t->stub != NULL)
        t->last = wd_stub_count(t->stub);
    wd_stub_free(t->stub);
    t->stub = NULL;
}

static void reap(tester *t)
{
    int status = 0;

    (void)waitpid(t->gate, &status, 0);
    if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("exit %d\n", WEXITSTATUS(status));
    t->ended = true;
}

static void count(tester *t)
{
    wd_stub_counts now = t->stub != NULL ? wd_stub_count(t->stub) : t->last;

    printf("jobs=%zu running=%zu cancelled=%zu\n", now.jobs, now.running,
           now.cancelled);
}

static void show_log(tester *t)
{
    size_t size = atomic_exchange(&both->log_size, 0);

    (void)t;
    printf("%.*s\n", (int)(size < LOG_BYTES ? size : LOG_BYTES), both->log);
}

static void show_reads(tester *t)
{
    (void)t;
    printf("%zu\n", atomic_exchange(&both->read_bytes, 0));
}

static void finish(tester *t)
{
    if (t->stub != NULL)
        wd_stub_finish(t->stub);
    printf("finished\n");
}

static void die(tester *t)
{
    end_stub(t);
    printf("died\n");
}

static void revive(tester *t)
{
    give_socket(t);
    printf("revived\n");
}

static void crash(tester *t)
{
    (void)t;
    atomic_store(&both->crash, true);
    printf("will crash\n");
}

static void stop(tester *t)
{
    (void)!wd_control_send(t->control, WD_CONTROL_STOP, -1, NULL, NULL);
    printf("stopping\n");
}

static void reload(tester *t)
{
    (void)!wd_control_send(t->control, WD_CONTROL_RELOAD, -1, NULL, NULL);
    printf("reloading\n");
}

static void kill_gate(tester *t)
{
    (void)kill(t->gate, SIGKILL);
    printf("killed\n");
}

static const struct {
    const char *name;
    void (*run)(tester *t);
} commands[] = {
    {"count", count},    {"log", show_log},     {"finish", finish}, {"die", die},
    {"revive", revive},  {"crash", crash},      {"stop", stop},     {"reload", reload},
    {"kill", kill_gate}, {"reads", show_reads},
};

static void turn_clocks(int64_t wall_ms, int64_t mono_ms)
{
    (void)atomic_fetch_add(&both->wall_ms, wall_ms);
    (void)atomic_fetch_add(&both->mono_ms, mono_ms);
    printf("turned\n");
}

static void obey(tester *t, char *line)
{
    int n = 0;
    long long wall = 0;
    long long mono = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "unwritable %d", &n) == 1) {
        atomic_store(&both->fail_syncs, n);
        printf("unwritable\n");
        return;
    }
    if (sscanf(line, "clock %lld %lld", &wall, &mono) == 2) {
        turn_clocks(wall, mono);
        return;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(line, commands[i].name) == 0)
            commands[i].run(t);
    }
}

static void hear_gate(tester *t)
{
    wd_control_message message;

    if (wd_control_receive(t->control, &message, NULL) != WD_OK ||
        message.kind == WD_CONTROL_END)
        reap(t);
    else if (message.kind == WD_CONTROL_READY)
        printf("ready %d\n", (int)t->gate);
    else if (message.kind == WD_CONTROL_FAILED)
        printf("refused %s\n", message.text);
}

static int64_t mono_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

static int wait_ms(tester *t)
{
    int64_t now = mono_ms();
    int64_t next = t->stub != NULL ? wd_stub_tick(t->stub, now) : -1;

    return next < 0 ? -1 : (int)(next > now ? next - now : 0);
}

static void serve(tester *t)
{
    char line[128];

    for (;;) {
        struct pollfd fds[3] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = t->ended ? -1 : t->control, .events = POLLIN},
            {.fd = t->stub != NULL ? wd_stub_fd(t->stub) : -1, .events = POLLIN},
        };
        if (poll(fds, 3, wait_ms(t)) < 0)
            continue;
        if (fds[2].revents != 0 && !wd_stub_read(t->stub))
            end_stub(t);
        if (fds[1].revents != 0)
            hear_gate(t);
        if (fds[0].revents == 0)
            continue;
        if (fgets(line, sizeof(line), stdin) == NULL)
            return;
        obey(t, line);
    }
}

int main(int argc, char **argv)
{
    WD_AUTO(wd_config) *config = NULL;
    wd_error err;
    int ends[2];

    if (argc < 2 || wd_config_load(argv[1], &config, &err) != WD_OK)
        return 2;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    WD_ASSERT(both != MAP_FAILED);
    atomic_store(&both->fail_syncs, -1);
    WD_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    tester t = {.control = ends[0], .gate = fork()};
    if (t.gate == 0) {
        (void)close(ends[0]);
        return run_gate(config, ends[1], argc > 2 ? atoll(argv[2]) : 0,
                        argc > 3 ? atoi(argv[3]) : 0);
    }
    (void)close(ends[1]);
    give_socket(&t);
    serve(&t);
    if (!t.ended)
        (void)kill(t.gate, SIGKILL);
    wd_stub_free(t.stub);
    return 0;
}
