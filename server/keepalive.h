/* keepalive.h - a peer that is gone without a word (power cut, pulled cable) is noticed, and
 * one that reads is seen to.
 *
 * What the kernel takes of a reply is all that the gate sees of its peer's reading: beyond
 * WD_UNSENT_BYTES it takes no more than it can send (TCP_NOTSENT_LOWAT). Without that it
 * takes a megabyte now and then, and a slow reader looks like none for ten seconds.
 *
 * NNG switches TCP's keepalive on and has no setting for how soon; Linux hands what is set
 * on a listening socket down to those that it accepts. So the gate looks for its own
 * listening socket, once, and sets it there.
 *
 * Threads: one, at the start.  Owns: nothing.
 * Source:  tcp(7); docs/decisions/0006-a-peer-that-is-gone-without-a-word.md. */
#ifndef WD_SERVER_KEEPALIVE_H
#define WD_SERVER_KEEPALIVE_H

#include "proto/c/status.h"

#define WD_UNSENT_BYTES (128 << 10)

/* Gone: idle_s + probes x interval_s without an answer, or with data that is not taken. */
typedef struct wd_keepalive {
    int idle_s;     /* nothing was heard for so long: ask */
    int interval_s; /* between two questions */
    int probes;     /* questions */
} wd_keepalive;

/* For connections to the TCP port on which this process listens, those that have come
 * already among them. Call it right after listening. NULL: WD_KEEPALIVE_* of limits.h.
 * Errors: FAILED_PRECONDITION  no such socket, or the kernel refuses */
WD_MUST_USE wd_status wd_keepalive_set(int port, const wd_keepalive *keepalive,
                                       wd_error *err);

#endif
