/* warded - one program: each command is a file of its own (cmd_*.c). */
#include "server/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    int command; /* index in argv */
} arguments;

/* argp frees what is not the text it gave; it wants that one back as it was. */
static char *unchanged(const char *text)
{
    char *same = NULL;
    memcpy(&same, &text, sizeof(same));
    return same;
}

static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return unchanged(text);
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    if (stream == NULL)
        return unchanged(text);
    (void)fprintf(stream, "Commands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (commands[i].help != NULL)
            (void)fprintf(stream, "  %-9s %s\n", commands[i].name, commands[i].help);
    (void)fprintf(stream, "\n%s", after);
    (void)fclose(stream);
    return out;
}

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse_option(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case 'H':
        args->home = value;
        return 0;
    case ARGP_KEY_ARG: /* the command; what follows is its own */
        args->command = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_state_help(state, stderr, ARGP_HELP_STD_USAGE | ARGP_HELP_POST_DOC);
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_command(const arguments *args, int argc, char **argv)
{
    const char *name = argv[args->command];
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        char shown[64]; /* "warded init": what argp calls it in messages */
        (void)snprintf(shown, sizeof(shown), "warded %s", name);
        argv[args->command] = shown;
        return commands[i].run(args->home, argc - args->command, argv + args->command);
    }
    (void)fprintf(stderr, "warded: unknown command \"%.40s\"; see 'warded --help'\n",
                  name);
    return WD_EXIT_USAGE;
}

/* "help COMMAND" becomes "COMMAND --help"; "help" alone "--help": true, parse again. */
static bool take_help(int argc, char **argv, char *option)
{
    if (strcmp(argv[0], "help") != 0)
        return false;
    memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof(argv[0]));
    argv[argc - 1] = option;
    return argc == 1;
}

/* A descriptor that opens as 0, 1 or 2 would be written to as a terminal. */
static void ensure_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"home", 'H', "DIR", 0,
         "Everything under DIR: warded.yaml, state, run, profile", 0},
        {NULL, 'h', NULL, OPTION_HIDDEN, "The same as --help", 0},
        {0},
    };
    const struct argp argp = {
        options, parse_option, "COMMAND [OPTION...]", before, NULL, help_filter, NULL};
    arguments args = {0};
    ensure_standard_descriptors();
    argp_err_exit_status = WD_EXIT_USAGE;
    argp_program_version = "warded " WD_VERSION;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
    char help[] = "--help";
    if (take_help(argc - args.command, argv + args.command, help))
        (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
    return run_command(&args, argc, argv);
}
