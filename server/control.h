/* control.h - what the supervisor and its children say to each other.
 *
 * A child's descriptor 3 is one end of an AF_UNIX SOCK_SEQPACKET pair. A message is one
 * byte, its kind; 'X' carries one descriptor (SCM_RIGHTS), 'F' carries text.
 *
 *     supervisor -> gate    X + fd  a fresh job socket to execd (SOCK_STREAM)
 *                           S       stop: drain, then exit 0
 *                           H       read certificates, deny-list and limits again
 *     gate -> supervisor    R       ready: listening, run/address is written
 *     supervisor -> execd   X + fd  serve this job socket; the one before has ended
 *                           S       stop
 *     execd -> supervisor   R       ready: the sandbox was tried and holds
 *                           K       everything of the last ended job socket is dead
 *     both -> supervisor    F text  can't start: cause and cure; exit follows
 *
 * The supervisor's end of file means that it is gone: the child exits.
 * Children are started as   warded-execd [--home DIR]   and   warded [--home DIR] gate.
 *
 * Threads: any; one reader a descriptor.  Owns: the descriptor of a received message.
 * Source:  docs/architecture.md, "Processes". */
#ifndef WD_SERVER_CONTROL_H
#define WD_SERVER_CONTROL_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

#define WD_CONTROL_FD         3
#define WD_CONTROL_TEXT_BYTES 1024 /* longest text of 'F'; longer is cut */

typedef enum wd_control_kind {
    WD_CONTROL_END = 0, /* end of file: the other side is gone */
    WD_CONTROL_CHANNEL = 'X',
    WD_CONTROL_STOP = 'S',
    WD_CONTROL_RELOAD = 'H',
    WD_CONTROL_READY = 'R',
    WD_CONTROL_DEAD = 'K',
    WD_CONTROL_FAILED = 'F',
} wd_control_kind;

typedef struct wd_control_message {
    wd_control_kind kind;
    int fd; /* of 'X', close-on-exec, the reader's; else -1 */
    char text[WD_CONTROL_TEXT_BYTES + 1]; /* of 'F'; else "" */
} wd_control_message;

/* Send one message; `pass_fd` -1 for none (borrowed: the caller still closes it), `text`
 * NULL for none. Never raises SIGPIPE; waits while the pair's buffer is full.
 * Errors: UNAVAILABLE the other side is gone */
WD_MUST_USE wd_status wd_control_send(int control, wd_control_kind kind, int pass_fd,
                                      const char *text, wd_error *err);

/* Receive one message, waiting for it unless the descriptor is non-blocking.
 * Errors: UNAVAILABLE      non-blocking and nothing there (errno EAGAIN)
 *         INVALID_ARGUMENT an unknown kind, 'X' without its descriptor, or others with */
WD_MUST_USE wd_status wd_control_receive(int control, wd_control_message *ret_message,
                                         wd_error *err);

#endif
