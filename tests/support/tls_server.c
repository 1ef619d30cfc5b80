/* tls_server DIR HANDSHAKE_MS GREETING_MS - an echo behind our TLS engine, for clients
 * that are not ours.
 *
 * Reads DIR/{ca.pem,cert.pem,key.pem}. Prints a line for each event:
 *     port N | accept URI | reject CAUSE ALERT APPLICATION_BYTES
 * and, when its input ends, `stats READ REFUSED_READ ACCEPTED REFUSED`. */
#include <inttypes.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/tls/engine.h"

typedef struct echo {
    nng_socket rep;
    nng_aio *aio;
    bool sending;
} echo;

static void on_reject(void *arg, const wd_tls_reject *reject)
{
    (void)arg;
    (void)printf("reject %s %u %" PRIu64 "\n", wd_tls_cause_name(reject->cause),
                 reject->alert, reject->application_bytes);
    (void)fflush(stdout);
}

static void on_accept(void *arg, const wd_identity *peer, const char *address)
{
    (void)arg;
    (void)address;
    (void)printf("accept %s\n", peer->uri);
    (void)fflush(stdout);
}

/* What could not be sent is still ours. */
static void drop_unsent(nng_aio *aio)
{
    nng_msg_free(nng_aio_get_msg(aio));
    nng_aio_set_msg(aio, NULL);
}

/* A message came or went: the other next. */
static void on_message(void *arg)
{
    echo *e = arg;
    int result = nng_aio_result(e->aio);

    if (e->sending && result != 0) {
        (void)fprintf(stderr, "unsent: %s\n", nng_strerror(result));
        drop_unsent(e->aio);
    }
    if (result == NNG_ECLOSED)
        return;
    e->sending = !e->sending && result == 0;
    if (e->sending)
        nng_send_aio(e->rep, e->aio);
    else
        nng_recv_aio(e->rep, e->aio);
}

static int listen_on(nng_socket rep, nng_tls_config *config)
{
    nng_listener listener;
    int port = 0;

    if (nng_listener_create(&listener, rep, "tls+tcp://127.0.0.1:0") != 0 ||
        nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, config) != 0 ||
        nng_listener_start(listener, 0) != 0 ||
        nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port) != 0)
        return 1;
    (void)printf("port %d\n", port);
    (void)fflush(stdout);
    return 0;
}

static wd_status open_tls(const char *dir, wd_tls_options *options,
                          wd_tls_binding **ret, wd_error *err)
{
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    char ca[512], cert[512], key[512];
    const wd_tls_files files = {.ca = ca, .cert = cert, .key = key};

    (void)snprintf(ca, sizeof ca, "%s/ca.pem", dir);
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    (void)snprintf(key, sizeof key, "%s/key.pem", dir);
    options->on_reject = on_reject;
    options->on_accept = on_accept;
    WD_TRY(wd_tls_register(err));
    WD_TRY(wd_tls_credentials_load(&files, &credentials, err));
    WD_TRY(wd_tls_credentials_check(credentials, true, err));
    return wd_tls_binding_new(options, credentials, ret, err);
}

static int serve(wd_tls_binding *tls, nng_tls_config *config)
{
    echo e = {.sending = false};
    wd_tls_stats stats;
    char sink[64];

    if (nng_rep0_open(&e.rep) != 0 || nng_aio_alloc(&e.aio, on_message, &e) != 0 ||
        listen_on(e.rep, config) != 0)
        return 1;
    nng_recv_aio(e.rep, e.aio);
    while (read(STDIN_FILENO, sink, sizeof sink) > 0)
        continue;
    wd_tls_binding_stats(tls, &stats);
    (void)printf("stats %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 stats.bytes_read, stats.refused_bytes_read, stats.accepted,
                 stats.refused);
    (void)nng_close(e.rep);
    nng_aio_stop(e.aio);
    nng_aio_free(e.aio);
    return 0;
}

int main(int argc, char **argv)
{
    wd_tls_options options = {.handshake_ms = 0};
    wd_tls_binding *tls = NULL;
    nng_tls_config *config = NULL;
    wd_error err;
    int code;

    if (argc != 4)
        return 2;
    options.handshake_ms = strtoll(argv[2], NULL, 10);
    options.greeting_ms = strtoll(argv[3], NULL, 10);
    if (open_tls(argv[1], &options, &tls, &err) != WD_OK ||
        wd_tls_config(tls, true, &config, &err) != WD_OK) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    code = serve(tls, config);
    nng_tls_config_free(config);
    wd_tls_binding_free(tls);
    return code;
}
