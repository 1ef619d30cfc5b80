#include "proto/cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/mask.h"

#define SHOWN_BYTES 64

typedef struct arguments {
    const wd_cli *cli;
    void *input; /* of the program's own options */
    int command; /* index in argv */
} arguments;

/* --- help ------------------------------------------------------------------------------- */

char *wd_help_unchanged(const char *text)
{
    char *same = NULL; /* argp frees what is not the text it gave */
    memcpy(&same, &text, sizeof(same));
    return same;
}

static bool in_group(const wd_command *command, const char *group)
{
    return group == NULL ||
           (command->group != NULL && strcmp(command->group, group) == 0);
}

static void print_commands(FILE *out, const wd_cli *cli, const char *group)
{
    for (size_t i = 0; i < cli->n_commands; i++) {
        const wd_command command = cli->command(i);
        char name[SHOWN_BYTES];
        if (command.help == NULL || !in_group(&command, group))
            continue;
        (void)snprintf(name, sizeof(name), "%s%s%s",
                       command.group != NULL ? command.group : "",
                       command.group != NULL ? " " : "", command.name);
        (void)fprintf(out, "  %-17s %s\n", name, command.help);
    }
}

/* The text after the options: the table of commands, then the rest. */
static char *with_commands(int key, const char *text, void *input)
{
    const arguments *args = input;
    char *help = NULL;
    size_t size = 0;
    if (key != ARGP_KEY_HELP_POST_DOC || args == NULL)
        return wd_help_unchanged(text);
    FILE *out = open_memstream(&help, &size);
    if (out == NULL)
        return wd_help_unchanged(text);
    (void)fprintf(out, "Commands:\n");
    print_commands(out, args->cli, NULL);
    (void)fprintf(out, "\n%s", args->cli->after);
    (void)fclose(out);
    return help;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
           strcmp(word, "-h") == 0;
}

/* "tokctl audit": which commands there are. */
static int show_group(const wd_cli *cli, const char *group, bool asked)
{
    FILE *out = asked ? stdout : stderr;
    (void)fprintf(out, "Usage: %s %s COMMAND [ARGUMENT...]\n\nCommands:\n", cli->name,
                  group);
    print_commands(out, cli, group);
    (void)fprintf(out, "\nEach command has its own --help.\n");
    return asked ? 0 : WD_CLI_USAGE;
}

/* --- the program's own options ------------------------------------------------------------ */

/* argp's signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    (void)value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->input;
        return 0;
    case ARGP_KEY_ARG: /* the command; what follows is its own */
        args->command = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        argp_state_help(state, stderr, ARGP_HELP_STD_USAGE | ARGP_HELP_POST_DOC);
        return 0;
    case 'h':
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_program(arguments *args, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {NULL, 'h', NULL, OPTION_HIDDEN, "The same as --help", 0}, {0}};
    const struct argp_child children[] = {{args->cli->options, 0, NULL, 0}, {0}};
    const struct argp argp = {
        options,       parse, "COMMAND [ARGUMENT...]", args->cli->before, children,
        with_commands, NULL};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, args);
}

/* "help COMMAND..." becomes "COMMAND... --help"; "help" alone "--help": true, parse again.
 * A command of that name keeps it. */
static bool take_help(int argc, char **argv, char *option)
{
    if (strcmp(argv[0], "help") != 0)
        return false;
    memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof(argv[0]));
    argv[argc - 1] = option;
    return argc == 1;
}

/* --- finding the command ------------------------------------------------------------------- */

static bool is_group(const wd_cli *cli, const char *word)
{
    for (size_t i = 0; i < cli->n_commands; i++) {
        const wd_command command = cli->command(i);
        if (command.group != NULL && strcmp(command.group, word) == 0)
            return true;
    }
    return false;
}

/* n_commands: there is none. */
static size_t find(const wd_cli *cli, const char *group, const char *name)
{
    for (size_t i = 0; i < cli->n_commands; i++) {
        const wd_command command = cli->command(i);
        bool same_group = (group == NULL) == (command.group == NULL) &&
                          (group == NULL || strcmp(command.group, group) == 0);
        if (same_group && strcmp(command.name, name) == 0)
            return i;
    }
    return cli->n_commands;
}

static int unknown(const wd_cli *cli, const char *group, const char *name)
{
    char shown[WD_SHOWN_BYTES];
    (void)fprintf(
        stderr, "%s: there is no command \"%s%s%s\"; commands are:", cli->name,
        group != NULL ? group : "", group != NULL ? " " : "", wd_shown(name, shown));
    bool first = true;
    for (size_t i = 0; i < cli->n_commands; i++) {
        const wd_command command = cli->command(i);
        if (command.help == NULL)
            continue;
        (void)fprintf(stderr, "%s %s%s%s", first ? "" : ",",
                      command.group != NULL ? command.group : "",
                      command.group != NULL ? " " : "", command.name);
        first = false;
    }
    (void)fprintf(stderr, "\n");
    return WD_CLI_USAGE;
}

