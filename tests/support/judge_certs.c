/* judge_certs DIR - the verdict of our TLS engine on certificates, many in one run.
 *
 * Reads DIR/{ca.pem,cert.pem,key.pem}: a gate's own. Its input is one chain after the
 * other: a 4-byte big-endian count, and for each certificate, the leaf first, a 4-byte
 * length and that much DER. For each chain a line: `ok URI` or `no CAUSE`. */
#include <mbedtls/error.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/tls/credentials_impl.h"
#include "proto/tls/judge.h"

#define MOST (1U << 20) /* bytes of a certificate; certificates of a chain */

static bool read_number(uint32_t *ret)
{
    uint8_t bytes[4];

    if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes)
        return false;
    *ret = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
    return *ret <= MOST;
}

/* As mbedTLS takes a chain from a handshake; false: one that it can't read. */
static bool read_chain(mbedtls_x509_crt *chain, uint32_t count)
{
    bool good = true;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = 0;
        uint8_t *der = read_number(&size) ? malloc(size + 1) : NULL;
        if (der == NULL || fread(der, 1, size, stdin) != size)
            exit(2);
        good = good && mbedtls_x509_crt_parse_der(chain, der, size) == 0;
        free(der);
    }
    return good;
}

static void judge(const wd_tls_credentials *credentials, mbedtls_x509_crt *chain)
{
    static wd_identity peer;
    wd_error err = {.status = WD_OK};
    uint32_t flags = wd_judge_flags(credentials, false, chain);
    wd_judge_case question = {credentials, chain, flags, false};
    wd_tls_cause cause = wd_judge(&question, &peer, &err);
    if (cause == WD_TLS_NONE)
        (void)printf("ok %s\n", peer.uri);
    else
        (void)printf("no %s\n", wd_tls_cause_name(cause));
}

int main(int argc, char **argv)
{
    char ca[512], cert[512], key[512];
    WD_AUTO(wd_tls_credentials) *credentials = NULL;
    wd_error err = {.status = WD_OK};

    if (argc != 2)
        return 2;
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", argv[1]);
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", argv[1]);
    (void)snprintf(key, sizeof key, "%s/key.pem", argv[1]);
    const wd_tls_files files = {.ca = ca, .cert = cert, .key = key};
    if (wd_tls_credentials_load(&files, &credentials, &err) != WD_OK) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (uint32_t count = 0; read_number(&count);) {
        mbedtls_x509_crt chain;
        mbedtls_x509_crt_init(&chain);
        if (read_chain(&chain, count))
            judge(credentials, &chain);
        else
            (void)printf("no %s\n", wd_tls_cause_name(WD_TLS_UNREADABLE));
        mbedtls_x509_crt_free(&chain);
    }
    return 0;
}
