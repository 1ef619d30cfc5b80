/* rpc_client URL PROFILE DEPTH SECONDS PADDING - Health.Check from C, over stock NNG
 * REQ and our TLS engine; prints one JSON object, as loop.py does. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/clock.h"
#include "proto/c/envelope.h"
#include "proto/c/uuid.h"
#include "proto/tls/engine.h"
#include "tests/bench/measure.h"
#include "warded/v1/health.pb-c.h"

#define WARM_NS   700000000LL
#define LATENCIES (1U << 21) /* in all: half a minute at the highest rate */

typedef struct bench {
    nng_socket req;
    char token[WD_TOKEN_BYTES + 1];
    wd_buffer payload; /* of every request */
    int64_t start_ns, end_ns;
    atomic_uint live; /* lanes that have not ended */
    atomic_bool failed;
    atomic_uint_fast64_t calls;
    atomic_uint n_latencies;
    int64_t *latencies_ns;
} bench;

/* One call at a time. */
typedef struct lane {
    bench *bench;
    nng_ctx context;
    nng_aio *aio;
    wd_buffer out;
    int64_t began_ns;
    bool sending;
} lane;

static void fail(bench *b, const char *what)
{
    if (!atomic_exchange(&b->failed, true))
        (void)fprintf(stderr, "rpc_client: %s\n", what);
}

/* --- one lane ------------------------------------------------------------------------ */

static bool encode(lane *l)
{
    bench *b = l->bench;
    wd_error error;
    wd_request request = {.version = WD_ENVELOPE_VERSION,
                          .method = "/warded.v1.Health/Check",
                          .timeout_ms = 30000,
                          .token = b->token,
                          .payload = wd_buffer_span(&b->payload)};
    wd_uuid7_make(wd_clock_wall_ms(wd_clock_system()), request.call_id);
    wd_buffer_clear(&l->out);
    return wd_request_encode(&request, &l->out, &error) == WD_OK;
}

static void begin(lane *l)
{
    nng_msg *message = NULL;
    l->began_ns = wd_bench_now_ns();
    if (!encode(l) || nng_msg_alloc(&message, 0) != 0 ||
        nng_msg_append(message, l->out.data, l->out.size) != 0) {
        fail(l->bench, "out of memory");
        atomic_fetch_sub(&l->bench->live, 1);
        return;
    }
    l->sending = true;
    nng_aio_set_msg(l->aio, message);
    nng_ctx_send(l->context, l->aio);
}

static bool take_reply(lane *l)
{
    nng_msg *message = nng_aio_get_msg(l->aio);
    const wd_span frame = {nng_msg_body(message), nng_msg_len(message)};
    WD_AUTO(wd_reply) *reply = NULL;
    wd_error error;
    bool ok = wd_reply_decode(frame, &reply, &error) == WD_OK && reply->code == WD_OK;
    if (ok) { /* a caller reads the payload too */
        Warded__V1__HealthCheckReply *health = warded__v1__health_check_reply__unpack(
            NULL, reply->payload.size, reply->payload.data);
        ok = health != NULL;
        warded__v1__health_check_reply__free_unpacked(health, NULL);
    }
    nng_msg_free(message);
    return ok;
}

static void note(lane *l)
{
    bench *b = l->bench;
    const int64_t ended_ns = wd_bench_now_ns();
    atomic_fetch_add(&b->calls, 1);
    if (ended_ns < b->start_ns || ended_ns > b->end_ns)
        return;
    unsigned at = atomic_fetch_add(&b->n_latencies, 1);
    if (at < LATENCIES)
        b->latencies_ns[at] = ended_ns - l->began_ns;
}

/* A request went, or a reply came: the other next. */
static void on_event(void *arg)
{
    lane *l = arg;
    int rc = nng_aio_result(l->aio);
    if (rc == 0 && l->sending) {
        l->sending = false;
        nng_ctx_recv(l->context, l->aio);
        return;
    }
    if (rc != 0 || !take_reply(l)) {
        fail(l->bench, rc != 0 ? nng_strerror(rc) : "not OK");
        atomic_fetch_sub(&l->bench->live, 1);
        return;
    }
    note(l);
    if (wd_bench_now_ns() < l->bench->end_ns)
        begin(l);
    else
        atomic_fetch_sub(&l->bench->live, 1);
}

/* --- all of them ---------------------------------------------------------------------- */

