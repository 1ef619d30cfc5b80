#include "server/listener.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "proto/tls/engine.h"
#include "server/keepalive.h"
#include "server/parts.h"
#include "server/pipeline.h"

#define TASK_THREADS   6 /* NNG's, which run the stages up to the record */
#define HELPER_THREADS 1 /* of each of its other kinds */

struct wd_slot {
    wd_listener *listener;
    nng_ctx ctx;
    nng_aio *aio;
    nng_msg *request;        /* while a call is in the slot */
    wd_tls_account *account; /* which the call is charged to; NULL: none */
    uint64_t request_bytes;  /* charged */
    uint64_t reply_bytes;    /* charged, until NNG has the reply */
    wd_principal *principal; /* whose; counted until its reply was taken */
    bool sending;
};

struct wd_listener {
    wd_listener_options options;
    wd_gate *gate;
    wd_tls_binding *tls;
    nng_socket socket;
    nng_listener nng;
    bool has_socket;
    wd_slot *slots;
    size_t n_slots;
    atomic_uint_fast64_t busy;
};

_Static_assert(WD_ADDRESS_BYTES >= WD_TLS_ADDR_CHARS, "an address fits");

static wd_status nng_failed(wd_error *err, const char *what, int code)
{
    return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s", what, nng_strerror(code));
}

/* --- connections ------------------------------------------------------------------------- */

static void arrived(wd_listener *listener, nng_pipe pipe)
{
    WD_AUTO(wd_tls_account) *account = wd_tls_pipe_account(listener->tls, pipe);
    wd_peer peer = {.pipe = (uint32_t)nng_pipe_id(pipe), .account = account};
    nng_sockaddr addr;
    wd_error err;
    uint64_t most = atomic_load(&listener->gate->limits.connections_per_principal);

    if (nng_pipe_get_addr(pipe, NNG_OPT_REMADDR, &addr) == 0)
        wd_tls_format_address(&addr, peer.address);
    wd_status status = wd_tls_pipe_identity(pipe, &peer.identity, &err);
    if (status == WD_OK) {
        wd_hex((wd_span){peer.identity.cert_sha256, WD_SHA256_BYTES}, peer.cert_hex);
        status = wd_peers_add(listener->gate->peers, &peer, most, &err);
    }
    if (status == WD_OK)
        return;
    wd_rejects_note(listener->gate->rejects,
                    &(wd_reject){.event = "conn",
                                 .address = peer.address,
                                 .reason = wd_reason_name(err.reason),
                                 .detail = err.msg});
    (void)nng_pipe_close(pipe);
}

static void pipe_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    wd_listener *listener = arg;

    if (event == NNG_PIPE_EV_ADD_PRE) {
        arrived(listener, pipe);
        return;
    }
    uint32_t id = (uint32_t)nng_pipe_id(pipe);
    wd_peers_remove(listener->gate->peers, id);
    listener->options.vanished(listener->options.arg, id);
}

/* Who had been let in has broken no rule of TLS. */
static const char *event_of(wd_tls_cause cause)
{
    bool let_in = cause == WD_TLS_FRAME_TIMEOUT || cause == WD_TLS_REQUEST_BYTES ||
                  cause == WD_TLS_REQUEST_SHARE;

    return let_in ? "conn" : "tls.reject";
}

static void rejected(void *arg, const wd_tls_reject *reject)
{
    wd_listener *listener = arg;

    wd_rejects_note(listener->gate->rejects,
                    &(wd_reject){.event = event_of(reject->cause),
                                 .address = reject->address,
                                 .reason = wd_tls_cause_name(reject->cause),
                                 .detail = reject->detail});
}

/* --- contexts ---------------------------------------------------------------------------- */

/* Take the next request. */
static void receive(wd_slot *slot)
{
    slot->sending = false;
    nng_ctx_recv(slot->ctx, slot->aio);
}

/* From here the request counts as the gate's, until it is freed. */
static void charge(wd_slot *slot, const wd_peer *peer)
{
    slot->account = wd_tls_account_ref(peer->account);
    slot->request_bytes = nng_msg_len(slot->request);
    wd_tls_account_take(slot->account, slot->request_bytes);
}

static void free_request(wd_slot *slot)
{
    if (slot->request != NULL)
        nng_msg_free(WD_STEAL(slot->request));
    wd_tls_account_release(slot->account, slot->request_bytes);
    slot->request_bytes = 0;
}

/* Forget the call that was in the slot. */
static void vacate(wd_slot *slot)
{
    free_request(slot);
    wd_tls_account_reply_gone(slot->account, slot->reply_bytes);
    slot->reply_bytes = 0;
    wd_tls_account_free(WD_STEAL(slot->account));
    if (slot->principal != NULL)
        wd_principal_calls_remove(WD_STEAL(slot->principal));
    (void)atomic_fetch_sub(&slot->listener->busy, 1);
}

