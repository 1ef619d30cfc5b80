#include <arpa/inet.h>
#include <inttypes.h>
#include <mbedtls/base64.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tls/binding.h"
#include "proto/tls/names.h"

#define DER_PREFIX     "der:"
#define ACCOUNT_PREFIX "account:"

enum { OUR_NAMES = 5, DER_BYTES = 16384 };

static void free_names(char **names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; names[i] != NULL; i++)
        free(names[i]);
    free(names);
}

/* "der:" and the certificate in base64. */
static char *der_text(const mbedtls_x509_buf *der)
{
    size_t room = sizeof DER_PREFIX + (der->len + 2) / 3 * 4 + 1, written;
    char *text = malloc(room);

    if (text == NULL)
        return NULL;
    memcpy(text, DER_PREFIX, sizeof DER_PREFIX - 1);
    if (mbedtls_base64_encode((uint8_t *)text + sizeof DER_PREFIX - 1,
                              room - sizeof DER_PREFIX + 1, &written, der->p,
                              der->len) == 0)
        return text;
    free(text);
    return NULL;
}

static char *digest_text(const uint8_t digest[WD_SHA256_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char text[sizeof "sha256:" + (size_t)2 * WD_SHA256_BYTES] = "sha256:";
    char *out = text + strlen(text);

    for (size_t i = 0; i < WD_SHA256_BYTES; i++) {
        *out++ = digits[digest[i] >> 4];
        *out++ = digits[digest[i] & 15];
    }
    return strdup(text);
}

/* 0: no budget. */
static uint64_t account_number(const nng_tls_engine_conn *c)
{
    return c->account != NULL ? wd_tls_account_id(c->account) : 0;
}

static char **our_names(const mbedtls_x509_buf *der, uint64_t account)
{
    char **names = calloc(OUR_NAMES + 1, sizeof *names);
    wd_identity *id = malloc(sizeof *id);
    bool whole = names != NULL && id != NULL &&
                 wd_identity_read((wd_span){der->p, der->len}, id, NULL) == WD_OK;

    if (whole) {
        names[0] = strdup(id->uri);
        names[1] = digest_text(id->cert_sha256);
        if (asprintf(&names[2], "serial:%s", id->serial) < 0)
            names[2] = NULL;
        names[3] = der_text(der);
        if (asprintf(&names[4], ACCOUNT_PREFIX "%" PRIu64, account) < 0)
            names[4] = NULL;
        for (size_t i = 0; i < OUR_NAMES; i++)
            whole = whole && names[i] != NULL;
    }
    free(id);
    if (whole)
        return names;
    for (size_t i = 0; names != NULL && i < OUR_NAMES; i++)
        free(names[i]);
    free(names);
    return NULL;
}

static bool has(const mbedtls_x509_buf *name, const char *text)
{
    return memmem(name->p, name->len, text, strlen(text)) != NULL;
}

/* What NNG's own engine gives: each name's bytes; but never one that reads as ours. */
static char **stock_names(const mbedtls_x509_crt *crt)
{
    const mbedtls_x509_sequence *first = &crt->subject_alt_names;
    size_t n = 0;
    char **names;

    for (const mbedtls_x509_sequence *s = first; s != NULL; s = s->next)
        n += s->buf.len > 0 ? 1 : 0;
    names = n > 0 ? calloc(n + 1, sizeof *names) : NULL;
    if (names == NULL)
        return NULL;
    n = 0;
    for (const mbedtls_x509_sequence *s = first; s != NULL; s = s->next) {
        if (s->buf.len == 0 || has(&s->buf, DER_PREFIX) || has(&s->buf, ACCOUNT_PREFIX))
            continue;
        names[n] = strndup((const char *)s->buf.p, s->buf.len);
        if (names[n++] == NULL)
            break;
    }
    return names;
}

static const mbedtls_x509_crt *peer_of(const nng_tls_engine_conn *c)
{
    return c->phase == WD_CONN_OPEN ? mbedtls_ssl_get_peer_cert(&c->ssl) : NULL;
}

char **wd_conn_peer_alt_names(nng_tls_engine_conn *c)
{
    const mbedtls_x509_crt *crt = peer_of(c);

    if (crt == NULL)
        return NULL;
    return c->binding != NULL ? our_names(&crt->raw, account_number(c))
                              : stock_names(crt);
}

char *wd_conn_peer_cn(nng_tls_engine_conn *c)
{
    const mbedtls_x509_crt *crt = peer_of(c);
    char subject[1024];
    const char *name;

    if (crt == NULL ||
        mbedtls_x509_dn_gets(subject, sizeof subject, &crt->subject) <= 0)
        return NULL;
    name = strstr(subject, "CN=");
    return name != NULL ? strdup(name + 3) : NULL;
}

/* What follows `prefix` in the name that begins with it. */
static const char *find_name(char *const *names, const char *prefix)
{
    size_t size = strlen(prefix);

    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        if (strncmp(names[i], prefix, size) == 0)
            return names[i] + size;
    return NULL;
}

static wd_status read_der(const char *base64, wd_identity *ret, wd_error *err)
{
    uint8_t der[DER_BYTES];
    size_t size;

    if (base64 == NULL ||
        mbedtls_base64_decode(der, sizeof der, &size, (const uint8_t *)base64,
                              strlen(base64)) != 0)
        return wd_fail(err, WD_NOT_FOUND,
                       "the pipe's peer has no certificate that we have judged");
    return wd_identity_read((wd_span){der, size}, ret, err);
}

wd_status wd_tls_pipe_identity(nng_pipe pipe, wd_identity *ret, wd_error *err)
{
    void *names = NULL;
    wd_status status;
    int rv = nng_pipe_get_ptr(pipe, NNG_OPT_TLS_PEER_ALT_NAMES, &names);

    if (rv != 0)
        return wd_fail(err, WD_NOT_FOUND, "the pipe has no TLS peer: %s",
                       nng_strerror(rv));
    status = read_der(find_name(names, DER_PREFIX), ret, err);
    free_names(names);
    return status;
}

wd_tls_account *wd_tls_pipe_account(wd_tls_binding *binding, nng_pipe pipe)
{
    wd_tls_account *account = NULL;
    const char *number;
    void *names = NULL;

    if (nng_pipe_get_ptr(pipe, NNG_OPT_TLS_PEER_ALT_NAMES, &names) != 0)
        return NULL;
    number = find_name(names, ACCOUNT_PREFIX);
    if (number != NULL)
        account = wd_tls_account_find(binding->ledger, strtoull(number, NULL, 10));
    free_names(names);
    return account;
}

void wd_tls_format_address(const nng_sockaddr *addr, char text[WD_TLS_ADDR_CHARS])
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (addr->s_family == NNG_AF_INET) {
        (void)inet_ntop(AF_INET, &addr->s_in.sa_addr, host, sizeof host);
        (void)snprintf(text, WD_TLS_ADDR_CHARS, "%s:%u", host,
                       (unsigned)ntohs(addr->s_in.sa_port));
    } else if (addr->s_family == NNG_AF_INET6) {
        (void)inet_ntop(AF_INET6, addr->s_in6.sa_addr, host, sizeof host);
        (void)snprintf(text, WD_TLS_ADDR_CHARS, "[%s]:%u", host,
                       (unsigned)ntohs(addr->s_in6.sa_port));
    } else {
        (void)snprintf(text, WD_TLS_ADDR_CHARS, "?");
    }
}
