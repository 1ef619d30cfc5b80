/* executor_wire.h - the job socket itself: frames out of a buffer, messages in.
 *
 * Threads: the link's.  Owns: the socket, which it makes non-blocking.
 * Source:  proto/warded/exec/v1/job.proto. */
#ifndef WD_SERVER_EXECUTOR_WIRE_H
#define WD_SERVER_EXECUTOR_WIRE_H

#include "proto/c/status.h"
#include "server/executor_link.h"

typedef struct wd_exec_wire wd_exec_wire;

/* Takes the socket, also when it answers NULL: no memory. */
wd_exec_wire *wd_exec_wire_new(int fd);
void wd_exec_wire_free(wd_exec_wire *wire);

int wd_exec_wire_fd(const wd_exec_wire *wire);
short wd_exec_wire_events(const wd_exec_wire *wire); /* what to poll for */

/* Whether another job may be encoded: what waits to be written is bounded. */
bool wd_exec_wire_room(const wd_exec_wire *wire);

/* Encode a job, or the wish to end one. run: false when it can't be, being too large. */
bool wd_exec_wire_run(wd_exec_wire *wire, const wd_exec_job *job);
void wd_exec_wire_cancel(wd_exec_wire *wire, uint64_t job_id);

/* Write what the socket takes.
 * Errors: UNAVAILABLE the executor is gone */
WD_MUST_USE wd_status wd_exec_wire_write(wd_exec_wire *wire, wd_error *err);

/* Called for each message. It may steal what it keeps. */
typedef void wd_exec_hear(void *arg, Warded__Exec__V1__ToGate *message);

/* Read what is there.
 * Errors: UNAVAILABLE the executor is gone, or what it says can't be read */
WD_MUST_USE wd_status wd_exec_wire_read(wd_exec_wire *wire, wd_exec_hear *hear,
                                        void *arg, wd_error *err);

/* Take a part out of a message; freed by wd_exec_ready_free and wd_exec_done_free. */
Warded__Exec__V1__Ready *wd_exec_steal_ready(Warded__Exec__V1__ToGate *message);
Warded__Exec__V1__Done *wd_exec_steal_done(Warded__Exec__V1__ToGate *message);
void wd_exec_ready_free(Warded__Exec__V1__Ready *ready); /* NULL is fine */

#endif
