#include "proto/tls/features.h"

#include <stddef.h>

typedef struct feature {
    const char *name, *without;
} feature;

static const feature needed[] = {
    {"MBEDTLS_THREADING_C", "without threads"},
    {"MBEDTLS_THREADING_PTHREAD", "without POSIX threads"},
    {"MBEDTLS_PSA_CRYPTO_C", "without PSA cryptography"},
    {"MBEDTLS_SSL_PROTO_TLS1_3", "without TLS 1.3"},
};

wd_status wd_tls_features_check(wd_tls_feature_probe probe, wd_error *err)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (probe(needed[i].name) != 0)
            return wd_fail(err, WD_FAILED_PRECONDITION,
                           "the mbedTLS that is loaded was built %s (%s); Debian's "
                           "libmbedtls21 has them all",
                           needed[i].without, needed[i].name);
    }
    return WD_OK;
}
