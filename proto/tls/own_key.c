#include "proto/tls/own_key.h"

#include <stdlib.h>
#include <string.h>

#include <mbedtls/ecp.h>
#include <mbedtls/pk.h>
#include <mbedtls/psa_util.h>
#include <psa/crypto.h>

#include "proto/tls/credentials_impl.h"

struct wd_own_key {
    mbedtls_pk_context pk;
};

void wd_own_key_free(wd_own_key *key)
{
    if (key == NULL)
        return;
    mbedtls_pk_free(&key->pk); /* wipes it */
    free(key);
}

static wd_status parse(wd_own_key *key, const char *pem, wd_error *err)
{
    int rv = mbedtls_pk_parse_key(&key->pk, (const uint8_t *)pem, strlen(pem) + 1, NULL,
                                  0, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    if (rv == MBEDTLS_ERR_PK_PASSWORD_REQUIRED)
        return wd_fail(err, WD_INVALID_ARGUMENT, "the key is under a passphrase");
    if (rv != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "no private key in PEM");
    if (mbedtls_pk_get_type(&key->pk) != MBEDTLS_PK_ECKEY ||
        mbedtls_ecp_keypair_get_group_id(mbedtls_pk_ec(key->pk)) !=
            MBEDTLS_ECP_DP_SECP256R1)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s of %zu bits, not a key over P-256 (prime256v1)",
                       mbedtls_pk_get_name(&key->pk), mbedtls_pk_get_bitlen(&key->pk));
    return WD_OK;
}

wd_status wd_own_key_read(const char *pem, wd_own_key **ret_key, wd_error *err)
{
    WD_AUTO(wd_own_key) *key = calloc(1, sizeof(*key));
    if (key == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a key");
    mbedtls_pk_init(&key->pk);
    if (psa_crypto_init() != PSA_SUCCESS)
        return wd_fail(err, WD_INTERNAL, "no randomness: psa_crypto_init failed");
    WD_TRY(parse(key, pem, err));
    *ret_key = WD_STEAL(key);
    return WD_OK;
}

void wd_own_key_id(const wd_own_key *key, char ret_id[WD_KEY_ID_BYTES])
{
    wd_tls_pk_id(&key->pk, ret_id);
}

wd_status wd_own_key_sign(wd_own_key *key, const uint8_t sha256[WD_SHA256_BYTES],
                          uint8_t ret_signature[WD_SIGNATURE_BYTES], size_t *ret_size,
                          wd_error *err)
{
    int rv = mbedtls_pk_sign(&key->pk, MBEDTLS_MD_SHA256, sha256, WD_SHA256_BYTES,
                             ret_signature, WD_SIGNATURE_BYTES, ret_size,
                             mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    if (rv != 0)
        return wd_fail(err, WD_INTERNAL, "the key does not sign: mbedTLS -0x%x",
                       (unsigned)-rv);
    return WD_OK;
}
