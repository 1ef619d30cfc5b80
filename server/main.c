/* warded - one program: each command is a file of its own (cmd_*.c). */
#include <stdio.h>

#include "proto/cli/commands.h"
#include "server/cmd.h"

static const struct {
    const char *name;
    wd_cmd_run *run;
    const char *help; /* NULL: not shown; for Warded itself */
} commands[] = {
    {"init", wd_cmd_init, "make CA, certificates, store, admin profile, configuration"},
    {"profile", wd_cmd_profile, "make an identity for a client: profile new NAME"},
    {"check", wd_cmd_check, "try configuration, credentials, store and sandbox"},
    {"serve", wd_cmd_serve, "run the gate and its executor until SIGTERM"},
    {"health", wd_cmd_health, "ask a running 'warded serve' how it is"},
    {"gate", wd_cmd_gate, NULL},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char before[] =
    "Remote calls into a sandbox, behind mutual TLS and tokens, all on the record.\v";

static const char after[] =
    "A first run, all under one folder:\n"
    "  warded --home DIR init\n"
    "  warded --home DIR profile new trainer --scope observe:python_code\n"
    "  warded --home DIR serve\n"
    "\n"
    "Each command has its own --help. Without --home the configuration is\n"
    "/etc/warded/warded.yaml. Exit status: 0 done, 1 failed, 2 usage, 3 not found,\n"
    "5 something is in the way, 6 warded does not run, 78 change the configuration.";

typedef struct arguments {
    const char *home;
} arguments;

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse_option(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    if (key != 'H')
        return ARGP_ERR_UNKNOWN;
    args->home = value;
    return 0;
}

static wd_command command(size_t i)
{
    return (wd_command){NULL, commands[i].name, commands[i].help};
}

static int run(size_t i, void *input, int argc, char **argv)
{
    const arguments *args = input;
    return commands[i].run(args->home, argc, argv);
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"home", 'H', "DIR", 0,
         "Everything under DIR: warded.yaml, state, run, profile", 0},
        {0},
    };
    const struct argp own = {options, parse_option, NULL, NULL, NULL, NULL, NULL};
    const wd_cli cli = {.name = "warded",
                        .version = "warded " WD_VERSION,
                        .before = before,
                        .after = after,
                        .options = &own,
                        .command = command,
                        .n_commands = N_COMMANDS,
                        .run = run};
    arguments args = {0};
    return wd_cli_main(&cli, &args, argc, argv);
}
