#include "clients/c/conn_impl.h"
#include "proto/c/clock.h"

#define GRACE_MS 2000 /* the gate ends what runs at the deadline, then it answers */

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

static nng_duration left_ms(int64_t until_ms)
{
    int64_t left = until_ms - now_ms();
    if (left < 1)
        return 1;
    return left > INT32_MAX ? INT32_MAX : (nng_duration)left;
}

/* --- those that NNG has not taken yet --------------------------------------------------- */

/* False: the connection has ended. */
static bool enlist(wd_conn *conn, wd_sending *s)
{
    pthread_mutex_lock(&conn->lock);
    bool go = conn->alive;
    if (go) {
        s->next = conn->first;
        if (s->next != NULL)
            s->next->prev = s;
        conn->first = s;
    }
    pthread_mutex_unlock(&conn->lock);
    return go;
}

static void delist(wd_conn *conn, wd_sending *s)
{
    pthread_mutex_lock(&conn->lock);
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        conn->first = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    pthread_mutex_unlock(&conn->lock);
}

/* --- one call ----------------------------------------------------------------------------- */

typedef struct exchange {
    wd_conn *conn;
    nng_ctx context;
    nng_aio *aio;
    int64_t until_ms;
} exchange;

static wd_status not_sent(const exchange *x, int rv, wd_failure *why)
{
    if (rv == NNG_ETIMEDOUT || now_ms() >= x->until_ms)
        return wd_failure_make(why, WD_PHASE_SEND, WD_REASON_QUEUE_TIMEOUT,
                               "not sent before the deadline, safe to retry");
    return wd_failure_unreachable(why, WD_PHASE_SEND, nng_strerror(rv));
}

static wd_status send_request(exchange *x, wd_span request, wd_failure *why)
{
    wd_sending s = {.aio = x->aio};
    nng_msg *message = NULL;
    int rv = nng_msg_alloc(&message, 0);
    if (rv == 0)
        rv = nng_msg_append(message, request.data, request.size);
    if (rv == 0 && !enlist(x->conn, &s))
        rv = NNG_ECONNRESET;
    if (rv != 0) {
        nng_msg_free(message);
        return not_sent(x, rv, why);
    }
    nng_aio_set_msg(x->aio, message);
    nng_aio_set_timeout(x->aio, left_ms(x->until_ms));
    nng_ctx_send(x->context, x->aio);
    nng_aio_wait(x->aio);
    delist(x->conn, &s);
    rv = nng_aio_result(x->aio);
    if (rv == 0)
        return WD_OK;
    nng_msg_free(message); /* still ours */
    return not_sent(x, rv, why);
}

static wd_status lost(int rv, wd_failure *why)
{
    if (rv == NNG_ETIMEDOUT)
        return wd_failure_make(
            why, WD_PHASE_WAIT, WD_REASON_RUN_TIMEOUT,
            "no answer before the deadline and %d ms of grace; it may have run",
            GRACE_MS);
    return wd_failure_make(why, WD_PHASE_WAIT, WD_REASON_OUTCOME_UNKNOWN,
                           "the connection ended before the answer (%s); it was sent "
                           "and may have run",
                           nng_strerror(rv));
}

static wd_status receive(exchange *x, wd_buffer *ret_reply, wd_failure *why)
{
    nng_aio_set_timeout(x->aio, left_ms(x->until_ms + GRACE_MS));
    nng_ctx_recv(x->context, x->aio);
    nng_aio_wait(x->aio);
    int rv = nng_aio_result(x->aio);
    if (rv != 0)
        return lost(rv, why);
    nng_msg *message = nng_aio_get_msg(x->aio);
    bool kept =
        wd_buffer_append(ret_reply, nng_msg_body(message), nng_msg_len(message));
    nng_msg_free(message);
    if (kept)
        return WD_OK;
    return wd_failure_make(
        why, WD_PHASE_WAIT, WD_REASON_CAPACITY,
        "no memory for the answer; it was sent and has been answered");
}

wd_status wd_conn_exchange(wd_conn *conn, wd_span request, int64_t until_ms,
                           wd_buffer *ret_reply, wd_failure *why)
{
    exchange x = {.conn = conn, .until_ms = until_ms};
    int rv = nng_aio_alloc(&x.aio, NULL, NULL);
    if (rv != 0)
        return not_sent(&x, rv, why);
    rv = nng_ctx_open(&x.context, conn->socket);
    if (rv != 0) {
        nng_aio_free(x.aio);
        return not_sent(&x, rv, why);
    }
    wd_status status = send_request(&x, request, why);
    if (status == WD_OK)
        status = receive(&x, ret_reply, why);
    (void)nng_ctx_close(x.context);
    nng_aio_free(x.aio);
    return status;
}
