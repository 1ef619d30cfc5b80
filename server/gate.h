/* gate.h - the process that talks to the network: `warded gate`, started by `serve`.
 *
 * Threads: wd_gate_run holds the calling thread from start to stop; it makes all others.
 * Owns:    everything between the configuration and the exit status.
 * Source:  docs/architecture.md, "Processes and threads"; server/control.h. */
#ifndef WD_SERVER_GATE_H
#define WD_SERVER_GATE_H

#include "proto/c/clock.h"
#include "server/config.h"

/* sysexits.h: the process can't start; nothing listened. */
#define WD_GATE_EXIT_REFUSED 78
/* So too, because another process holds the store. */
#define WD_GATE_EXIT_IN_USE 5

struct wd_registry;

/* What a test may replace. A zeroed structure is the real thing. */
typedef struct wd_gate_options {
    const wd_clock *clock;   /* NULL: the system's */
    const char *vfs;         /* SQLite VFS of the store; NULL: the system's */
    int64_t vanish_grace_ms; /* 0: 3,000; how long calls outlive their connection */
    const struct wd_keepalive *keepalive; /* NULL: as limits.h says */
    int64_t drain_ms;         /* 0: 10,000; how long a stop waits for running calls */
    int64_t executor_wait_ms; /* 0: 30,000; how long a start waits for the executor */
    /* Called just before the event, on the thread that causes it. */
    void (*before_job_write)(void *arg); /* a Run message's first byte to execd */
    void (*before_reply_send)(void *arg);
    void *hook_arg;
    /* Adds methods to those of Warded; called once, before the gate listens. */
    wd_status (*add_services)(struct wd_registry *registry, void *arg, wd_error *err);
} wd_gate_options;

/* Serve until the supervisor says stop or goes away; see control.h for what is said on
 * `control_fd` (taken). Returns the exit status: 0 after a drain, 78 or 5 when the
 * gate refused to start (the reason went to the supervisor and to the log). */
int wd_gate_run(const wd_config *config, int control_fd);
int wd_gate_run_with(const wd_config *config, int control_fd,
                     const wd_gate_options *options);

#endif
