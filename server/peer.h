/* peer.h - who is at the other end of a connection, and the principal behind it.
 *
 * A peer is one connection; a principal is a certificate's URI, whatever the number of
 * its connections. Both are counted: the table holds one count of each while the
 * connection lives, each call one more.
 *
 * Threads: any. The identity never changes; counters keep their lock private.
 * Owns:    its identity and text. */
#ifndef WD_SERVER_PEER_H
#define WD_SERVER_PEER_H

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "proto/tls/account.h"
#include "proto/tls/identity.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_ADDRESS_BYTES 64U /* "[::1]:40112" and the NUL */

struct wd_call_ids;   /* server/call_ids.h */
struct wd_kept_share; /* server/kept.h */

/* One certificate URI. Lives as long as the table. */
typedef struct wd_principal wd_principal;

typedef struct wd_peer {
    uint32_t pipe;    /* the connection's number; never used twice while it lives */
    uint64_t number;  /* counted from 1, never used twice; wd_peers_add sets it */
    int64_t since_ms; /* wall clock: when it was let in */
    char address[WD_ADDRESS_BYTES];
    wd_identity identity;
    char cert_hex[65];
    wd_principal *principal;
    wd_tls_account *account; /* where its requests are charged; NULL: nowhere */
} wd_peer;

typedef struct wd_peers wd_peers;

wd_peers *wd_peers_new(void);
void wd_peers_free(wd_peers *peers); /* every peer must be gone */
WD_DEFINE_AUTO(wd_peers, wd_peers_free)

/* Call ids of principals that come from now on are never taken when older than this: the
 * wall clock's milliseconds up to which the trail was not read back. */
void wd_peers_set_floor(wd_peers *peers, int64_t floor_ms);

/* How many connections all principals may have together: without it, any number. */
void wd_peers_set_room(wd_peers *peers, uint64_t connections);

/* A new connection. A principal may have `max_connections`, and of the room a quarter,
 * and no more than are free beside them. Takes a reference of its own on peer->account.
 * Errors: RESOURCE_EXHAUSTED QUOTA: the principal has as many already
 *         INTERNAL           no memory */
WD_MUST_USE wd_status wd_peers_add(wd_peers *peers, const wd_peer *peer,
                                   uint64_t max_connections, wd_error *err);

/* The peer of a connection with one count more, or NULL when it is gone. */
wd_peer *wd_peers_find(wd_peers *peers, uint32_t pipe);

/* For each connection, under the table's lock: `look` may not come back here. */
void wd_peers_each(wd_peers *peers, void (*look)(void *arg, const wd_peer *peer),
                   void *arg);

void wd_peers_remove(wd_peers *peers, uint32_t pipe);

/* Which connections there are, in no order: *ret_keys is from malloc, NULL without memory;
 * how many. Each may be gone when it is looked for. */
typedef struct wd_peer_key {
    uint64_t number;
    uint32_t pipe;
} wd_peer_key;
size_t wd_peers_keys(wd_peers *peers, wd_peer_key **ret_keys);

void wd_peer_unref(wd_peers *peers, wd_peer *peer); /* NULL is fine */

/* The principal called `uri`, made when new; NULL: no memory. */
wd_principal *wd_peers_principal(wd_peers *peers, const char *uri);
const char *wd_principal_uri(const wd_principal *principal);

/* Calls that hold a context. add: the count with this one. */
uint64_t wd_principal_calls_add(wd_principal *principal);
void wd_principal_calls_remove(wd_principal *principal);

/* Those of them that have a place of limits.in_flight; likewise. */
uint64_t wd_principal_places_add(wd_principal *principal);
void wd_principal_places_remove(wd_principal *principal);

/* Replies that wait to be taken, and those that wait too long: server/unread.h's alone. */
typedef struct wd_unread_count {
    size_t waiting, overdue;
} wd_unread_count;
wd_unread_count *wd_principal_unread(wd_principal *principal);

/* The principal's table of call ids, locked until wd_principal_ids_unlock. Nothing else
 * may be called in between but call_ids.h. */
struct wd_call_ids *wd_principal_ids_lock(wd_principal *principal);
void wd_principal_ids_unlock(wd_principal *principal);

/* When what the principal has guessed is paid for: server/guesses.h's alone. */
atomic_int_fast64_t *wd_principal_guesses(wd_principal *principal);

/* The principal's kept answers: the keeper's alone. */
struct wd_kept_share *wd_principal_kept(wd_principal *principal);

#endif