/* A call of the request in the slot, or NULL when there is no memory or its connection
 * is gone already. */
static wd_call *new_call(wd_slot *slot, uint64_t busy)
{
    wd_gate *gate = slot->listener->gate;
    uint64_t limit = atomic_load(&gate->limits.in_flight);
    uint32_t pipe = (uint32_t)nng_pipe_id(nng_msg_get_pipe(slot->request));
    wd_peer *peer = wd_peers_find(gate->peers, pipe);
    wd_call *call = peer != NULL ? calloc(1, sizeof(*call)) : NULL;

    if (peer != NULL)
        charge(slot, peer);
    if (call == NULL) {
        wd_peer_unref(gate->peers, peer);
        return NULL;
    }
    slot->principal = peer->principal;
    uint64_t share = wd_principal_calls_add(slot->principal);
    call->gate = gate;
    call->slot = slot;
    call->peer = peer;
    call->frame = (wd_span){nng_msg_body(slot->request), nng_msg_len(slot->request)};
    call->received_ns = wd_clock_mono_ns(gate->clock);
    call->overflow = busy > slot->listener->n_slots - WD_GATE_LAST;
    call->over_limit = busy > limit;
    call->over_quota = share > (limit + WD_GATE_RESERVED) / 4;
    return call;
}

static void received(wd_slot *slot)
{
    uint64_t busy = atomic_fetch_add(&slot->listener->busy, 1) + 1;
    slot->request = nng_aio_get_msg(slot->aio);
    wd_call *call = new_call(slot, busy);
    if (call == NULL) {
        vacate(slot);
        receive(slot);
        return;
    }
    wd_pipeline_start(call);
}

/* The reply was taken, or nobody is there to take it. */
static void sent(wd_slot *slot, int result)
{
    if (result != 0) {
        nng_msg *message = nng_aio_get_msg(slot->aio);
        if (message != NULL)
            nng_msg_free(message);
        nng_aio_set_msg(slot->aio, NULL);
    } else {
        slot->reply_bytes = 0; /* the connection's now */
    }
    vacate(slot);
    if (result != NNG_ECLOSED)
        receive(slot);
}

static void slot_event(void *arg)
{
    wd_slot *slot = arg;
    int result = nng_aio_result(slot->aio);
    if (slot->sending)
        sent(slot, result);
    else if (result == 0)
        received(slot);
    else if (result != NNG_ECLOSED && result != NNG_ECANCELED)
        receive(slot);
}

bool wd_listener_reserve(wd_slot *slot, size_t bytes)
{
    free_request(slot);
    if (wd_tls_account_charge_reply(slot->account, bytes) != WD_TLS_CHARGED)
        return false;
    slot->reply_bytes = bytes;
    return true;
}

void wd_listener_send(wd_slot *slot, wd_span reply)
{
    nng_msg *message = NULL;

    free_request(slot);
    if (reply.size == 0 || nng_msg_alloc(&message, reply.size) != 0) {
        vacate(slot);
        receive(slot);
        return;
    }
    memcpy(nng_msg_body(message), reply.data, reply.size);
    slot->sending = true;
    nng_aio_set_msg(slot->aio, message);
    nng_ctx_send(slot->ctx, slot->aio);
}

/* --- open, start, close ------------------------------------------------------------------- */

/* Before NNG's first call: the gate's threads are counted. */
static void set_nng_threads(void)
{
    nng_init_set_parameter(NNG_INIT_NUM_TASK_THREADS, TASK_THREADS);
    nng_init_set_parameter(NNG_INIT_NUM_EXPIRE_THREADS, HELPER_THREADS);
    nng_init_set_parameter(NNG_INIT_NUM_POLLER_THREADS, HELPER_THREADS);
    nng_init_set_parameter(NNG_INIT_NUM_RESOLVER_THREADS, HELPER_THREADS);
}

static wd_status open_tls(wd_listener *listener, wd_error *err)
{
    const wd_config *config = listener->gate->config;
    wd_tls_options options = {
        .on_reject = rejected,
        .arg = listener,
        .request_bytes = config->limits.request_bytes + WD_REQUEST_SLACK_BYTES,
        .frame_bytes = config->limits.frame_bytes + WD_FRAME_SLACK_BYTES,
    };

    if (config->sandbox.mode == WD_SANDBOX_NAMESPACES) {
        options.uid_base = (uint32_t)config->sandbox.uid_base;
        options.uid_count = (uint32_t)config->sandbox.slots * 2;
    }
    set_nng_threads();
    WD_TRY(wd_tls_register(err));
    return wd_tls_binding_new(&options, listener->options.credentials, &listener->tls,
                              err);
}

