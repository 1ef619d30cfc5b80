#include "gate_fixture.h"

#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <string.h>
#include <time.h>

#include "check.h"

void log_open(event_log *log)
{
    memset(log, 0, sizeof *log);
    (void)pthread_mutex_init(&log->lock, NULL);
    (void)pthread_cond_init(&log->grown, NULL);
}

void log_close(event_log *log)
{
    (void)pthread_cond_destroy(&log->grown);
    (void)pthread_mutex_destroy(&log->lock);
}

void log_on_reject(void *arg, const wd_tls_reject *reject)
{
    event_log *log = arg;

    (void)pthread_mutex_lock(&log->lock);
    if (log->n_rejects < EVENTS)
        log->rejects[log->n_rejects++] = *reject;
    (void)pthread_cond_broadcast(&log->grown);
    (void)pthread_mutex_unlock(&log->lock);
}

void log_on_accept(void *arg, const wd_identity *peer, const char *address)
{
    event_log *log = arg;

    (void)address;
    (void)pthread_mutex_lock(&log->lock);
    log->accepted = *peer;
    log->n_accepts++;
    (void)pthread_cond_broadcast(&log->grown);
    (void)pthread_mutex_unlock(&log->lock);
}

static size_t read_locked(event_log *log, const size_t *field)
{
    size_t n;

    (void)pthread_mutex_lock(&log->lock);
    n = *field;
    (void)pthread_mutex_unlock(&log->lock);
    return n;
}

size_t log_rejects(event_log *log)
{
    return read_locked(log, &log->n_rejects);
}

size_t log_accepts(event_log *log)
{
    return read_locked(log, &log->n_accepts);
}

size_t log_pipes(event_log *log)
{
    return read_locked(log, &log->n_pipes);
}

wd_tls_reject log_wait_reject(event_log *log, size_t n)
{
    struct timespec until;
    wd_tls_reject reject = {.cause = WD_TLS_NONE};
    int rv = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    (void)pthread_mutex_lock(&log->lock);
    while (log->n_rejects < n && rv == 0)
        rv = pthread_cond_timedwait(&log->grown, &log->lock, &until);
    if (log->n_rejects >= n)
        reject = log->rejects[n - 1];
    (void)pthread_mutex_unlock(&log->lock);
    assert_int_equal(rv, 0);
    return reject;
}

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    event_log *log = arg;
    wd_identity peer;
    wd_status status = wd_tls_pipe_identity(pipe, &peer, NULL);

    (void)event;
    (void)pthread_mutex_lock(&log->lock);
    if (status == WD_OK)
        log->pipe_peer = peer;
    log->n_pipes++;
    (void)pthread_mutex_unlock(&log->lock);
}

static void gate_listen(gate_fixture *g)
{
    nng_tls_config *config = NULL;
    nng_listener listener;
    wd_error err;

    OK(wd_tls_config(g->binding, true, &config, &err), err);
    assert_int_equal(nng_rep0_open(&g->rep), 0);
    assert_int_equal(nng_pipe_notify(g->rep, NNG_PIPE_EV_ADD_PRE, on_pipe, &g->log), 0);
    assert_int_equal(nng_socket_set_ms(g->rep, NNG_OPT_RECVTIMEO, 5000), 0);
    assert_int_equal(nng_listener_create(&listener, g->rep, "tls+tcp://127.0.0.1:0"),
                     0);
    assert_int_equal(nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, config), 0);
    assert_int_equal(nng_listener_start(listener, 0), 0);
    assert_int_equal(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &g->port),
                     0);
    nng_tls_config_free(config);
}

wd_tls_pem gate_pem(const gate_fixture *g, const char *deny)
{
    return (wd_tls_pem){wd_ca_pem(g->ca), g->own.cert, g->own.key, deny, false, NULL};
}

void gate_start(gate_fixture *g, wd_tls_options options, const char *deny)
{
    wd_tls_pem pem;
    wd_error err;

    memset(g, 0, sizeof *g);
    log_open(&g->log);
    g->ca = test_ca("Test CA");
    good_issue(g->ca, TEST_GATE, &g->own);
    pem = gate_pem(g, deny);
    OK(wd_tls_register(&err), err);
    OK(wd_tls_credentials_make(&pem, &g->credentials, &err), err);
    options.on_reject = log_on_reject;
    options.on_accept = log_on_accept;
    options.arg = &g->log;
    OK(wd_tls_binding_new(&options, g->credentials, &g->binding, &err), err);
    gate_listen(g);
}

/* NNG loses a connection for good when its socket is closed before it has noticed that the
 * peer is gone. Those that the test has left open stay. */
static void wait_for_those_who_left(const gate_fixture *g)
{
    wd_tls_stats stats = {.live = 1};

    for (int tries = 0; stats.live > 0 && tries < 100; tries++) {
        nng_msleep(2);
        wd_tls_binding_stats(g->binding, &stats);
    }
}

void gate_stop(gate_fixture *g)
{
    wait_for_those_who_left(g);
    assert_int_equal(nng_close(g->rep), 0);
    wd_tls_binding_free(g->binding);
    wd_tls_credentials_free(g->credentials);
    wd_pem_pair_done(&g->own);
    wd_ca_free(g->ca);
    log_close(&g->log);
}

wd_tls_credentials *client_credentials(const wd_ca *ca, const char *uri)
{
    wd_tls_credentials *credentials = NULL;
    wd_pem_pair pair;
    wd_tls_pem pem;
    wd_error err;

    good_issue(ca, uri, &pair);
    pem = (wd_tls_pem){wd_ca_pem(ca), pair.cert, pair.key, NULL, false, NULL};
    OK(wd_tls_credentials_make(&pem, &credentials, &err), err);
    wd_pem_pair_done(&pair);
    return credentials;
}

wd_tls_credentials *gate_credentials(const wd_ca *ca)
{
    return client_credentials(ca, TEST_GATE); /* the name decides the usage */
}

int client_dial(wd_tls_binding *binding, int port, nng_socket *ret)
{
    nng_tls_config *config = NULL;
    nng_dialer dialer;
    char url[64];
    wd_error err;
    int rv;

    (void)snprintf(url, sizeof url, "tls+tcp://127.0.0.1:%d", port);
    OK(wd_tls_config(binding, false, &config, &err), err);
    assert_int_equal(nng_req0_open(ret), 0);
    assert_int_equal(nng_socket_set_ms(*ret, NNG_OPT_RECVTIMEO, 5000), 0);
    assert_int_equal(nng_socket_set_ms(*ret, NNG_OPT_SENDTIMEO, 5000), 0);
    assert_int_equal(nng_dialer_create(&dialer, *ret, url), 0);
    assert_int_equal(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config), 0);
    rv = nng_dialer_start(dialer, 0);
    nng_tls_config_free(config);
    return rv;
}

static nng_msg *pass_on(nng_socket from, nng_socket to, nng_msg *msg)
{
    nng_msg *received = NULL;

    assert_int_equal(nng_sendmsg(from, msg, 0), 0);
    assert_int_equal(nng_recvmsg(to, &received, 0), 0);
    return received;
}

void echo_once(nng_socket req, nng_socket rep, size_t size)
{
    nng_msg *msg = NULL;

    assert_int_equal(nng_msg_alloc(&msg, size), 0);
    memset(nng_msg_body(msg), 0x5a, size);
    msg = pass_on(req, rep, msg);
    msg = pass_on(rep, req, msg);
    assert_int_equal(nng_msg_len(msg), size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((const uint8_t *)nng_msg_body(msg))[i], 0x5a);
    nng_msg_free(msg);
}
