#include "proto/tls/conn.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proto/tls/binding.h"
#include "proto/tls/credentials_impl.h"
#include "proto/tls/stock.h"

/* ::ffff:0:0/96 */
static bool is_mapped(const nng_sockaddr *sa)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(sa->s_in6.sa_addr, prefix, sizeof prefix) == 0;
}

/* "host:port", and the host alone in 16 bytes for counting. */
static void name_peer(nng_tls_engine_conn *c)
{
    nng_sockaddr sa;

    if (nng_stream_get_addr((nng_stream *)c->tls, NNG_OPT_REMADDR, &sa) != 0)
        return;
    if (sa.s_family == NNG_AF_INET) {
        memcpy(c->link.host, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
        memcpy(c->link.host + 12, &sa.s_in.sa_addr, 4);
    } else if (sa.s_family == NNG_AF_INET6) {
        /* Whoever has one IPv6 address has its whole /64. */
        memcpy(c->link.host, sa.s_in6.sa_addr, is_mapped(&sa) ? 16 : 8);
    }
    wd_tls_format_address(&sa, c->address);
}

static int begin_tls(nng_tls_engine_conn *c, const mbedtls_ssl_config *conf,
                     const char *server_name)
{
    mbedtls_ssl_init(&c->ssl);
    c->ssl_ready = true;
    if (mbedtls_ssl_setup(&c->ssl, conf) != 0)
        return NNG_ENOMEM;
    /* NULL: no name to compare; we compare the SPIFFE id instead. */
    if (!c->server && mbedtls_ssl_set_hostname(&c->ssl, server_name) != 0)
        return NNG_ENOMEM;
    wd_conn_set_bio(c);
    c->phase = WD_CONN_HANDSHAKE;
    return 0;
}

static int begin_bound(nng_tls_engine_conn *c, nng_tls_engine_config *config)
{
    int rv;

    c->binding = wd_binding_ref(config->binding);
    name_peer(c);
    if (!wd_binding_add(c->binding, c))
        return wd_conn_fail(c, WD_TLS_RESOURCES, 0, "no memory");
    c->peer = calloc(1, sizeof *c->peer);
    if (c->peer == NULL)
        return wd_conn_fail(c, WD_TLS_RESOURCES, 0, "no memory");
    rv = begin_tls(
        c, c->server ? &c->credentials->as_server : &c->credentials->as_client, NULL);
    if (rv != 0)
        return wd_conn_fail(c, WD_TLS_RESOURCES, 0, "no memory");
    if (!c->server)
        wd_conn_judge_while_verifying(c);
    return 0;
}

int wd_conn_init(nng_tls_engine_conn *c, void *tls, nng_tls_engine_config *config)
{
    c->tls = tls;
    c->server = config->server;
    if (config->binding != NULL)
        return begin_bound(c, config);
    if (config->stock == NULL)
        return NNG_ESTATE;
    return begin_tls(c, wd_stock_conf(config->stock),
                     wd_stock_server_name(config->stock));
}

/* NNG's own limit on the greeting is 10 s as well, and may come first. */
static bool greeting_timed_out(nng_tls_engine_conn *c)
{
    int64_t open_ms = wd_now_ms() - c->link.since_ms;

    return c->server && c->phase == WD_CONN_OPEN &&
           atomic_load(&c->bytes_read) < WD_GREETING_BYTES &&
           open_ms >= c->binding->options.greeting_ms * 19 / 20;
}

/* Nobody will ask about this one any more. */
static void report_unfinished(nng_tls_engine_conn *c)
{
    if (c->phase == WD_CONN_HANDSHAKE)
        (void)wd_conn_fail(c, WD_TLS_DISCONNECTED, 0,
                           "the connection ended before the handshake did");
    if (!greeting_timed_out(c))
        return;
    atomic_store(&c->timed_out, WD_TLS_GREETING_TIMEOUT);
    (void)wd_conn_state(c);
}

/* Also called when init has failed or has not run. */
void wd_conn_fini(nng_tls_engine_conn *c)
{
    if (c->binding != NULL) {
        wd_binding_remove(c->binding, c);
        report_unfinished(c);
    }
    wd_tls_account_close(c->account);
    if (c->ssl_ready)
        mbedtls_ssl_free(&c->ssl);
    free(c->peer);
    wd_tls_credentials_free(c->credentials);
    if (c->binding != NULL)
        wd_binding_unref(c->binding);
}

void wd_conn_close(nng_tls_engine_conn *c)
{
    if (c->phase == WD_CONN_OPEN && wd_conn_flush(c) == 0)
        (void)mbedtls_ssl_close_notify(&c->ssl);
}

bool wd_conn_verified(nng_tls_engine_conn *c)
{
    if (c->phase != WD_CONN_OPEN)
        return false;
    return c->binding != NULL || (mbedtls_ssl_get_peer_cert(&c->ssl) != NULL &&
                                  mbedtls_ssl_get_verify_result(&c->ssl) == 0);
}
