/* cmd.h - the commands of `warded`, one file each, and what they share.
 *
 * Threads: one.  Owns: nothing.
 * Source:  docs/operations.md; exit codes as tokctl's, and sysexits.h EX_CONFIG. */
#ifndef WD_SERVER_CMD_H
#define WD_SERVER_CMD_H

#include "proto/c/status.h"
#include "proto/cli/commands.h"
#include "server/config.h"

#include <argp.h>

enum wd_exit {
    WD_EXIT_OK = 0,
    WD_EXIT_FAILED = 1,
    WD_EXIT_USAGE = 2,
    WD_EXIT_NOT_FOUND = 3,
    WD_EXIT_CONFLICT = 5, /* something is in the way: a file, a lock, a running gate */
    WD_EXIT_UNREACHABLE = 6, /* warded does not run */
    WD_EXIT_CONFIG = 78,     /* the configuration, or what it names, must be changed */
};

/* A command: argv[0] is its own name ("warded init"), `home` NULL or of --home. Returns
 * the exit status. */
typedef int wd_cmd_run(const char *home, int argc, char **argv);

wd_cmd_run wd_cmd_init;
wd_cmd_run wd_cmd_profile;
wd_cmd_run wd_cmd_check;
wd_cmd_run wd_cmd_serve;
wd_cmd_run wd_cmd_health;
wd_cmd_run wd_cmd_gate;

/* Say on standard error what failed; returns the exit status that belongs to it. */
int wd_cmd_fail(const char *command, const wd_error *err);

/* Load the configuration and set the log up by it. On failure it has been told, and
 * *ret_exit is set. */
wd_config *wd_cmd_load(const char *command, const char *home, int *ret_exit);

/* "90s", "30m", "1h", "7d": milliseconds, whole, positive.
 * Errors: INVALID_ARGUMENT names the option and what is allowed */
WD_MUST_USE wd_status wd_duration_parse(const char *option, const char *text,
                                        int64_t *ret_ms, wd_error *err);

/* The same back, in the largest unit that fits: "24 h". */
void wd_duration_format(int64_t ms, char *out, size_t size);

#endif
