#include "server/peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/call_ids.h"
#include "server/crowd.h"
#include "server/kept.h"

#define BUCKETS 4096U /* a power of two */

struct wd_principal {
    wd_principal *next; /* of its bucket */
    uint64_t connections;
    atomic_uint_fast64_t calls, places;
    wd_unread_count unread;
    atomic_int_fast64_t guesses;
    pthread_mutex_t ids_lock;
    wd_call_ids *ids;
    wd_kept_share kept;
    char uri[]; /* as the certificate has it */
};

typedef struct node {
    wd_peer peer; /* first: a wd_peer is its node */
    struct node *next;
    size_t refs;
} node;

struct wd_peers {
    pthread_mutex_t lock;
    node *peers[BUCKETS];
    wd_principal *principals[BUCKETS];
    uint64_t room;        /* for connections of all principals */
    uint64_t connections; /* that they have */
    uint64_t last_number; /* of a connection */
    atomic_size_t n_ids;  /* of all principals */
    int64_t ids_floor_ms; /* of those that come new */
};

void wd_peers_set_floor(wd_peers *peers, int64_t floor_ms)
{
    (void)pthread_mutex_lock(&peers->lock);
    peers->ids_floor_ms = floor_ms;
    (void)pthread_mutex_unlock(&peers->lock);
}

wd_peers *wd_peers_new(void)
{
    wd_peers *peers = calloc(1, sizeof(*peers));

    if (peers == NULL)
        return NULL;
    (void)pthread_mutex_init(&peers->lock, NULL);
    peers->room = UINT64_MAX;
    return peers;
}

void wd_peers_set_room(wd_peers *peers, uint64_t connections)
{
    (void)pthread_mutex_lock(&peers->lock);
    peers->room = connections;
    (void)pthread_mutex_unlock(&peers->lock);
}

static void free_principal(wd_principal *principal)
{
    (void)pthread_mutex_destroy(&principal->ids_lock);
    wd_call_ids_free(principal->ids);
    free(principal);
}

static void free_node(node *gone)
{
    if (gone != NULL)
        wd_tls_account_free(gone->peer.account);
    free(gone);
}

void wd_peers_free(wd_peers *peers)
{
    if (peers == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (peers->peers[i] != NULL) {
            node *gone = peers->peers[i];
            peers->peers[i] = gone->next;
            free_node(gone);
        }
        while (peers->principals[i] != NULL) {
            wd_principal *gone = peers->principals[i];
            peers->principals[i] = gone->next;
            free_principal(gone);
        }
    }
    (void)pthread_mutex_destroy(&peers->lock);
    free(peers);
}

/* FNV-1a. Names come from our CA, not from strangers. */
static size_t bucket_of(const char *uri)
{
    uint32_t hash = 2166136261U;

    for (; *uri != '\0'; uri++)
        hash = (hash ^ (uint8_t)*uri) * 16777619U;
    return hash & (BUCKETS - 1);
}

static wd_principal *new_principal(wd_peers *peers, const char *uri)
{
    size_t size = strlen(uri) + 1;
    wd_principal *principal = calloc(1, sizeof(*principal) + size);

    if (principal == NULL)
        return NULL;
    memcpy(principal->uri, uri, size);
    principal->ids =
        wd_call_ids_new(WD_CALL_IDS_EACH, peers->ids_floor_ms, &peers->n_ids);
    if (principal->ids == NULL) {
        free(principal);
        return NULL;
    }
    (void)pthread_mutex_init(&principal->ids_lock, NULL);
    wd_kept_share_init(&principal->kept);
    return principal;
}

static wd_principal *find_or_make(wd_peers *peers, const char *uri)
{
    wd_principal **bucket = &peers->principals[bucket_of(uri)];

    for (wd_principal *at = *bucket; at != NULL; at = at->next) {
        if (strcmp(at->uri, uri) == 0)
            return at;
    }
    wd_principal *made = new_principal(peers, uri);
    if (made != NULL) {
        made->next = *bucket;
        *bucket = made;
    }
    return made;
}

wd_principal *wd_peers_principal(wd_peers *peers, const char *uri)
{
    (void)pthread_mutex_lock(&peers->lock);
    wd_principal *principal = find_or_make(peers, uri);
    (void)pthread_mutex_unlock(&peers->lock);
    return principal;
}

/* With the lock held: what descriptors leave a principal. Where each takes all of it,
 * some stay free for who comes next. */
static uint64_t share_of_room(const wd_peers *peers)
{
    uint64_t few = peers->room / WD_CROWD_KEPT / WD_CROWD_KEPT;
    uint64_t share = wd_crowd_free(peers->room, peers->connections, few > 0 ? few : 1);
    uint64_t quarter = peers->room / WD_SHARES;

    if (peers->connections >= peers->room)
        return 0;
    return share < quarter ? share : quarter;
}

static wd_status check_share(const wd_peers *peers, const wd_principal *principal,
                             uint64_t max_connections, wd_error *err)
{
    uint64_t share = share_of_room(peers);

    if (principal->connections >= max_connections)
        return wd_refuse(err, WD_REASON_QUOTA,
                         "limits.connections_per_principal is %llu and %s has as many",
                         (unsigned long long)max_connections, principal->uri);
    if (principal->connections >= share)
        return wd_refuse(err, WD_REASON_QUOTA,
                         "of %llu connections that the limit on open files "
                         "(LimitNOFILE) leaves a principal may have a quarter, and no "
                         "more than are free, now %llu: %s has %llu",
                         (unsigned long long)peers->room, (unsigned long long)share,
                         principal->uri, (unsigned long long)principal->connections);
    return WD_OK;
}

