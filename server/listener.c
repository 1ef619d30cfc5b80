#include "server/listener.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "proto/tls/engine.h"
#include "server/contexts.h"
#include "server/keepalive.h"
#include "server/parts.h"
#include "server/port_try.h"

#define TASK_THREADS   6 /* NNG's, which run the stages up to the record */
#define HELPER_THREADS 1 /* of each of its other kinds */

struct wd_listener {
    wd_listener_options options;
    wd_gate *gate;
    wd_tls_binding *tls;
    nng_socket socket;
    nng_listener nng;
    bool has_socket;
    wd_contexts *contexts;
};

_Static_assert(WD_ADDRESS_BYTES >= WD_TLS_ADDR_CHARS, "an address fits");

static wd_status nng_failed(wd_error *err, const char *what, int code)
{
    return wd_fail(err, WD_FAILED_PRECONDITION, "%s: %s", what, nng_strerror(code));
}

/* Whom the deny list names loses the connections that are open, and what they hold. */
static void end_denied(void *arg, const wd_peer *peer)
{
    wd_listener *listener = arg;

    if (wd_tls_denied(listener->tls, &peer->identity))
        wd_contexts_cut(listener->gate, peer, WD_REASON_IDENTITY_DENIED,
                        "the deny list that was reloaded names it");
}

/* --- connections ------------------------------------------------------------------------- */

static void arrived(wd_listener *listener, nng_pipe pipe)
{
    WD_AUTO(wd_tls_account) *account = wd_tls_pipe_account(listener->tls, pipe);
    wd_peer peer = {.pipe = (uint32_t)nng_pipe_id(pipe),
                    .since_ms = wd_clock_wall_ms(listener->gate->clock),
                    .account = account};
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
    if (status == WD_OK) {
        end_denied(listener, &peer); /* a reload came in between */
        return;
    }
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
                  cause == WD_TLS_REQUEST_SHARE || cause == WD_TLS_REQUEST_YIELDED ||
                  cause == WD_TLS_REPLY_YIELDED;

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

static void look_again(void *arg)
{
    const wd_listener *listener = arg;

    if (listener->contexts != NULL)
        wd_contexts_relieve(listener->contexts);
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
        .on_tick = look_again,
        .arg = listener,
        .half_open_all = listener->gate->files.half_open,
        .half_open_leaving = listener->gate->files.half_open_leaving,
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

static wd_status open_all(wd_listener *listener, wd_error *err)
{
    WD_TRY(open_tls(listener, err));
    WD_TRY(open_socket(listener, err));
    WD_TRY(open_listener(listener, err));
    return wd_contexts_open(listener->gate, listener->socket, &listener->contexts, err);
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

static int system_error(int code)
{
    if (code == NNG_EADDRINUSE)
        return EADDRINUSE;
    return code == NNG_EPERM ? EACCES : EADDRNOTAVAIL;
}

wd_status wd_listener_start(wd_listener *listener, char *ret_address, wd_error *err)
{
    const wd_config *config = listener->gate->config;
    int port = config->listen.port;
    int code = nng_listener_start(listener->nng, 0);

    if (code != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "listen.url: can't listen on %s: %s; %s", config->listen.url,
                       nng_strerror(code), wd_port_cure(system_error(code)));
    if (port == 0)
        (void)nng_listener_get_int(listener->nng, NNG_OPT_TCP_BOUND_PORT, &port);
    WD_TRY(wd_keepalive_set(port, listener->options.keepalive, err));
    bool v6 = strchr(config->listen.host, ':') != NULL;
    (void)snprintf(ret_address, WD_ADDRESS_BYTES, v6 ? "[%.45s]:%d" : "%.45s:%d",
                   config->listen.host, port);
    wd_contexts_start(listener->contexts);
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
    wd_tls_binding_free(listener->tls); /* asks about the contexts until then */
    wd_contexts_free(listener->contexts);
    free(listener);
}

void wd_listener_reload(wd_listener *listener, wd_tls_credentials *credentials)
{
    wd_tls_binding_swap(listener->tls, credentials);
    wd_peers_each(listener->gate->peers, end_denied, listener);
}

bool wd_listener_denies(wd_listener *listener, const wd_identity *peer)
{
    return wd_tls_denied(listener->tls, peer);
}

uint64_t wd_listener_busy(const wd_listener *listener)
{
    return wd_contexts_busy(listener->contexts);
}
