#include "proto/tls/sign.h"

#include <stdlib.h>
#include <string.h>

#include <mbedtls/pem.h>
#include <mbedtls/pk.h>
#include <mbedtls/psa_util.h>

#include "proto/c/buffer.h"
#include "proto/c/sha256.h"
#include "proto/tls/credentials_impl.h"

#define PUBLIC_KEY_BYTES 256U
#define PEM_BYTES        8192U

wd_status wd_tls_sign(const wd_tls_credentials *credentials, wd_span text,
                      uint8_t ret_signature[WD_SIGNATURE_BYTES], size_t *ret_size,
                      wd_error *err)
{
    uint8_t digest[WD_SHA256_BYTES];
    mbedtls_pk_context key = credentials->key; /* used, not changed */
    wd_sha256_of(text, digest);
    int rv = mbedtls_pk_sign(&key, MBEDTLS_MD_SHA256, digest, sizeof(digest),
                             ret_signature, WD_SIGNATURE_BYTES, ret_size,
                             mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    if (rv != 0)
        return wd_fail(err, WD_INTERNAL, "the gate's key does not sign: mbedTLS -0x%x",
                       (unsigned)-rv);
    return WD_OK;
}

void wd_tls_pk_id(const mbedtls_pk_context *key, char *ret_id)
{
    uint8_t der[PUBLIC_KEY_BYTES];
    uint8_t digest[WD_SHA256_BYTES];
    int size = mbedtls_pk_write_pubkey_der(key, der, sizeof(der)); /* at its end */
    WD_ASSERT(size > 0);
    wd_sha256_of((wd_span){der + sizeof(der) - (size_t)size, (size_t)size}, digest);
    wd_hex((wd_span){digest, (WD_KEY_ID_BYTES - 1) / 2}, ret_id);
}

void wd_tls_key_id(const wd_tls_credentials *credentials, char ret_id[WD_KEY_ID_BYTES])
{
    wd_tls_pk_id(&credentials->own.pk, ret_id);
}

static wd_status add_pem(const mbedtls_x509_crt *crt, wd_buffer *pem, wd_error *err)
{
    unsigned char text[PEM_BYTES];
    size_t size = 0; /* with the NUL */
    if (mbedtls_pem_write_buffer("-----BEGIN CERTIFICATE-----\n",
                                 "-----END CERTIFICATE-----\n", crt->raw.p,
                                 crt->raw.len, text, sizeof(text), &size) != 0 ||
        !wd_buffer_append(pem, text, size - 1))
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a certificate");
    return WD_OK;
}

static wd_status take_pem(wd_buffer *pem, char **ret_pem, wd_error *err)
{
    if (!wd_buffer_append(pem, "", 1))
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a certificate");
    *ret_pem = (char *)pem->data;
    *pem = (wd_buffer)WD_BUFFER_INIT;
    return WD_OK;
}

wd_status wd_tls_certificate_pem(const wd_tls_credentials *credentials, char **ret_pem,
                                 wd_error *err)
{
    WD_AUTO_BUFFER pem = WD_BUFFER_INIT;
    WD_TRY(add_pem(&credentials->own, &pem, err));
    return take_pem(&pem, ret_pem, err);
}

wd_status wd_tls_ca_pem(const wd_tls_credentials *credentials, char **ret_pem,
                        wd_error *err)
{
    WD_AUTO_BUFFER pem = WD_BUFFER_INIT;
    for (const mbedtls_x509_crt *crt = &credentials->ca; crt != NULL; crt = crt->next)
        WD_TRY(add_pem(crt, &pem, err));
    return take_pem(&pem, ret_pem, err);
}

/* --- checking --------------------------------------------------------------------- */

static wd_status parse(mbedtls_x509_crt *crt, const char *pem, wd_error *err)
{
    if (mbedtls_x509_crt_parse(crt, (const unsigned char *)pem, strlen(pem) + 1) != 0)
        return wd_fail(err, WD_DATA_LOSS, "the certificate of its key is damaged");
    return WD_OK;
}

/* Issued by the CA: its signature alone, whatever the time is now. */
static wd_status check_issuer(mbedtls_x509_crt *crt, const char *ca, wd_error *err)
{
    mbedtls_x509_crt root;
    uint32_t flags = 0;
    mbedtls_x509_crt_init(&root);
    wd_status status = parse(&root, ca, err);
    if (status == WD_OK)
        (void)mbedtls_x509_crt_verify_with_profile(crt, &root, NULL, &wd_tls_profile,
                                                   NULL, &flags, NULL, NULL);
    flags &= ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE);
    mbedtls_x509_crt_free(&root);
    if (status == WD_OK && flags != 0)
        return wd_fail(err, WD_DATA_LOSS,
                       "the certificate of its key was not issued by this CA");
    return status;
}

static wd_status check_holder(const mbedtls_x509_crt *crt, const wd_tls_signed *what,
                              wd_error *err)
{
    char id[WD_KEY_ID_BYTES];
    wd_identity holder;
    wd_tls_pk_id(&crt->pk, id);
    if (strcmp(id, what->key_id) != 0)
        return wd_fail(err, WD_DATA_LOSS, "it names key %.16s, the certificate has %s",
                       what->key_id, id);
    if (wd_identity_read((wd_span){crt->raw.p, crt->raw.len}, &holder, NULL) != WD_OK ||
        strcmp(holder.uri, what->uri) != 0)
        return wd_fail(err, WD_DATA_LOSS, "its key is not one of %.200s", what->uri);
    return WD_OK;
}

static wd_status check_signature(mbedtls_x509_crt *crt, const wd_tls_signed *what,
                                 wd_error *err)
{
    uint8_t digest[WD_SHA256_BYTES];
    wd_sha256_of(what->text, digest);
    if (mbedtls_pk_verify(&crt->pk, MBEDTLS_MD_SHA256, digest, sizeof(digest),
                          what->signature.data, what->signature.size) != 0)
        return wd_fail(err, WD_DATA_LOSS, "key %.16s has not signed this text",
                       what->key_id);
    return WD_OK;
}

static wd_status check(mbedtls_x509_crt *crt, const char *certificate, const char *ca,
                       const wd_tls_signed *what, wd_error *err)
{
    WD_TRY(parse(crt, certificate, err));
    if (ca != NULL)
        WD_TRY(check_issuer(crt, ca, err));
    WD_TRY(check_holder(crt, what, err));
    return check_signature(crt, what, err);
}

wd_status wd_tls_signed_check(const char *certificate, const char *ca,
                              const wd_tls_signed *what, wd_error *err)
{
    mbedtls_x509_crt crt;
    mbedtls_x509_crt_init(&crt);
    wd_status status = check(&crt, certificate, ca, what, err);
    mbedtls_x509_crt_free(&crt);
    return status;
}
