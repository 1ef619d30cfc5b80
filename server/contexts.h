/* contexts.h - the REP socket's contexts: which hold a call, and who holds too many.
 *
 * A context holds one call from the arrival of its request until its reply has been
 * taken: a refusal too. Who may have how many is server/crowd.h's; while few are left,
 * who reads too slowly is server/unread.h's.
 *
 * Threads: open, start, free: one. Calls begin on NNG's threads; the rest: any.
 * Owns:    the contexts, and each request until its reply is sent.
 * Source:  NNG 1.10 nng_ctx, rep(7); docs/architecture.md, "Admission". */
#ifndef WD_SERVER_CONTEXTS_H
#define WD_SERVER_CONTEXTS_H

#include "proto/c/span.h"
#include "proto/c/status.h"
#include "server/peer.h"

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

struct wd_gate;

typedef struct wd_contexts wd_contexts;
typedef struct wd_slot wd_slot; /* a context, and the request in it */

/* Make as many as limits.in_flight asks for; nothing is received yet. `gate` (borrowed)
 * outlives them.
 * Errors: FAILED_PRECONDITION NNG has none; INTERNAL no memory */
WD_MUST_USE wd_status wd_contexts_open(struct wd_gate *gate, nng_socket socket,
                                       wd_contexts **ret_contexts, wd_error *err);

/* Take calls from now on. */
void wd_contexts_start(wd_contexts *contexts);

/* The socket must be closed, and wd_contexts_busy 0. NULL is fine. */
void wd_contexts_free(wd_contexts *contexts);

/* Those that hold a call or a reply that was not taken yet. */
uint64_t wd_contexts_busy(const wd_contexts *contexts);

/* While fewer than half of those above limits.in_flight are left: close connections whose
 * replies are not read, until these hold no more. From time to time, by one thread. */
void wd_contexts_relieve(wd_contexts *contexts);

/* Make room for a reply of `bytes` until its peer has read it; false: others that were
 * not read fill limits.request_bytes, or the principal's share of it. Either way the
 * request, the call's frame, is freed. */
WD_MUST_USE bool wd_slot_reserve(wd_slot *slot, size_t bytes);

/* Have `peer`'s connection closed, and put on record (conn, `reason`) why. No request of
 * it is served from now on, and no reply sent. */
void wd_contexts_cut(struct wd_gate *gate, const wd_peer *peer, wd_reason reason,
                     const char *why);

/* Send the reply and take the next request. Empty: no reply, just the next request. */
void wd_slot_send(wd_slot *slot, wd_span reply);

#endif
