/* credentials_impl.h - credentials as credentials.c, judge.c and the engine share them.
 *
 * Private to proto/tls.
 * Threads: read-only once made, but for the count; mbedTLS locks what it changes inside
 *          (PSA), and the EC keys were used once before anyone else saw them. */
#ifndef WD_CREDENTIALS_IMPL_H
#define WD_CREDENTIALS_IMPL_H

#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <stdatomic.h>

#include "proto/tls/credentials.h"

struct wd_tls_credentials {
    atomic_uint refs;
    mbedtls_x509_crt ca, own;
    mbedtls_pk_context key;
    wd_deny_list *deny;
    wd_identity identity;
    mbedtls_ssl_config as_server, as_client;
};

/* As wd_tls_key_id of sign.h, of any public key. `ret_id` has WD_KEY_ID_BYTES. */
void wd_tls_pk_id(const mbedtls_pk_context *key, char *ret_id);

/* SHA-256 or better, P-256, nothing else. */
extern const mbedtls_x509_crt_profile wd_tls_profile;

#endif
