#include "raw_peer.h"

#include <arpa/inet.h>
#include <mbedtls/psa_util.h>
#include <poll.h>
#include <psa/crypto.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "proto/tls/binding.h"

static void prepare(raw_peer *p, int endpoint, const wd_pem_pair *pair)
{
    mbedtls_net_init(&p->net);
    mbedtls_ssl_init(&p->ssl);
    mbedtls_ssl_config_init(&p->conf);
    mbedtls_x509_crt_init(&p->own);
    mbedtls_pk_init(&p->key);
    assert_int_equal(psa_crypto_init(), PSA_SUCCESS);
    assert_int_equal(mbedtls_ssl_config_defaults(&p->conf, endpoint,
                                                 MBEDTLS_SSL_TRANSPORT_STREAM,
                                                 MBEDTLS_SSL_PRESET_DEFAULT),
                     0);
    mbedtls_ssl_conf_rng(&p->conf, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    mbedtls_ssl_conf_authmode(&p->conf, endpoint == MBEDTLS_SSL_IS_SERVER
                                            ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                            : MBEDTLS_SSL_VERIFY_NONE);
    if (pair == NULL)
        return;
    assert_int_equal(mbedtls_x509_crt_parse(&p->own, (const uint8_t *)pair->cert,
                                            strlen(pair->cert) + 1),
                     0);
    assert_int_equal(
        mbedtls_pk_parse_key(&p->key, (const uint8_t *)pair->key, strlen(pair->key) + 1,
                             NULL, 0, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE),
        0);
    assert_int_equal(mbedtls_ssl_conf_own_cert(&p->conf, &p->own, &p->key), 0);
}

static int shake(raw_peer *p)
{
    assert_int_equal(mbedtls_ssl_setup(&p->ssl, &p->conf), 0);
    (void)mbedtls_ssl_set_hostname(&p->ssl, NULL);
    mbedtls_ssl_set_bio(&p->ssl, &p->net, mbedtls_net_send, mbedtls_net_recv,
                        mbedtls_net_recv_timeout);
    return mbedtls_ssl_handshake(&p->ssl);
}

int tcp_connect_from(int port, uint8_t last)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1U + last)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        fail_msg("no socket");
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)port);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

int tcp_connect(int port)
{
    return tcp_connect_from(port, 1);
}

int tcp_port(int fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

int raw_connect(raw_peer *p, int port, const wd_pem_pair *pair)
{
    prepare(p, MBEDTLS_SSL_IS_CLIENT, pair);
    p->net.fd = tcp_connect(port);
    return shake(p);
}

int raw_connect_12(raw_peer *p, int port, const wd_pem_pair *pair)
{
    prepare(p, MBEDTLS_SSL_IS_CLIENT, pair);
    mbedtls_ssl_conf_max_tls_version(&p->conf, MBEDTLS_SSL_VERSION_TLS1_2);
    p->net.fd = tcp_connect(port);
    return shake(p);
}

int raw_accept(raw_peer *p, mbedtls_net_context *listener, const wd_pem_pair *pair)
{
    prepare(p, MBEDTLS_SSL_IS_SERVER, pair);
    assert_int_equal(mbedtls_net_accept(listener, &p->net, NULL, 0, NULL), 0);
    return shake(p);
}

int raw_read(raw_peer *p, uint8_t *data, size_t size, uint32_t limit_ms)
{
    int rv;

    mbedtls_ssl_conf_read_timeout(&p->conf, limit_ms);
    do
        rv = mbedtls_ssl_read(&p->ssl, data, size);
    while (rv == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET);
    if (rv == MBEDTLS_ERR_SSL_TIMEOUT)
        return -1;
    if (rv == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
        return -1000 - p->ssl.MBEDTLS_PRIVATE(in_msg)[1];
    return rv < 0 ? 0 : rv;
}

void raw_write(raw_peer *p, const void *data, size_t size)
{
    assert_int_equal(mbedtls_ssl_write(&p->ssl, data, size), (int)size);
}

int64_t tcp_wait_closed(int fd, int64_t limit_ms)
{
    int64_t from_ms = wd_now_ms();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char sink[4096];
    ssize_t n;

    while (wd_now_ms() - from_ms < limit_ms) {
        if (poll(&p, 1, (int)(limit_ms - (wd_now_ms() - from_ms))) <= 0)
            break;
        n = read(fd, sink, sizeof sink);
        if (n <= 0)
            return wd_now_ms() - from_ms;
    }
    return -1;
}

void raw_close(raw_peer *p)
{
    mbedtls_net_free(&p->net);
    mbedtls_ssl_free(&p->ssl);
    mbedtls_ssl_config_free(&p->conf);
    mbedtls_x509_crt_free(&p->own);
    mbedtls_pk_free(&p->key);
}
