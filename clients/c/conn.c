#include "clients/c/conn.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdio.h>
#include <string.h>

#include "clients/c/conn_impl.h"
#include "clients/c/host.h"

/* --- what the engine and NNG call ------------------------------------------------------- */

/* Before our certificate leaves. */
static wd_status check_peer(void *arg, const wd_identity *peer, wd_error *err)
{
    wd_conn *conn = arg;
    const wd_host_case c = {&conn->credentials->policy, &conn->credentials->mine,
                            &conn->server.expect};
    wd_status status = wd_host_judge(&c, peer, err);
    pthread_mutex_lock(&conn->lock);
    conn->phase = WD_PHASE_TLS;
    if (status == WD_OK)
        memcpy(conn->gate, peer->uri, sizeof(conn->gate));
    else
        wd_refusal_host(&conn->refusal, err);
    pthread_mutex_unlock(&conn->lock);
    return status;
}

static void on_reject(void *arg, const wd_tls_reject *reject)
{
    wd_conn *conn = arg;
    pthread_mutex_lock(&conn->lock);
    wd_refusal_tls(&conn->refusal, reject->cause, reject->alert, reject->detail);
    pthread_mutex_unlock(&conn->lock);
}

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    wd_conn *conn = arg;
    (void)pipe;
    pthread_mutex_lock(&conn->lock);
    if (event == NNG_PIPE_EV_ADD_POST) {
        conn->alive = !conn->dead;
    } else {
        conn->alive = false;
        conn->dead = true;
        for (wd_sending *s = conn->first; s != NULL; s = s->next)
            nng_aio_abort(s->aio, NNG_ECONNRESET);
    }
    pthread_mutex_unlock(&conn->lock);
}

/* --- making and ending it ---------------------------------------------------------------- */

static wd_status fail_nng(wd_failure *why, const char *what, int rv)
{
    char text[160];
    (void)snprintf(text, sizeof(text), "%s: %s", what, nng_strerror(rv));
    return wd_failure_unreachable(why, WD_PHASE_CONNECT, text);
}

static wd_status open_socket(wd_conn *conn, wd_failure *why)
{
    int rv = nng_req0_open(&conn->socket);
    if (rv != 0)
        return fail_nng(why, "no socket", rv);
    conn->has_socket = true;
    rv = nng_socket_set_ms(conn->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    if (rv == 0)
        rv = nng_pipe_notify(conn->socket, NNG_PIPE_EV_ADD_POST, on_pipe, conn);
    if (rv == 0)
        rv = nng_pipe_notify(conn->socket, NNG_PIPE_EV_REM_POST, on_pipe, conn);
    return rv == 0 ? WD_OK : fail_nng(why, "no socket", rv);
}

static wd_status open_tls(wd_conn *conn, wd_failure *why)
{
    const wd_tls_options options = {
        .check_peer = check_peer, .on_reject = on_reject, .arg = conn};
    wd_error err = {0};
    if (wd_tls_register(&err) != WD_OK ||
        wd_tls_binding_new(&options, conn->credentials->tls, &conn->tls, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_TLS, NULL, &err);
    return WD_OK;
}

wd_status wd_conn_new(const wd_credentials *credentials, const wd_server *server,
                      wd_conn **ret, wd_failure *why)
{
    WD_AUTO(wd_conn) *conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        wd_credentials_free(credentials);
        return wd_failure_unreachable(why, WD_PHASE_CONNECT,
                                      "no memory for a connection");
    }
    atomic_init(&conn->refs, 1);
    conn->credentials = credentials;
    conn->server = *server;
    conn->phase = WD_PHASE_RESOLVE;
    pthread_mutex_init(&conn->lock, NULL);
    WD_TRY(open_tls(conn, why));
    WD_TRY(open_socket(conn, why));
    *ret = WD_STEAL(conn);
    return WD_OK;
}

wd_conn *wd_conn_ref(wd_conn *conn)
{
    atomic_fetch_add(&conn->refs, 1);
    return conn;
}

void wd_conn_free(wd_conn *conn)
{
    if (conn == NULL || atomic_fetch_sub(&conn->refs, 1) != 1)
        return;
    if (conn->has_socket)
        (void)nng_close(conn->socket);
    wd_tls_binding_free(conn->tls);
    wd_credentials_free(conn->credentials);
    pthread_mutex_destroy(&conn->lock);
    free(conn);
}

/* --- asking it ----------------------------------------------------------------------------- */

wd_phase wd_conn_phase(wd_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    wd_phase phase = conn->phase;
    pthread_mutex_unlock(&conn->lock);
    return phase;
}

bool wd_conn_alive(wd_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool alive = conn->alive;
    pthread_mutex_unlock(&conn->lock);
    return alive;
}

const char *wd_conn_gate(const wd_conn *conn)
{
    return conn->gate;
}

const wd_credentials *wd_conn_credentials(const wd_conn *conn)
{
    return conn->credentials;
}