static bool read_token(bench *b, const char *profile)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/token", profile);
    FILE *file = fopen(path, "re");
    bool ok = file != NULL && fgets(b->token, sizeof(b->token), file) != NULL;
    if (file != NULL)
        (void)fclose(file);
    b->token[strcspn(b->token, "\r\n")] = '\0';
    return ok;
}

static bool pack_payload(bench *b, size_t padding)
{
    uint8_t *bytes = calloc(1, padding + 1);
    Warded__V1__HealthCheckRequest request = WARDED__V1__HEALTH_CHECK_REQUEST__INIT;
    request.padding = (ProtobufCBinaryData){.len = padding, .data = bytes};
    request.brief = true;
    size_t size = warded__v1__health_check_request__get_packed_size(&request);
    bool ok = bytes != NULL && wd_buffer_reserve(&b->payload, size);
    if (ok)
        b->payload.size =
            warded__v1__health_check_request__pack(&request, b->payload.data);
    free(bytes);
    return ok;
}

static wd_status open_tls(const char *profile, wd_tls_binding **ret, wd_error *err)
{
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    char ca[512], cert[512], key[512];
    const wd_tls_files files = {.ca = ca, .cert = cert, .key = key};
    const wd_tls_options options = {.handshake_ms = 0};

    (void)snprintf(ca, sizeof(ca), "%s/ca.pem", profile);
    (void)snprintf(cert, sizeof(cert), "%s/cert.pem", profile);
    (void)snprintf(key, sizeof(key), "%s/key.pem", profile);
    WD_TRY(wd_tls_register(err));
    WD_TRY(wd_tls_credentials_load(&files, &credentials, err));
    return wd_tls_binding_new(&options, credentials, ret, err);
}

static bool dial(bench *b, const char *url, nng_tls_config *config)
{
    nng_dialer dialer;
    return nng_req0_open(&b->req) == 0 &&
           nng_dialer_create(&dialer, b->req, url) == 0 &&
           nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config) == 0 &&
           nng_dialer_start(dialer, 0) == 0;
}

/* The lanes end by themselves: each answer is awaited. */
static int measure(bench *b, lane *lanes, unsigned depth, double seconds)
{
    b->start_ns = wd_bench_now_ns() + WARM_NS;
    b->end_ns = b->start_ns + (int64_t)(seconds * 1e9);
    b->live = depth;
    for (unsigned i = 0; i < depth; i++) {
        lanes[i].bench = b;
        if (nng_ctx_open(&lanes[i].context, b->req) != 0 ||
            nng_aio_alloc(&lanes[i].aio, on_event, &lanes[i]) != 0)
            return 1;
        begin(&lanes[i]);
    }
    wd_bench_sleep_until(b->start_ns);
    double used_us = -wd_bench_cpu_us();
    wd_bench_sleep_until(b->end_ns);
    used_us += wd_bench_cpu_us();
    while (b->live > 0)
        wd_bench_sleep_until(wd_bench_now_ns() + 1000000);
    const unsigned n = b->n_latencies < LATENCIES ? b->n_latencies : LATENCIES;
    const wd_bench_turn turn = {.latencies_ns = b->latencies_ns,
                                .n = b->failed ? 0 : n,
                                .seconds = seconds,
                                .used_us = used_us,
                                .calls = b->calls};
    return wd_bench_print(&turn);
}

int main(int argc, char **argv)
{
    static bench b;
    wd_tls_binding *tls = NULL;
    nng_tls_config *config = NULL;
    wd_error err;

    if (argc != 6)
        return 2;
    unsigned depth = (unsigned)strtoul(argv[3], NULL, 10);
    lane *lanes = calloc(depth, sizeof(*lanes));
    b.latencies_ns = calloc(LATENCIES, sizeof(*b.latencies_ns));
    if (lanes == NULL || b.latencies_ns == NULL || !read_token(&b, argv[2]) ||
        !pack_payload(&b, strtoul(argv[5], NULL, 10))) {
        (void)fputs("rpc_client: no token, or out of memory\n", stderr);
        return 1;
    }
    if (open_tls(argv[2], &tls, &err) != WD_OK ||
        wd_tls_config(tls, false, &config, &err) != WD_OK) {
        (void)fprintf(stderr, "rpc_client: %s\n", err.msg);
        return 1;
    }
    if (!dial(&b, argv[1], config)) {
        (void)fprintf(stderr, "rpc_client: can't dial %s\n", argv[1]);
        return 1;
    }
    exit(measure(&b, lanes, depth, strtod(argv[4], NULL))); /* it all goes with us */
}
