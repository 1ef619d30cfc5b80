/* raw_peer.h - a peer that is plain mbedTLS over a socket, to see what goes over the
 * wire when the other end is NNG with our engine.
 *
 * Threads: one.  Owns: its socket and TLS state until raw_close. */
#ifndef WD_TEST_RAW_PEER_H
#define WD_TEST_RAW_PEER_H

#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <stdbool.h>

#include "proto/tls/issue.h"

typedef struct raw_peer {
    mbedtls_net_context net;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config conf;
    mbedtls_x509_crt own;
    mbedtls_pk_context key;
} raw_peer;

/* Connect and finish the handshake as a client (it verifies nobody). `pair` NULL: no
 * certificate. Returns mbedTLS's answer. */
int raw_connect(raw_peer *p, int port, const wd_pem_pair *pair);

/* The same, with TLS 1.2 at most. */
int raw_connect_12(raw_peer *p, int port, const wd_pem_pair *pair);

/* Accept one client and finish the handshake. */
int raw_accept(raw_peer *p, mbedtls_net_context *listener, const wd_pem_pair *pair);

/* Read up to `size` bytes. Returns bytes, 0 at the end, -1 after `limit_ms` without any,
 * or -1000 minus the number of an alert. */
int raw_read(raw_peer *p, uint8_t *data, size_t size, uint32_t limit_ms);

/* Write all. */
void raw_write(raw_peer *p, const void *data, size_t size);

/* TCP alone. */
int tcp_connect(int port);
int tcp_connect_from(int port, uint8_t last); /* of 127.0.0.x */
int tcp_port(int fd);                         /* that a listener is bound to */

/* Wait for the other end to close; the ms it took, or -1 after `limit_ms`. */
int64_t tcp_wait_closed(int fd, int64_t limit_ms);

void raw_close(raw_peer *p);

#endif