/* With the lock held. */
static wd_status enter(wd_peers *peers, node *fresh, uint64_t max_connections,
                       wd_error *err)
{
    wd_peer *peer = &fresh->peer;

    peer->principal = find_or_make(peers, peer->identity.uri);
    if (peer->principal == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the principal %s",
                       peer->identity.uri);
    WD_TRY(check_share(peers, peer->principal, max_connections, err));
    peer->principal->connections++;
    peers->connections++;
    peer->number = ++peers->last_number;
    node **bucket = &peers->peers[peer->pipe & (BUCKETS - 1)];
    fresh->next = *bucket;
    *bucket = fresh;
    return WD_OK;
}

wd_status wd_peers_add(wd_peers *peers, const wd_peer *peer, uint64_t max_connections,
                       wd_error *err)
{
    node *fresh = calloc(1, sizeof(*fresh));

    if (fresh == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for a connection");
    fresh->peer = *peer;
    (void)wd_tls_account_ref(peer->account);
    fresh->refs = 1;
    (void)pthread_mutex_lock(&peers->lock);
    wd_status status = enter(peers, fresh, max_connections, err);
    (void)pthread_mutex_unlock(&peers->lock);
    if (status != WD_OK)
        free_node(fresh);
    return status;
}

static node **place_of(wd_peers *peers, uint32_t pipe)
{
    node **at = &peers->peers[pipe & (BUCKETS - 1)];

    while (*at != NULL && (*at)->peer.pipe != pipe)
        at = &(*at)->next;
    return at;
}

wd_peer *wd_peers_find(wd_peers *peers, uint32_t pipe)
{
    (void)pthread_mutex_lock(&peers->lock);
    node *found = *place_of(peers, pipe);
    if (found != NULL)
        found->refs++;
    (void)pthread_mutex_unlock(&peers->lock);
    return found != NULL ? &found->peer : NULL;
}

size_t wd_peers_keys(wd_peers *peers, wd_peer_key **ret_keys)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&peers->lock);
    wd_peer_key *keys = calloc(peers->connections + 1, sizeof(*keys));
    for (size_t i = 0; keys != NULL && i < BUCKETS; i++)
        for (const node *at = peers->peers[i]; at != NULL; at = at->next)
            keys[n++] = (wd_peer_key){at->peer.number, at->peer.pipe};
    (void)pthread_mutex_unlock(&peers->lock);
    *ret_keys = keys;
    return n;
}

void wd_peers_each(wd_peers *peers, void (*look)(void *arg, const wd_peer *peer),
                   void *arg)
{
    (void)pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const node *at = peers->peers[i]; at != NULL; at = at->next)
            look(arg, &at->peer);
    (void)pthread_mutex_unlock(&peers->lock);
}

/* With the lock held: one count less; true when it was the last. */
static bool let_go(node *peer)
{
    WD_ASSERT(peer->refs > 0);
    return --peer->refs == 0;
}

void wd_peers_remove(wd_peers *peers, uint32_t pipe)
{
    node *dead = NULL;

    (void)pthread_mutex_lock(&peers->lock);
    node **place = place_of(peers, pipe);
    if (*place != NULL) {
        node *found = *place;
        *place = found->next;
        found->peer.principal->connections--;
        peers->connections--;
        if (let_go(found))
            dead = found;
    }
    (void)pthread_mutex_unlock(&peers->lock);
    free_node(dead);
}

void wd_peer_unref(wd_peers *peers, wd_peer *peer)
{
    if (peer == NULL)
        return;
    node *owner = (node *)(void *)peer;
    (void)pthread_mutex_lock(&peers->lock);
    bool last = let_go(owner);
    (void)pthread_mutex_unlock(&peers->lock);
    if (last)
        free_node(owner);
}

const char *wd_principal_uri(const wd_principal *principal)
{
    return principal->uri;
}

uint64_t wd_principal_calls_add(wd_principal *principal)
{
    return atomic_fetch_add(&principal->calls, 1) + 1;
}

void wd_principal_calls_remove(wd_principal *principal)
{
    uint64_t before = atomic_fetch_sub(&principal->calls, 1);
    WD_ASSERT(before > 0);
}

uint64_t wd_principal_places_add(wd_principal *principal)
{
    return atomic_fetch_add(&principal->places, 1) + 1;
}

void wd_principal_places_remove(wd_principal *principal)
{
    uint64_t before = atomic_fetch_sub(&principal->places, 1);
    WD_ASSERT(before > 0);
}

wd_unread_count *wd_principal_unread(wd_principal *principal)
{
    return &principal->unread;
}

atomic_int_fast64_t *wd_principal_guesses(wd_principal *principal)
{
    return &principal->guesses;
}

wd_call_ids *wd_principal_ids_lock(wd_principal *principal)
{
    (void)pthread_mutex_lock(&principal->ids_lock);
    return principal->ids;
}

void wd_principal_ids_unlock(wd_principal *principal)
{
    (void)pthread_mutex_unlock(&principal->ids_lock);
}

wd_kept_share *wd_principal_kept(wd_principal *principal)
{
    return &principal->kept;
}
