#include "proto/tls/stock.h"

#include <mbedtls/psa_util.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <stdlib.h>
#include <string.h>

/* One certificate with its key; a server may have several. */
typedef struct own_pair {
    struct own_pair *next;
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
} own_pair;

struct wd_stock {
    mbedtls_ssl_config conf;
    mbedtls_x509_crt ca;
    mbedtls_x509_crl crl;
    own_pair *pairs;
    char *server_name;
};

static void free_pair(own_pair *pair)
{
    mbedtls_x509_crt_free(&pair->cert);
    mbedtls_pk_free(&pair->key);
    free(pair);
}

void wd_stock_free(wd_stock *stock)
{
    if (stock == NULL)
        return;
    mbedtls_ssl_config_free(&stock->conf);
    mbedtls_x509_crt_free(&stock->ca);
    mbedtls_x509_crl_free(&stock->crl);
    for (own_pair *pair = stock->pairs, *next; pair != NULL; pair = next) {
        next = pair->next;
        free_pair(pair);
    }
    free(stock->server_name);
    free(stock);
}

wd_stock *wd_stock_new(bool server)
{
    wd_stock *stock = calloc(1, sizeof *stock);

    if (stock == NULL)
        return NULL;
    mbedtls_ssl_config_init(&stock->conf);
    mbedtls_x509_crt_init(&stock->ca);
    mbedtls_x509_crl_init(&stock->crl);
    if (mbedtls_ssl_config_defaults(
            &stock->conf, server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
            MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0) {
        wd_stock_free(stock);
        return NULL;
    }
    mbedtls_ssl_conf_rng(&stock->conf, mbedtls_psa_get_random,
                         MBEDTLS_PSA_RANDOM_STATE);
    mbedtls_ssl_conf_authmode(&stock->conf, server ? MBEDTLS_SSL_VERIFY_NONE
                                                   : MBEDTLS_SSL_VERIFY_REQUIRED);
    return stock;
}

int wd_stock_set_server_name(wd_stock *stock, const char *name)
{
    char *copy = strdup(name);

    if (copy == NULL)
        return NNG_ENOMEM;
    free(stock->server_name);
    stock->server_name = copy;
    return 0;
}

int wd_stock_set_auth(wd_stock *stock, nng_tls_auth_mode mode)
{
    switch (mode) {
    case NNG_TLS_AUTH_MODE_NONE:
        mbedtls_ssl_conf_authmode(&stock->conf, MBEDTLS_SSL_VERIFY_NONE);
        return 0;
    case NNG_TLS_AUTH_MODE_OPTIONAL:
        mbedtls_ssl_conf_authmode(&stock->conf, MBEDTLS_SSL_VERIFY_OPTIONAL);
        return 0;
    case NNG_TLS_AUTH_MODE_REQUIRED:
        mbedtls_ssl_conf_authmode(&stock->conf, MBEDTLS_SSL_VERIFY_REQUIRED);
        return 0;
    default:
        return NNG_EINVAL;
    }
}

int wd_stock_set_ca(wd_stock *stock, const char *ca, const char *crl)
{
    if (mbedtls_x509_crt_parse(&stock->ca, (const uint8_t *)ca, strlen(ca) + 1) != 0)
        return NNG_ECRYPTO;
    if (crl != NULL &&
        mbedtls_x509_crl_parse(&stock->crl, (const uint8_t *)crl, strlen(crl) + 1) != 0)
        return NNG_ECRYPTO;
    mbedtls_ssl_conf_ca_chain(&stock->conf, &stock->ca, &stock->crl);
    return 0;
}

static int fill_pair(wd_stock *stock, own_pair *pair, const char *const text[3])
{
    size_t password = text[2] != NULL ? strlen(text[2]) : 0;

    if (mbedtls_x509_crt_parse(&pair->cert, (const uint8_t *)text[0],
                               strlen(text[0]) + 1) != 0)
        return NNG_ECRYPTO;
    if (mbedtls_pk_parse_key(&pair->key, (const uint8_t *)text[1], strlen(text[1]) + 1,
                             (const uint8_t *)text[2], password, mbedtls_psa_get_random,
                             MBEDTLS_PSA_RANDOM_STATE) != 0)
        return NNG_ECRYPTO;
    return mbedtls_ssl_conf_own_cert(&stock->conf, &pair->cert, &pair->key) == 0
               ? 0
               : NNG_ENOMEM;
}

int wd_stock_set_own(wd_stock *stock, const char *cert, const char *key,
                     const char *password)
{
    const char *const text[3] = {cert, key, password};
    own_pair *pair = calloc(1, sizeof *pair);
    int rv;

    if (pair == NULL)
        return NNG_ENOMEM;
    mbedtls_x509_crt_init(&pair->cert);
    mbedtls_pk_init(&pair->key);
    rv = fill_pair(stock, pair, text);
    if (rv != 0) {
        free_pair(pair);
        return rv;
    }
    pair->next = stock->pairs;
    stock->pairs = pair;
    return 0;
}

/* mbedTLS 3.6 speaks 1.2 and 1.3. */
int wd_stock_set_versions(wd_stock *stock, nng_tls_version lowest,
                          nng_tls_version highest)
{
    if (lowest > highest || highest < NNG_TLS_1_2)
        return NNG_ENOTSUP;
    mbedtls_ssl_conf_min_tls_version(&stock->conf, lowest == NNG_TLS_1_3
                                                       ? MBEDTLS_SSL_VERSION_TLS1_3
                                                       : MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_max_tls_version(&stock->conf, highest == NNG_TLS_1_3
                                                       ? MBEDTLS_SSL_VERSION_TLS1_3
                                                       : MBEDTLS_SSL_VERSION_TLS1_2);
    return 0;
}

const mbedtls_ssl_config *wd_stock_conf(const wd_stock *stock)
{
    return &stock->conf;
}

const char *wd_stock_server_name(const wd_stock *stock)
{
    return stock->server_name;
}
