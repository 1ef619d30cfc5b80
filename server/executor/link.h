/* link.h - the executor's end of a job socket: frames in, frames out, never waiting.
 *
 * Threads: one.  Owns: the socket and what has not been sent yet.
 * Source:  proto/warded/exec/v1/job.proto. */
#ifndef WD_EXECUTOR_LINK_H
#define WD_EXECUTOR_LINK_H

#include "proto/c/buffer.h"
#include "proto/c/frame.h"
#include "proto/c/status.h"
#include "warded/exec/v1/job.pb-c.h"

#include <stdbool.h>

typedef struct wd_link {
    int fd; /* -1: closed */
    wd_frame_reader *reader;
    wd_buffer out;
} wd_link;

/* Takes `fd`, makes it non-blocking.
 * Errors: INTERNAL out of memory, or not a socket; `fd` is closed */
WD_MUST_USE wd_status wd_link_open(wd_link *link, int fd, wd_error *err);

/* Close; what was not sent is dropped. Also of a closed one. */
void wd_link_close(wd_link *link);

/* Called for each frame; a failure ends the socket. */
typedef wd_status (*wd_link_handler)(void *self, wd_span frame, wd_error *err);

/* Read what is there and hand out the frames.
 * Errors: UNAVAILABLE the other side is gone; whatever the reader or handler said */
WD_MUST_USE wd_status wd_link_read(wd_link *link, wd_link_handler handler, void *self,
                                   wd_error *err);

/* Queue one message. Nothing happens when closed.
 * Errors: as wd_frame_append */
WD_MUST_USE wd_status wd_link_send(wd_link *link,
                                   const Warded__Exec__V1__ToGate *message,
                                   wd_error *err);

/* Send as much as the socket takes. false: the other side is gone. */
WD_MUST_USE bool wd_link_flush(wd_link *link);

#endif
