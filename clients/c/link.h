/* link.h - what a channel keeps: the connection in force, and who makes the next one.
 *
 * A thread of the link dials, so that each caller waits no longer than its own deadline;
 * it goes away when it has an answer. When a file of the profile has changed, new calls
 * go by a new connection, and those in flight end on the old one.
 *
 * Threads: any; its lock is private.
 * Owns:    the connection, the thread. */
#ifndef WD_CLIENT_LINK_H
#define WD_CLIENT_LINK_H

#include "clients/c/conn.h"

typedef struct wd_link wd_link;

/* The profile is borrowed for as long as the link lives. NULL: no memory. */
wd_link *wd_link_new(wd_profile *profile);

/* No caller may be in it. Ends a dialling. NULL is fine. */
void wd_link_free(wd_link *link);

/* A connection that is alive, with a reference for the caller; waits for one until
 * `until_ms` (monotonic).
 * Errors: as wd_conn_dial, of the last of the profile's servers; phase PROFILE;
 *         QUEUE_TIMEOUT */
WD_MUST_USE wd_status wd_link_take(wd_link *link, int64_t until_ms, wd_conn **ret,
                                   wd_failure *why);

/* Take no more calls to it: it does not answer. */
void wd_link_leave(wd_link *link, const wd_conn *conn);

#endif
