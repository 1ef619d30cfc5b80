/* child.h - one supervised process: started with a control socket, watched, ended.
 *
 * A child begins with descriptors 0 (/dev/null), 1, 2 (the supervisor's) and 3 (control,
 * see control.h) and no others, a minimal environment, default signals, no core dumps,
 * and SIGKILL as soon as the supervisor is gone. Where its program says so it gives up
 * root first: groups, gid, uid, no_new_privs.
 *
 * Threads: the supervisor's one.  Owns: the process, its pidfd, our end of the control. */
#ifndef WD_SERVER_CHILD_H
#define WD_SERVER_CHILD_H

#include "proto/c/status.h"
#include "server/control.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What to run; borrowed and constant. */
typedef struct wd_program {
    const char *name;  /* in log lines and answers of the ctl socket */
    int exe;           /* O_PATH descriptor: also of a binary that uid can't reach */
    const char *path;  /* of the same, for messages */
    char *const *argv; /* NULL-terminated */
    bool drop;         /* become uid and gid before exec */
    uid_t uid;
    gid_t gid;
} wd_program;

typedef enum wd_child_state {
    WD_CHILD_DOWN,
    WD_CHILD_STARTING,
    WD_CHILD_READY,
    WD_CHILD_STOPPING,
} wd_child_state;

typedef struct wd_child {
    const wd_program *program;
    wd_child_state state;
    pid_t pid;   /* 0 while down */
    int pidfd;   /* -1 while down */
    int control; /* -1 while down, or once the child has closed its end */
    bool got_ready;
    char reason[WD_CONTROL_TEXT_BYTES +
                1]; /* of the last 'F'; "" since the last ready */
    unsigned starts;
    int64_t since_ms;    /* monotonic: the last change of state */
    int64_t start_at_ms; /* monotonic: not before */
    int64_t kill_at_ms;  /* monotonic: SIGKILL when it still lives; INT64_MAX: never */
    int64_t backoff_ms;  /* before the next start, when this one was never ready */
} wd_child;

void wd_child_init(wd_child *child, const wd_program *program);

/* Start a child that is down: state STARTING. Of what fails after the fork the child
 * itself tells, as 'F'.
 * Errors: UNAVAILABLE no process or descriptor to be had */
WD_MUST_USE wd_status wd_child_start(wd_child *child, int64_t now_ms, wd_error *err);

/* Ask it to stop ('S'); it is killed at `kill_at_ms`. No effect while it is down. */
void wd_child_stop(wd_child *child, int64_t now_ms, int64_t kill_at_ms);

void wd_child_kill(const wd_child *child);

/* Collect a child that has ended (its pidfd is readable): state DOWN. Returns wait
 * status. */
int wd_child_reap(wd_child *child, int64_t now_ms);

/* "starting", ... and "exit 78" or "signal 9 (Killed)". */
const char *wd_child_state_name(wd_child_state state);
void wd_wait_status_text(int wait_status, char *out, size_t size);

/* Its lines of the ctl socket's answer (ctl.h), every line ended. */
void wd_child_describe(const wd_child *child, int64_t now_ms, char *out, size_t size);

#endif
