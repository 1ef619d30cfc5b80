#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <netinet/in.h>
#include <string.h>

#include "proto/tls/binding.h"
#include "proto/tls/credentials_impl.h"
#include "proto/tls/judge.h"
#include "proto/tls/peer_uid.h"

static bool over_budget(wd_tls_cause cause)
{
    return cause == WD_TLS_REQUEST_BYTES || cause == WD_TLS_REQUEST_SHARE;
}

static bool yields(wd_tls_cause cause)
{
    return cause == WD_TLS_REQUEST_YIELDED || cause == WD_TLS_REPLY_YIELDED;
}

/* NNG's listener goes on at once after these four; after any other it pauses 100 ms,
 * after ECLOSED or ECANCELED it stops for good (NNG core/listener.c). */
static int nng_error_of(wd_tls_cause cause)
{
    if (cause == WD_TLS_HANDSHAKE_TIMEOUT || cause == WD_TLS_GREETING_TIMEOUT ||
        cause == WD_TLS_SEND_STALLED || cause == WD_TLS_FRAME_TIMEOUT)
        return NNG_ETIMEDOUT;
    if (cause == WD_TLS_DISCONNECTED)
        return NNG_ECONNRESET;
    if (cause == WD_TLS_PROTOCOL || cause == WD_TLS_HALF_OPEN_LIMIT ||
        cause == WD_TLS_RESOURCES || cause == WD_TLS_CUT_OFF || yields(cause) ||
        over_budget(cause))
        return NNG_ECONNABORTED;
    return NNG_EPEERAUTH;
}

static void report_reject(nng_tls_engine_conn *c, wd_tls_cause cause, uint8_t alert,
                          const char *detail)
{
    wd_tls_binding *b = c->binding;
    wd_tls_reject reject = {.cause = cause,
                            .alert = alert,
                            .count = 1,
                            .application_bytes = atomic_load(&c->bytes_read)};

    memcpy(reject.address, c->address, sizeof reject.address);
    (void)snprintf(reject.detail, sizeof reject.detail, "%s", detail);
    if (b->options.on_reject == NULL || !wd_binding_call_begin(b))
        return;
    b->options.on_reject(b->options.arg, &reject);
    wd_binding_call_end(b);
}

int wd_conn_fail(nng_tls_engine_conn *c, wd_tls_cause cause, uint8_t alert,
                 const char *detail)
{
    /* TLS 1.3 ends for a client before the server has judged it. */
    bool during_handshake =
        c->phase < WD_CONN_OPEN ||
        (c->phase == WD_CONN_OPEN && !c->server && atomic_load(&c->bytes_read) == 0);
    bool by_sweeper =
        atomic_load(&c->timed_out) != WD_TLS_NONE && cause != WD_TLS_CUT_OFF;

    c->phase = WD_CONN_FAILED;
    c->error = nng_error_of(cause);
    if (c->binding == NULL ||
        (!during_handshake && !by_sweeper && !over_budget(cause) && !yields(cause)))
        return c->error;
    if (during_handshake) {
        atomic_fetch_add(&c->binding->refused, 1);
        atomic_fetch_add(&c->binding->refused_bytes_read, atomic_load(&c->bytes_read));
    }
    report_reject(c, cause, alert, detail);
    return c->error;
}

static const char *detail_of(wd_tls_cause late)
{
    if (late == WD_TLS_HALF_OPEN_LIMIT)
        return "too many handshakes at once, from this address or from all: the oldest "
               "goes";
    if (yields(late))
        return "the budget of limits.request_bytes is full: the oldest of who holds "
               "most goes";
    return "a time limit has passed";
}

int wd_conn_state(nng_tls_engine_conn *c)
{
    wd_tls_cause late = (wd_tls_cause)atomic_load(&c->timed_out);

    if (c->phase == WD_CONN_FAILED)
        return c->error;
    if (late == WD_TLS_NONE && yields(wd_tls_account_cause(c->account)))
        late = wd_tls_account_cause(c->account);
    if (late != WD_TLS_NONE)
        return wd_conn_fail(c, late, 0, detail_of(late));
    return c->phase == WD_CONN_NEW ? NNG_ESTATE : 0;
}

int wd_conn_again(nng_tls_engine_conn *c)
{
    nng_sockaddr sa;

    if (nng_stream_get_addr((nng_stream *)c->tls, NNG_OPT_REMADDR, &sa) == 0)
        return NNG_EAGAIN;
    return wd_conn_fail(c, WD_TLS_DISCONNECTED, 0, "the connection has ended");
}

