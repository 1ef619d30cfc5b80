/* peer_uid.h - does a connection from this host come from sandboxed code?
 *
 * The kernel knows which uid made the socket at the other end of a local connection. A
 * slot's uid is refused; so is a local address that no socket of ours explains
 * (TIME_WAIT, inode 0, another network namespace that bears our address).
 *
 * Threads: any; each call opens and closes its own netlink socket.  Owns: nothing.
 * Source:  sock_diag(7); linux/inet_diag.h; rtnetlink(7) for "is this address ours". */
#ifndef WD_PEER_UID_H
#define WD_PEER_UID_H

#include <stdint.h>
#include <sys/socket.h>

#include "proto/c/status.h"

typedef enum wd_peer_origin {
    WD_PEER_REMOTE = 1, /* its address is not this host's */
    WD_PEER_LOCAL,      /* ours, and *ret_uid owns the socket */
    WD_PEER_NO_OWNER,   /* ours, and no live socket matches */
} wd_peer_origin;

/* Who holds the other end of a TCP connection? `peer` and `own` are the addresses as the
 * accepting side sees them (IPv4, IPv6, IPv4 inside IPv6). *ret_uid only with LOCAL.
 * Errors: UNAVAILABLE when the kernel does not answer: refuse the peer. */
WD_MUST_USE wd_status wd_peer_find(const struct sockaddr *peer,
                                   const struct sockaddr *own, wd_peer_origin *ret,
                                   uint32_t *ret_uid, wd_error *err);

/* Is the check possible on this host? For start.
 * Errors: FAILED_PRECONDITION with errno and the cure. */
WD_MUST_USE wd_status wd_peer_probe(wd_error *err);

#endif
