#include <stdio.h>
#include <string.h>

#include "clients/c/conn_impl.h"

#define DIAL_MS  15000
#define NEVER_MS (24 * 3600 * 1000) /* NNG dials again by itself: not while we live */

static int make_dialer(wd_conn *conn, nng_tls_config *config, nng_dialer *ret)
{
    char address[WD_ENDPOINT_TEXT_BYTES];
    char url[WD_ENDPOINT_TEXT_BYTES + 16];
    wd_endpoint_format(&conn->server.dial, address);
    (void)snprintf(url, sizeof(url), "tls+tcp://%s", address);
    int rv = nng_dialer_create(ret, conn->socket, url);
    if (rv == 0)
        rv = nng_dialer_set_ptr(*ret, NNG_OPT_TLS_CONFIG, config);
    if (rv == 0)
        rv = nng_dialer_set_bool(*ret, NNG_OPT_TCP_KEEPALIVE, true);
    if (rv == 0)
        rv = nng_dialer_set_size(*ret, NNG_OPT_RECVMAXSZ,
                                 WD_FRAME_BYTES + WD_FRAME_SLACK_BYTES);
    if (rv == 0)
        rv = nng_dialer_set_ms(*ret, NNG_OPT_RECONNMINT, NEVER_MS);
    if (rv == 0)
        rv = nng_dialer_set_ms(*ret, NNG_OPT_RECONNMAXT, NEVER_MS);
    return rv;
}

/* False: somebody has given it up already. */
static bool begin(wd_conn *conn, nng_dialer dialer)
{
    pthread_mutex_lock(&conn->lock);
    conn->dialer = dialer;
    conn->has_dialer = true;
    conn->phase = WD_PHASE_CONNECT;
    bool go = !conn->aborted;
    pthread_mutex_unlock(&conn->lock);
    return go;
}

static void give_up(wd_conn *conn, bool late)
{
    pthread_mutex_lock(&conn->lock);
    conn->aborted = true;
    conn->late = conn->late || late;
    bool close = conn->has_dialer;
    nng_dialer dialer = conn->dialer;
    pthread_mutex_unlock(&conn->lock);
    if (close)
        (void)nng_dialer_close(dialer);
}

void wd_conn_abort(wd_conn *conn)
{
    give_up(conn, false);
}

static void on_timer(void *arg)
{
    wd_conn *conn = arg;
    if (nng_aio_result(conn->timer) == 0) /* else it was stopped */
        give_up(conn, true);
}

/* nng_dialer_start itself has no limit while TCP connects. */
static int start_within(wd_conn *conn, nng_dialer dialer, nng_duration ms)
{
    int rv = nng_aio_alloc(&conn->timer, on_timer, conn);
    if (rv != 0)
        return rv;
    rv = NNG_ECLOSED;
    if (begin(conn, dialer)) {
        nng_sleep_aio(ms, conn->timer);
        rv = nng_dialer_start(dialer, 0);
    }
    nng_aio_free(conn->timer); /* waits for its callback */
    conn->timer = NULL;
    return rv;
}

/* Why it failed: by what the engine told, else by what NNG tells. */
static wd_status explain(wd_conn *conn, int rv, wd_failure *why)
{
    char address[WD_ENDPOINT_TEXT_BYTES];
    char text[480];
    wd_endpoint_format(&conn->server.dial, address);
    pthread_mutex_lock(&conn->lock);
    const wd_refusal refusal = conn->refusal;
    const bool late = conn->late;
    const wd_phase phase = conn->phase;
    pthread_mutex_unlock(&conn->lock);
    if (refusal.kind != WD_REFUSAL_NONE)
        return wd_refusal_tell(&refusal, address, why);
    if (rv == NNG_EADDRINVAL) {
        (void)snprintf(text, sizeof(text), "can't resolve %s", address);
        return wd_failure_unreachable(why, WD_PHASE_RESOLVE, text);
    }
    if (late)
        (void)snprintf(text, sizeof(text), "%s: no connection within %d s", address,
                       DIAL_MS / 1000);
    else
        (void)snprintf(text, sizeof(text),
                       "can't connect to %s: %s; is the gate up, and is this the "
                       "address in its run/address?",
                       address, nng_strerror(rv));
    return wd_failure_unreachable(why, phase, text);
}

wd_status wd_conn_dial(wd_conn *conn, wd_failure *why)
{
    nng_tls_config *config = NULL;
    nng_dialer dialer = NNG_DIALER_INITIALIZER;
    wd_error err = {0};
    if (wd_tls_config(conn->tls, false, &config, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_TLS, NULL, &err);
    int rv = make_dialer(conn, config, &dialer);
    nng_tls_config_free(config);
    if (rv == 0)
        rv = start_within(conn, dialer, DIAL_MS);
    if (rv == 0 && wd_conn_alive(conn))
        return WD_OK;
    return explain(conn, rv != 0 ? rv : NNG_ECONNRESET, why);
}