/* The lower seven bits tell what went wrong below, where something did. */
static bool is_out_of_memory(int code)
{
    const int below = -(-code & 0x7F);

    return code == MBEDTLS_ERR_SSL_ALLOC_FAILED ||
           code == MBEDTLS_ERR_X509_ALLOC_FAILED ||
           code == MBEDTLS_ERR_PK_ALLOC_FAILED ||
           below == MBEDTLS_ERR_ASN1_ALLOC_FAILED ||
           below == MBEDTLS_ERR_MPI_ALLOC_FAILED;
}

static wd_tls_cause cause_of(int code)
{
    if (is_out_of_memory(code))
        return WD_TLS_RESOURCES;
    switch (code) {
    case MBEDTLS_ERR_SSL_CONN_EOF:
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    case MBEDTLS_ERR_NET_RECV_FAILED:
    case MBEDTLS_ERR_NET_SEND_FAILED:
        return WD_TLS_DISCONNECTED;
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
        return WD_TLS_PEER_ALERT;
    case MBEDTLS_ERR_SSL_BAD_CERTIFICATE:
        return WD_TLS_UNREADABLE;
    default: /* X.509 parsing has a block of numbers of its own, above -0x2000 */
        return code <= -0x2080 && code >= -0x3000 ? WD_TLS_UNREADABLE : WD_TLS_PROTOCOL;
    }
}

/* A message of the peer's certificates that mbedTLS has no room for. */
static bool is_huge_chain(const nng_tls_engine_conn *c, int code)
{
    int state = c->ssl.MBEDTLS_PRIVATE(state);

    return state == MBEDTLS_SSL_CLIENT_CERTIFICATE &&
           code == MBEDTLS_ERR_SSL_BAD_INPUT_DATA;
}

/* mbedTLS keeps the record that it read last; an alert is its level, then its number. */
static uint8_t alert_of(const nng_tls_engine_conn *c, int code)
{
    if (code != MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE ||
        c->ssl.MBEDTLS_PRIVATE(in_msg) == NULL)
        return 0;
    return c->ssl.MBEDTLS_PRIVATE(in_msg)[1];
}

int wd_conn_fail_mbedtls(nng_tls_engine_conn *c, int code)
{
    char text[128];

    if (c->judged != WD_TLS_NONE) /* mbedTLS only passes our own verdict on */
        return wd_conn_fail(c, c->judged, MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED,
                            c->why.msg);
    mbedtls_strerror(code, text, sizeof text);
    wd_tls_cause cause = is_huge_chain(c, code) ? WD_TLS_HUGE_CHAIN : cause_of(code);
    return wd_conn_fail(c, cause, alert_of(c, code), text);
}

typedef union address {
    struct sockaddr any;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
} address;

static address to_address(const nng_sockaddr *in)
{
    address out = {.in6 = {.sin6_family = AF_UNSPEC}};

    if (in->s_family == NNG_AF_INET) {
        out.in4.sin_family = AF_INET;
        out.in4.sin_port = in->s_in.sa_port;
        out.in4.sin_addr.s_addr = in->s_in.sa_addr;
    } else if (in->s_family == NNG_AF_INET6) {
        out.in6.sin6_family = AF_INET6;
        out.in6.sin6_port = in->s_in6.sa_port;
        memcpy(&out.in6.sin6_addr, in->s_in6.sa_addr, 16);
    }
    return out;
}

/* Sandboxed code is refused whatever it shows. What cannot be told is refused too. */
static wd_tls_cause judge_origin(nng_tls_engine_conn *c, wd_error *err)
{
    const wd_tls_options *o = &c->binding->options;
    nng_stream *stream = c->tls;
    nng_sockaddr theirs, ours;
    address peer, own;
    wd_peer_origin origin = WD_PEER_NO_OWNER;
    uint32_t uid = 0;

    if (!c->server || o->uid_count == 0)
        return WD_TLS_NONE;
    if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &theirs) != 0 ||
        nng_stream_get_addr(stream, NNG_OPT_LOCADDR, &ours) != 0)
        return WD_TLS_DISCONNECTED;
    peer = to_address(&theirs);
    own = to_address(&ours);
    if (wd_peer_find(&peer.any, &own.any, &origin, &uid, err) != WD_OK)
        return WD_TLS_RESOURCES; /* a descriptor, memory, an answer: not the peer's */
    if (origin == WD_PEER_REMOTE)
        return WD_TLS_NONE;
    (void)wd_fail(err, WD_UNAUTHENTICATED,
                  "a local address, and no socket of this host's matches");
    if (origin == WD_PEER_NO_OWNER)
        return WD_TLS_NO_OWNER;
    (void)wd_fail(err, WD_UNAUTHENTICATED, "the peer's socket belongs to uid %u", uid);
    return uid - o->uid_base < o->uid_count ? WD_TLS_SLOT_UID : WD_TLS_NONE;
}

