/* check.h - the table that `warded check` prints: a line a fact, with its verdict.
 *
 *     ok    configuration       /etc/warded/warded.yaml
 *     warn  sandbox: cgroup-cpu no controller; cure: ...
 *     FAIL  credentials         .../key.pem: mode 0644 lets others read it; chmod ...
 *     -     store               not tried: ...
 *
 * One cause is one FAIL: what hangs on it is not tried.
 *
 * Threads: one.  Owns: nothing. */
#ifndef WD_SERVER_CHECK_H
#define WD_SERVER_CHECK_H

#include "server/config.h"

#include <stdio.h>
#include <sys/types.h>

#define WD_CHECK_TEXT_BYTES 1024

typedef struct wd_check {
    const wd_config *config;
    FILE *out;
    unsigned uid; /* of the gate */
    unsigned gid;
    pid_t running;         /* as wd_run_holder */
    const char *no_files;  /* why the gate's files can't be tried; NULL: they can */
    const char *no_layers; /* the same of the sandbox */
    unsigned bad;
    unsigned warned;
} wd_check;

/* Print one fact: it holds, it holds but not for long or not in full, it does not. Line
 * breaks in `text` are made spaces. */
void wd_check_good(wd_check *check, const char *name, const char *text);
void wd_check_warn(wd_check *check, const char *name, const char *text);
void wd_check_bad(wd_check *check, const char *name, const char *text);

/* Print a fact that could not be looked at, and what is in the way; it does not count. */
void wd_check_untried(wd_check *check, const char *name, const char *why);

/* Print the sum; returns how many do not hold. */
unsigned wd_check_sum(const wd_check *check);

#endif