/* argv[0] is the command, or the group before it. */
static int run(const wd_cli *cli, void *input, int argc, char **argv)
{
    const char *group = is_group(cli, argv[0]) ? argv[0] : NULL;
    int skip = group != NULL ? 1 : 0;
    const char *name = argc > skip ? argv[skip] : "";
    if (group != NULL && (argc == skip || is_help(name)))
        return show_group(cli, group, argc > skip);
    size_t i = find(cli, group, name);
    if (i == cli->n_commands)
        return unknown(cli, group, name);
    char shown[SHOWN_BYTES]; /* "tokctl audit query": what messages call it */
    (void)snprintf(shown, sizeof(shown), "%s %s%s%s", cli->name,
                   group != NULL ? group : "", group != NULL ? " " : "", name);
    argv[skip] = shown;
    return cli->run(i, input, argc - skip, argv + skip);
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

/* At exit, wherever from: what is said and nobody can read is no success. */
static void close_output(int status, void *name)
{
    if ((ferror(stdout) == 0 && fclose(stdout) == 0) || status != 0)
        return;
    (void)fprintf(stderr, "%s: could not write all of it to standard output: %s\n",
                  (const char *)name, strerrordesc_np(errno));
    _exit(WD_CLI_FAILED);
}

/* --- words that are nothing ------------------------------------------------------------ */

/* A value that is nothing is a script's variable that was not set, and would be taken for
 * a default or a place. What follows "--" is no option, and nothing all the same. */
static const char *empty_word(int argc, char **argv, size_t *ret_length)
{
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *equals = options ? strchr(argv[i], '=') : NULL;
        options = options && strcmp(argv[i], "--") != 0;
        *ret_length = strlen(argv[i - 1]);
        if (argv[i][0] == '\0')
            return argv[i - 1];
        *ret_length = equals != NULL ? (size_t)(equals - argv[i]) : 0;
        if (*ret_length > 2 && strncmp(argv[i], "--", 2) == 0 && equals[1] == '\0')
            return argv[i];
    }
    return NULL;
}

static bool has_empty_word(const wd_cli *cli, int argc, char **argv)
{
    size_t length = 0;
    const char *at = empty_word(argc, argv, &length);
    if (at == NULL)
        return false;
    (void)fprintf(stderr, "%s: ", cli->name);
    const bool is_option = at[0] == '-' && strcmp(at, "--") != 0;
    (void)fprintf(
        stderr, is_option ? "%.*s has an empty value" : "an empty word after \"%.*s\"",
        (int)length, at);
    (void)fprintf(stderr, ": give it one, or leave it out\nTry '%s --help'.\n",
                  cli->name);
    return true;
}

/* --- words that are secrets ------------------------------------------------------------ */

/* Where a word may have a token: at its begin, as an option's value, and anywhere in an
 * option's name, which getopt would repeat. */
static bool has_token_in(const char *word)
{
    const size_t name = strcspn(word, "=");
    const bool is_option = strncmp(word, "--", 2) == 0;
    for (size_t i = 0; is_option && i < name; i++)
        if (wd_token_here(word + i) > 0)
            return true;
    return wd_token_here(word + strspn(word, "-")) > 0 ||
           (word[name] == '=' && wd_token_here(word + name + 1) > 0);
}

/* Others on this host can read a command line, and what refuses a word may repeat it. */
static bool has_token(const wd_cli *cli, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!has_token_in(argv[i]))
            continue;
        (void)fprintf(
            stderr,
            "%s: argument %d is a token, a secret that others on this host "
            "can read there: name it by its id, the ten characters behind "
            "its first \"_\", or give the file that holds it\nTry '%s --help'.\n",
            cli->name, i, cli->name);
        return true;
    }
    return false;
}

int wd_cli_main(const wd_cli *cli, void *input, int argc, char **argv)
{
    arguments args = {.cli = cli, .input = input};
    char help[] = "--help";
    ensure_standard_descriptors();
    (void)on_exit(close_output, wd_help_unchanged(cli->name));
    argp_err_exit_status = WD_CLI_USAGE;
    argp_program_version = cli->version;
    if (has_token(cli, argc, argv) || has_empty_word(cli, argc, argv))
        return WD_CLI_USAGE;
    parse_program(&args, argc, argv);
    bool topic = argc - args.command > 1 && strcmp(argv[args.command], "help") == 0 &&
                 find(cli, "help", argv[args.command + 1]) < cli->n_commands;
    if (!topic && take_help(argc - args.command, argv + args.command, help))
        parse_program(&args, argc, argv);
    return run(cli, input, argc - args.command, argv + args.command);
}

void wd_command_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    char help[] = "--help";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-h") == 0 || (i == 1 && strcmp(argv[i], "help") == 0))
            argv[i] = help;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)argp_parse(argp, argc, argv, 0, NULL, input);
}