static wd_tls_cause ask_owner(nng_tls_engine_conn *c)
{
    wd_tls_binding *b = c->binding;
    wd_status status;

    if (!wd_binding_call_begin(b)) {
        (void)wd_fail(&c->why, WD_UNAVAILABLE, "the owner is closing");
        return WD_TLS_DENIED;
    }
    status = b->options.check_peer(b->options.arg, c->peer, &c->why);
    wd_binding_call_end(b);
    return status == WD_OK ? WD_TLS_NONE : WD_TLS_DENIED;
}

static wd_tls_cause judge_peer(nng_tls_engine_conn *c, const mbedtls_x509_crt *crt,
                               uint32_t flags)
{
    const wd_tls_options *o = &c->binding->options;
    const wd_judge_case question = {c->credentials, crt, flags, !c->server};
    wd_tls_cause cause = judge_origin(c, &c->why);

    if (cause == WD_TLS_NONE)
        cause = wd_judge(&question, c->peer, &c->why);
    if (cause == WD_TLS_NONE && o->check_peer != NULL)
        cause = ask_owner(c);
    return cause;
}

/* A client judges while mbedTLS verifies, before its own certificate leaves. mbedTLS
 * calls this from the CA down to the leaf (depth 0), with each one's flags. */
static int judge_leaf(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    nng_tls_engine_conn *c = arg;

    c->chain_flags |= *flags;
    if (depth != 0)
        return 0;
    c->judged = judge_peer(c, crt, c->chain_flags);
    if (c->judged != WD_TLS_NONE)
        *flags |= MBEDTLS_X509_BADCERT_OTHER;
    return 0;
}

void wd_conn_judge_while_verifying(nng_tls_engine_conn *c)
{
    mbedtls_ssl_set_verify(&c->ssl, judge_leaf, c);
}

/* Both have finished: the keys are those that OpenSSL reads alerts with. The failure is
 * answered at NNG's next question, which comes when the alert has been sent: failing now
 * could close the socket before it. */
static int refuse(nng_tls_engine_conn *c, wd_tls_cause cause)
{
    uint8_t alert = wd_tls_cause_alert(cause);

    if (alert == 0)
        return wd_conn_fail(c, cause, alert, c->why.msg);
    (void)mbedtls_ssl_send_alert_message(&c->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, alert);
    (void)wd_conn_fail(c, cause, alert, c->why.msg);
    return NNG_EAGAIN;
}

/* From here its messages are charged to its principal. */
static bool open_account(nng_tls_engine_conn *c)
{
    wd_tls_ledger *ledger = c->binding->ledger;

    if (!c->server || ledger == NULL)
        return true;
    c->account = wd_tls_account_open(ledger, c->peer->uri);
    return c->account != NULL;
}

static int finish(nng_tls_engine_conn *c)
{
    wd_tls_binding *b = c->binding;
    wd_tls_cause cause = WD_TLS_NONE;

    if (b == NULL) {
        c->phase = WD_CONN_OPEN;
        return 0;
    }
    if (c->server)
        cause = judge_peer(c, mbedtls_ssl_get_peer_cert(&c->ssl),
                           mbedtls_ssl_get_verify_result(&c->ssl));
    if (cause == WD_TLS_NONE && !open_account(c))
        cause = WD_TLS_RESOURCES;
    if (cause != WD_TLS_NONE)
        return refuse(c, cause);
    c->phase = WD_CONN_OPEN;
    wd_binding_opened(b, c);
    atomic_fetch_add(&b->accepted, 1);
    if (b->options.on_accept != NULL && wd_binding_call_begin(b)) {
        b->options.on_accept(b->options.arg, c->peer, c->address);
        wd_binding_call_end(b);
    }
    free(c->peer);
    c->peer = NULL;
    return 0;
}

static bool has_said_hello(const nng_tls_engine_conn *c)
{
    return c->ssl.MBEDTLS_PRIVATE(state) > MBEDTLS_SSL_CLIENT_HELLO;
}

int wd_conn_handshake(nng_tls_engine_conn *c)
{
    int rv = wd_conn_state(c);

    if (rv != 0 || c->phase == WD_CONN_OPEN)
        return rv;
    rv = mbedtls_ssl_handshake(&c->ssl);
    if (c->server && c->binding != NULL && !c->spoken && has_said_hello(c)) {
        c->spoken = true;
        wd_binding_spoke(c->binding, c);
    }
    if (rv == MBEDTLS_ERR_SSL_WANT_READ || rv == MBEDTLS_ERR_SSL_WANT_WRITE)
        return wd_conn_again(c);
    return rv == 0 ? finish(c) : wd_conn_fail_mbedtls(c, rv);
}