static wd_status open_socket(wd_listener *listener, wd_error *err)
{
    size_t most = listener->gate->config->limits.frame_bytes + WD_FRAME_SLACK_BYTES;
    int code = nng_rep0_open(&listener->socket);

    if (code != 0)
        return nng_failed(err, "can't open a REP socket", code);
    listener->has_socket = true;
    (void)nng_pipe_notify(listener->socket, NNG_PIPE_EV_ADD_PRE, pipe_event, listener);
    (void)nng_pipe_notify(listener->socket, NNG_PIPE_EV_REM_POST, pipe_event, listener);
    code = nng_socket_set_size(listener->socket, NNG_OPT_RECVMAXSZ, most);
    return code == 0 ? WD_OK : nng_failed(err, "can't limit messages' size", code);
}

static wd_status open_listener(wd_listener *listener, wd_error *err)
{
    const char *url = listener->gate->config->listen.url;
    nng_tls_config *tls = NULL;
    int code = nng_listener_create(&listener->nng, listener->socket, url);

    if (code != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "listen.url: %s: %s", url,
                       nng_strerror(code));
    WD_TRY(wd_tls_config(listener->tls, true, &tls, err));
    code = nng_listener_set_ptr(listener->nng, NNG_OPT_TLS_CONFIG, tls);
    nng_tls_config_free(tls);
    if (code == 0)
        code = nng_listener_set_bool(listener->nng, NNG_OPT_TCP_KEEPALIVE, true);
    return code == 0 ? WD_OK : nng_failed(err, "can't set up TLS over TCP", code);
}

static wd_status open_slots(wd_listener *listener, wd_error *err)
{
    size_t n = listener->gate->config->limits.in_flight + WD_GATE_RESERVED;

    listener->slots = calloc(n, sizeof(*listener->slots));
    if (listener->slots == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for %zu contexts", n);
    for (size_t i = 0; i < n; i++) {
        wd_slot *slot = &listener->slots[i];
        slot->listener = listener;
        int code = nng_ctx_open(&slot->ctx, listener->socket);
        if (code == 0)
            code = nng_aio_alloc(&slot->aio, slot_event, slot);
        if (code != 0)
            return nng_failed(err, "can't open a context", code);
        listener->n_slots++;
    }
    return WD_OK;
}

static wd_status open_all(wd_listener *listener, wd_error *err)
{
    WD_TRY(open_tls(listener, err));
    WD_TRY(open_socket(listener, err));
    WD_TRY(open_listener(listener, err));
    return open_slots(listener, err);
}

wd_status wd_listener_open(const wd_listener_options *options,
                           wd_listener **ret_listener, wd_error *err)
{
    wd_listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL)
        return wd_fail(err, WD_INTERNAL, "no memory for the listener");
    listener->options = *options;
    listener->gate = options->gate;
    wd_status status = open_all(listener, err);
    if (status != WD_OK)
        wd_listener_free(listener);
    else
        *ret_listener = listener;
    return status;
}

wd_status wd_listener_start(wd_listener *listener, char *ret_address, wd_error *err)
{
    const wd_config *config = listener->gate->config;
    int port = config->listen.port;
    int code = nng_listener_start(listener->nng, 0);

    if (code != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "can't listen on %s: %s",
                       config->listen.url, nng_strerror(code));
    if (port == 0)
        (void)nng_listener_get_int(listener->nng, NNG_OPT_TCP_BOUND_PORT, &port);
    WD_TRY(wd_keepalive_set(port, listener->options.keepalive, err));
    bool v6 = strchr(config->listen.host, ':') != NULL;
    (void)snprintf(ret_address, WD_ADDRESS_BYTES, v6 ? "[%.45s]:%d" : "%.45s:%d",
                   config->listen.host, port);
    for (size_t i = 0; i < listener->n_slots; i++)
        receive(&listener->slots[i]);
    return WD_OK;
}

void wd_listener_shut(wd_listener *listener)
{
    if (listener->has_socket)
        (void)nng_close(listener->socket);
    listener->has_socket = false;
}

void wd_listener_free(wd_listener *listener)
{
    if (listener == NULL)
        return;
    wd_listener_shut(listener);
    for (size_t i = 0; i < listener->n_slots; i++)
        nng_aio_free(listener->slots[i].aio);
    free(listener->slots);
    wd_tls_binding_free(listener->tls);
    free(listener);
}

void wd_listener_reload(wd_listener *listener, wd_tls_credentials *credentials)
{
    wd_tls_binding_swap(listener->tls, credentials);
}

bool wd_listener_denies(wd_listener *listener, const wd_identity *peer)
{
    return wd_tls_denied(listener->tls, peer);
}

uint64_t wd_listener_busy(const wd_listener *listener)
{
    return atomic_load(&listener->busy);
}
