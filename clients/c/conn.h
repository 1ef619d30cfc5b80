/* conn.h - one connection to one gate: dialled once, used until it ends.
 *
 * A request is handed to it once and never repeated: NNG's own resending is off.
 *
 * Threads: any; counted.
 * Owns:    an NNG socket, and a thread of the TLS engine, until the last holder lets go.
 * Source:  NNG 1.10 nng_req(7), nng_ctx(5); docs/protocol.md section 2. */
#ifndef WD_CLIENT_CONN_H
#define WD_CLIENT_CONN_H

#include "clients/c/profile.h"
#include "proto/c/buffer.h"

typedef struct wd_conn wd_conn;

/* Not dialled yet; one reference is the caller's. Takes a reference of its own on nothing:
 * `credentials` must outlive it, so it *takes* the caller's reference, also on failure.
 * Errors: phase TLS or CONNECT: the engine can't be used, memory is out. */
WD_MUST_USE wd_status wd_conn_new(const wd_credentials *credentials,
                                  const wd_server *server, wd_conn **ret,
                                  wd_failure *why);
wd_conn *wd_conn_ref(wd_conn *conn);
void wd_conn_free(wd_conn *conn); /* lets go; NULL is fine */
WD_DEFINE_AUTO(wd_conn, wd_conn_free)

/* Connects; blocks for at most 15 s. Once the gate has proved itself and has greeted us
 * the connection is alive.
 * Errors: UNREACHABLE, TLS_REFUSED, HOST_NOT_ADOPTED. */
WD_MUST_USE wd_status wd_conn_dial(wd_conn *conn, wd_failure *why);

/* Any thread: let wd_conn_dial return at once. */
void wd_conn_abort(wd_conn *conn);

/* How far wd_conn_dial has come. */
wd_phase wd_conn_phase(wd_conn *conn);

bool wd_conn_alive(wd_conn *conn);

/* Whose it is, once it is alive; as long as the connection lives. */
const char *wd_conn_gate(const wd_conn *conn);
const wd_credentials *wd_conn_credentials(const wd_conn *conn);

/* One request, one reply. `until_ms` (monotonic) is the call's deadline; once it has been
 * sent, two seconds more are waited.
 * Errors: UNREACHABLE (phase SEND) not sent; OUTCOME_UNKNOWN (phase WAIT) the connection
 *         ended first; QUEUE_TIMEOUT (SEND), RUN_TIMEOUT (WAIT) */
WD_MUST_USE wd_status wd_conn_exchange(wd_conn *conn, wd_span request, int64_t until_ms,
                                       wd_buffer *ret_reply, wd_failure *why);

#endif
