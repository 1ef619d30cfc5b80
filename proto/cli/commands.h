/* commands.h - a program of commands: which one was asked for, and help for all of them.
 *
 *     PROGRAM [OPTION...] COMMAND [ARGUMENT...]
 *
 * Commands stand in a table, some of them in groups ("audit query"). `help`, `--help` and
 * `-h` teach anywhere; `help COMMAND` is `COMMAND --help`. A wrong word ends with 2.
 *
 * Threads: one.  Owns: nothing.
 * Source:  argp(3); POSIX XBD 12.2. */
#ifndef WD_CLI_COMMANDS_H
#define WD_CLI_COMMANDS_H

#include <argp.h>
#include <stddef.h>

#define WD_CLI_FAILED 1 /* exit status where standard output took not all of it */
#define WD_CLI_USAGE  2 /* exit status of whoever used a program wrongly */

typedef struct wd_command {
    const char *group; /* NULL: none */
    const char *name;
    const char *help; /* one line, no capital, no full stop; NULL: not shown */
} wd_command;

typedef struct wd_cli {
    const char *name;           /* "tokctl" */
    const char *version;        /* "tokctl 0.1.0" */
    const char *before;         /* "What it is.\v" */
    const char *after;          /* what follows the table of commands */
    const struct argp *options; /* of the program itself; its input is main's `input` */
    wd_command (*command)(size_t i);
    size_t n_commands;
    /* argv[0] is "tokctl audit query". Returns the exit status. */
    int (*run)(size_t i, void *input, int argc, char **argv);
} wd_cli;

/* Makes sure of the three standard descriptors, refuses words and values that are empty,
 * finds the command, runs it. At exit standard output is closed: what it did not take is a
 * failure. */
int wd_cli_main(const wd_cli *cli, void *input, int argc, char **argv);

/* Parse a command's own options: --help, -h and a first `help` teach; what is wrong ends
 * with 2. */
void wd_command_parse(const struct argp *argp, int argc, char **argv, void *input);

/* What argp wants back for a text that is to stay as it is. */
char *wd_help_unchanged(const char *text);

#endif
