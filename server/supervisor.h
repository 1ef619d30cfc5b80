/* supervisor.h - starts warded-execd and the gate, links them, and starts them again.
 *
 * It holds no key, opens nothing of the network and never reads a call. Each turn of its
 * loop looks at what is up and does the next step; see advance() in supervisor.c:
 *
 *     execd first; the gate once execd is ready; a fresh pair of job sockets to both.
 *     execd ends:  start it again, link again; the gate goes on.
 *     gate ends:   wait until execd says that all it ran is dead ('K'), start it again.
 *     never ready: wait first, twice as long each time; a refusal ('F') before
 *                  both were ready once ends everything, with its text.
 *
 * Threads: one, which must be the process's only one (it forks).
 * Owns:    both children, RUN/ctl.sock, RUN/lock, the signals TERM, INT, HUP, CHLD.
 * Source:  docs/architecture.md, "Processes". */
#ifndef WD_SERVER_SUPERVISOR_H
#define WD_SERVER_SUPERVISOR_H

#include "server/child.h"

/* sysexits.h EX_CONFIG: an operator has to change something. */
#define WD_EXIT_REFUSED 78
/* Another process has what is needed: the place, or the store (a child exits with it). */
#define WD_EXIT_IN_USE 5

/* Times in milliseconds; 0 takes the default. */
typedef struct wd_supervisor_options {
    wd_program execd;
    wd_program gate;
    const char *run_dir;      /* exists; for ctl.sock and lock */
    int64_t backoff_first_ms; /* 100 */
    int64_t backoff_most_ms;  /* 10,000 */
    int64_t start_ms;         /* 120,000; not ready by then: killed */
    int64_t stop_ms;          /* 20,000; not gone by then: killed */
    int64_t dead_ms;          /* 10,000; no 'K' by then: execd is killed. At the start:
                                 children of a killed supervisor are waited for */
} wd_supervisor_options;

/* Run until SIGTERM or SIGINT (drain; a second one kills), or until the first start is
 * refused. Returns the exit status: 0, WD_EXIT_REFUSED, WD_EXIT_IN_USE, or 1; the cause of a refusal is
 * in *err.
 * Errors: the status is in err: FAILED_PRECONDITION refused or another supervisor runs */
int wd_supervisor_run(const wd_supervisor_options *options, wd_error *err);

#endif
