#include "server/service/connections.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "server/parts.h"
#include "server/service/pb.h"
#include "warded/v1/health.wd.h"

#define MOST_ROWS  1000U
#define USUAL_ROWS 100U
#define PEER_BYTES 256U

/* A page: peers with a count of their own, and the messages that borrow from them. */
typedef struct page {
    wd_peers *of;
    wd_peer **peers;
    Warded__V1__Connection *infos;
    Warded__V1__Connection **messages;
    size_t n, most;
    uint64_t next;
} page;

static void page_done(page *p)
{
    for (size_t i = 0; i < p->n; i++)
        wd_peer_unref(p->of, p->peers[i]);
    free(p->peers);
    free(p->infos);
    free(p->messages);
}
#define AUTO_PAGE __attribute__((cleanup(page_done))) page

static wd_status no_memory(wd_error *err)
{
    return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
}

static wd_status check(const Warded__V1__ConnectionsRequest *request, wd_error *err)
{
    size_t size = strlen(request->peer);

    if (request->limit > MOST_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u",
                         request->limit, MOST_ROWS);
    if (size > PEER_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "peer has %zu bytes, at most %u",
                         size, PEER_BYTES);
    if (request->expires_before_ms > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "expires_before_ms is at most 2^63 - 1");
    return WD_OK;
}

/* --- which -------------------------------------------------------------------------- */

static bool passes(const wd_peer *peer, const Warded__V1__ConnectionsRequest *request)
{
    const char *names[] = {peer->identity.uri, peer->address, peer->cert_hex};
    bool named = request->peer[0] == '\0';

    if (request->expires_before_ms != 0 &&
        peer->identity.not_after_ms >= (int64_t)request->expires_before_ms)
        return false;
    for (size_t i = 0; !named && i < sizeof(names) / sizeof(names[0]); i++)
        named = fnmatch(request->peer, names[i], FNM_NOESCAPE) == 0;
    return named;
}

/* The peer of a key, with a count; NULL: it is gone, or not asked for. */
static wd_peer *find(wd_peers *peers, const wd_peer_key *key,
                     const Warded__V1__ConnectionsRequest *request)
{
    wd_peer *peer = wd_peers_find(peers, key->pipe);

    if (peer != NULL && (peer->number != key->number || !passes(peer, request))) {
        wd_peer_unref(peers, peer);
        return NULL;
    }
    return peer;
}

static int by_number(const void *a, const void *b)
{
    const wd_peer_key *one = a;
    const wd_peer_key *two = b;

    return (one->number > two->number) - (one->number < two->number);
}

/* The first of those behind `after`; one more tells that there is a next page. */
static void choose(const wd_peer_key *keys, size_t n_keys,
                   const Warded__V1__ConnectionsRequest *request, page *p)
{
    for (size_t i = 0; i < n_keys; i++) {
        if (keys[i].number <= request->after)
            continue;
        wd_peer *peer = find(p->of, &keys[i], request);
        if (peer == NULL)
            continue;
        if (p->n == p->most) {
            wd_peer_unref(p->of, peer);
            p->next = p->peers[p->n - 1]->number;
            return;
        }
        p->peers[p->n++] = peer;
    }
}

/* --- what is said of them ------------------------------------------------------------ */

static int by_pipe(const void *a, const void *b)
{
    const uint32_t *one = a;
    const uint32_t *two = b;

    return (*one > *two) - (*one < *two);
}

/* How many of the sorted pipes are lower. */
static size_t lower(const uint32_t *pipes, size_t n, uint64_t pipe)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pipes[middle] < pipe)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static void tell(const wd_peer *peer, Warded__V1__Connection *info)
{
    warded__v1__connection__init(info);
    info->number = peer->number;
    info->peer = wd_pb_text(peer->identity.uri);
    info->address = wd_pb_text(peer->address);
    info->certificate_sha256 = wd_pb_text(peer->cert_hex);
    info->certificate_expires_ms = (uint64_t)peer->identity.not_after_ms;
    info->since_ms = (uint64_t)peer->since_ms;
    wd_tls_account_used(peer->account, &info->request_bytes, &info->reply_bytes);
}

static wd_status tell_all(const wd_call *call, page *p, wd_error *err)
{
    uint32_t *pipes = NULL;
    size_t n_pipes = wd_inflight_pipes(call->gate->inflight, &pipes);

    if (pipes == NULL)
        return no_memory(err);
    qsort(pipes, n_pipes, sizeof(*pipes), by_pipe);
    for (size_t i = 0; i < p->n; i++) {
        const wd_peer *peer = p->peers[i];
        tell(peer, &p->infos[i]);
        p->infos[i].calls = (uint32_t)(lower(pipes, n_pipes, (uint64_t)peer->pipe + 1) -
                                       lower(pipes, n_pipes, peer->pipe));
        p->infos[i].own = peer == call->peer;
        p->messages[i] = &p->infos[i];
    }
    free(pipes);
    return WD_OK;
}

/* --- the answer ----------------------------------------------------------------------- */

static wd_status make_room(page *p, wd_error *err)
{
    p->peers = calloc(p->most, sizeof(*p->peers));
    p->infos = calloc(p->most, sizeof(*p->infos));
    p->messages = calloc(p->most, sizeof(*p->messages));
    if (p->peers == NULL || p->infos == NULL || p->messages == NULL)
        return no_memory(err);
    return WD_OK;
}

static wd_status fill(const wd_call *call,
                      const Warded__V1__ConnectionsRequest *request, page *p,
                      uint64_t *ret_total, wd_error *err)
{
    wd_peer_key *keys = NULL;

    WD_TRY(check(request, err));
    WD_TRY(make_room(p, err));
    size_t n = wd_peers_keys(p->of, &keys);
    if (keys == NULL)
        return no_memory(err);
    qsort(keys, n, sizeof(*keys), by_number);
    choose(keys, n, request, p);
    free(keys);
    *ret_total = n;
    return tell_all(call, p, err);
}

wd_step wd_health_connections(void *self, wd_call *call,
                              const Warded__V1__ConnectionsRequest *request,
                              wd_error *err)
{
    Warded__V1__ConnectionsReply reply = WARDED__V1__CONNECTIONS_REPLY__INIT;
    AUTO_PAGE p = {.of = call->gate->peers,
                   .most = request->limit != 0 ? request->limit : USUAL_ROWS};

    (void)self;
    if (fill(call, request, &p, &reply.total, err) != WD_OK)
        return WD_FAILED;
    reply.connections = p.messages;
    reply.n_connections = p.n;
    reply.next = p.next;
    return wd_warded_v1_health_reply_connections(call, &reply, err) == WD_OK
               ? WD_NEXT
               : WD_FAILED;
}
