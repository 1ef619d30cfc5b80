/* echo_server HOME - a user's own service behind Warded's gate, in one program.
 *
 * As `warded --home HOME serve`, with acme.echo.v1.Echo beside Warded's services: this
 * program supervises warded-execd (from its own folder) and itself as the gate.
 * With a second word, "unplanned", it leaves out a planner that the schema asks for. */
#include "acme/echo/v1/echo.wd.h"
#include "server/call.h"
#include "server/config.h"
#include "server/control.h"
#include "server/gate.h"
#include "server/log.h"
#include "server/policy.h"
#include "server/registry.h"
#include "server/supervisor.h"
#include "store/scope.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct echo {
    atomic_uint_fast64_t pings;
} echo;

static wd_step say(void *self, struct wd_call *call,
                   const Acme__Echo__V1__SayRequest *request, wd_error *err)
{
    (void)self;
    if (request->text[0] == '\0') {
        (void)wd_refuse(err, WD_REASON_FIELD_INVALID, "text is empty: say something");
        return WD_FAILED;
    }
    Acme__Echo__V1__SayReply reply;
    acme__echo__v1__say_reply__init(&reply);
    reply.text = request->text;
    reply.moods = (uint32_t)request->n_moods;
    wd_status status = wd_acme_echo_v1_echo_reply_say(call, &reply, err);
    return status == WD_OK ? WD_NEXT : WD_FAILED;
}

static wd_step ping(void *self, struct wd_call *call,
                    const Acme__Echo__V1__PingRequest *request, wd_error *err)
{
    (void)request;
    echo *state = self;
    Acme__Echo__V1__PingReply reply;
    acme__echo__v1__ping_reply__init(&reply);
    reply.count = atomic_fetch_add(&state->pings, 1) + 1;
    wd_status status = wd_acme_echo_v1_echo_reply_ping(call, &reply, err);
    return status == WD_OK ? WD_NEXT : WD_FAILED;
}

/* Before the record is written: may this token whisper in that room? One pair, which
 * names the room. */
static wd_step plan_whisper(struct wd_call *call, wd_error *err)
{
    const Acme__Echo__V1__SayRequest__Mood *request =
        (const Acme__Echo__V1__SayRequest__Mood *)(const void *)call->message;
    char *scope = wd_budget_take(call->budget, WD_SCOPE_BYTES + 1);
    wd_pair *pair = wd_budget_take(call->budget, sizeof(*pair));
    if (scope == NULL || pair == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return WD_FAILED;
    }
    int length = snprintf(scope, WD_SCOPE_BYTES + 1, "echo:%s", request->name);
    if (length < 0 || (size_t)length > WD_SCOPE_BYTES ||
        !wd_scopes_cover(call->token->scopes, call->token->n_scopes, scope)) {
        (void)wd_refuse(err, WD_REASON_SCOPE_MISSING,
                        "the scopes of token %s do not allow this room",
                        call->token->id);
        return WD_FAILED;
    }
    *pair = (wd_pair){.scope = scope};
    wd_hex((wd_span){call->digest, sizeof(call->digest)}, pair->digest);
    wd_call_plan(call, NULL, pair, 1);
    return WD_NEXT;
}

/* As an author does who forgets what `record: BATCH` asks for: the gate won't start. */
static wd_status add_unplanned(struct wd_registry *registry, void *service,
                               wd_error *err)
{
    return wd_registry_add(registry, &wd_acme_echo_v1_echo, service, err);
}

static wd_status add_services(struct wd_registry *registry, void *service,
                              wd_error *err)
{
    WD_TRY(wd_registry_add(registry, &wd_acme_echo_v1_echo, service, err));
    wd_registry_place(registry, "/acme.echo.v1.Echo/Whisper", WD_RUN_POOL,
                      plan_whisper);
    return WD_OK;
}

static int run_gate(const char *home, bool planned)
{
    wd_error err = {.status = WD_OK};
    WD_AUTO(wd_config) *config = NULL;
    if (wd_config_load(home, &config, &err) != WD_OK) {
        (void)!wd_control_send(WD_CONTROL_FD, WD_CONTROL_FAILED, -1, err.msg, NULL);
        return WD_EXIT_REFUSED;
    }
    wd_log_setup(config->log.format, config->log.level);
    echo state = {.pings = 0};
    wd_acme_echo_v1_echo_service service = {.self = &state, .say = say, .ping = ping};
    wd_gate_options options = {.add_services = planned ? add_services : add_unplanned,
                               .hook_arg = &service};
    return wd_gate_run_with(config, WD_CONTROL_FD, &options);
}

static wd_program program(const char *name, const char *path, char *const *argv)
{
    return (wd_program){.name = name,
                        .exe = open(path, O_PATH | O_CLOEXEC),
                        .path = path,
                        .argv = argv};
}

static int supervise(char *home, char *gate_word)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    WD_ASSERT(length > 0);
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    char execd[PATH_MAX + 16];
    char run_dir[PATH_MAX];
    (void)snprintf(execd, sizeof(execd), "%s/warded-execd", self);
    (void)snprintf(run_dir, sizeof(run_dir), "%s/run", home);

    char execd_name[] = "warded-execd";
    char home_flag[] = "--home";
    char gate_name[] = "echo_server";
    char *execd_argv[] = {execd_name, home_flag, home, NULL};
    char *gate_argv[] = {gate_name, home, gate_word, NULL};
    wd_supervisor_options options = {
        .execd = program("execd", execd, execd_argv),
        .gate = program("gate", "/proc/self/exe", gate_argv),
        .run_dir = run_dir,
    };
    wd_error err = {.status = WD_OK};
    int status = wd_supervisor_run(&options, &err);
    if (status != 0)
        (void)fprintf(stderr, "echo_server: %s\n", err.msg);
    return status;
}

int main(int argc, char **argv)
{
    char planned[] = "gate";
    char unplanned[] = "unplanned-gate";
    if (argc == 3 && strcmp(argv[2], planned) == 0)
        return run_gate(argv[1], true);
    if (argc == 3 && strcmp(argv[2], unplanned) == 0)
        return run_gate(argv[1], false);
    if (argc == 3 && strcmp(argv[2], "unplanned") == 0)
        return supervise(argv[1], unplanned);
    if (argc == 2)
        return supervise(argv[1], planned);
    (void)fprintf(stderr, "usage: echo_server HOME [unplanned]\n");
    return 64;
}
