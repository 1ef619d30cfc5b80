#include "proto/tls/issue.h"

#include <inttypes.h>
#include <mbedtls/ecp.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/psa_util.h>
#include <psa/crypto.h>
#include <string.h>
#include <time.h>

#include "proto/tls/ca.h"
#include "proto/tls/pem_file.h"

enum { SERIAL_BYTES = 16, TIME_CHARS = 16 };

wd_status wd_fail_mbedtls(wd_error *err, const char *what, int code)
{
    char text[128];

    mbedtls_strerror(code, text, sizeof text);
    return wd_fail(err, WD_INTERNAL, "cannot %s: %s (-0x%04x)", what, text,
                   (unsigned)-code);
}

wd_status wd_key_make(mbedtls_pk_context *key, wd_error *err)
{
    int rv;

    if (psa_crypto_init() != PSA_SUCCESS)
        return wd_fail(err, WD_INTERNAL, "no randomness: psa_crypto_init failed");
    rv = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    if (rv == 0)
        rv = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key),
                                 mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    return rv == 0 ? WD_OK : wd_fail_mbedtls(err, "make a key", rv);
}

wd_status wd_key_pem(mbedtls_pk_context *key, char **ret, wd_error *err)
{
    char text[WD_PEM_BYTES];
    int rv = mbedtls_pk_write_key_pem(key, (unsigned char *)text, sizeof text);
    char *copy = rv == 0 ? strdup(text) : NULL;

    mbedtls_platform_zeroize(text, sizeof text);
    if (rv != 0)
        return wd_fail_mbedtls(err, "write a key", rv);
    if (copy == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a key");
    *ret = copy;
    return WD_OK;
}

static bool time_text(int64_t ms, char out[TIME_CHARS])
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;

    return ms > 0 && gmtime_r(&s, &tm) != NULL && tm.tm_year + 1900 <= 9999 &&
           strftime(out, TIME_CHARS, "%Y%m%d%H%M%S", &tm) == 14;
}

wd_status wd_crt_begin(mbedtls_x509write_cert *crt, int64_t not_before_ms,
                       int64_t not_after_ms, wd_error *err)
{
    unsigned char serial[SERIAL_BYTES];
    char from[TIME_CHARS], to[TIME_CHARS];
    int rv;

    if (!time_text(not_before_ms, from) || !time_text(not_after_ms, to) ||
        not_before_ms >= not_after_ms)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "validity: from %" PRId64 " ms to %" PRId64
                       " ms is no span of time",
                       not_before_ms, not_after_ms);
    if (psa_generate_random(serial, sizeof serial) != PSA_SUCCESS)
        return wd_fail(err, WD_INTERNAL, "no randomness for a serial number");
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40); /* positive, full length */
    mbedtls_x509write_crt_set_version(crt, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(crt, MBEDTLS_MD_SHA256);
    rv = mbedtls_x509write_crt_set_serial_raw(crt, serial, sizeof serial);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_validity(crt, from, to);
    return rv == 0 ? WD_OK : wd_fail_mbedtls(err, "begin a certificate", rv);
}

wd_status wd_crt_pem(mbedtls_x509write_cert *crt, char **ret, wd_error *err)
{
    char text[WD_PEM_BYTES];
    int rv =
        mbedtls_x509write_crt_pem(crt, (unsigned char *)text, sizeof text,
                                  mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);

    if (rv != 0)
        return wd_fail_mbedtls(err, "sign a certificate", rv);
    *ret = strdup(text);
    if (*ret == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a certificate");
    return WD_OK;
}

void wd_ca_free(wd_ca *ca)
{
    if (ca == NULL)
        return;
    mbedtls_pk_free(&ca->key);
    mbedtls_x509_crt_free(&ca->crt);
    wd_secret_text_free(ca->key_pem);
    free(ca->cert_pem);
    free(ca);
}

const char *wd_ca_pem(const wd_ca *ca)
{
    return ca->cert_pem;
}

static wd_status parse_pair(wd_ca *ca, wd_error *err)
{
    const unsigned char *cert = (const unsigned char *)ca->cert_pem;
    const unsigned char *key = (const unsigned char *)ca->key_pem;

    if (mbedtls_x509_crt_parse(&ca->crt, cert, strlen(ca->cert_pem) + 1) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "the CA's certificate is no PEM");
    if (mbedtls_pk_parse_key(&ca->key, key, strlen(ca->key_pem) + 1, NULL, 0,
                             mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "the CA's key is no PEM");
    if (mbedtls_pk_check_pair(&ca->crt.pk, &ca->key, mbedtls_psa_get_random,
                              MBEDTLS_PSA_RANDOM_STATE) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "the CA's key and certificate do not belong together");
    if (!mbedtls_x509_crt_get_ca_istrue(&ca->crt))
        return wd_fail(err, WD_INVALID_ARGUMENT, "the certificate is not a CA's");
    return WD_OK;
}

wd_status wd_ca_adopt(char *cert_pem, char *key_pem, wd_ca **ret, wd_error *err)
{
    WD_AUTO(wd_ca) *ca = calloc(1, sizeof *ca);

    WD_ASSERT(cert_pem != NULL && key_pem != NULL);
    if (ca == NULL) {
        free(cert_pem);
        wd_secret_text_free(key_pem);
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a CA");
    }
    mbedtls_pk_init(&ca->key);
    mbedtls_x509_crt_init(&ca->crt);
    ca->cert_pem = cert_pem;
    ca->key_pem = key_pem;
    if (psa_crypto_init() != PSA_SUCCESS)
        return wd_fail(err, WD_INTERNAL, "no randomness: psa_crypto_init failed");
    WD_TRY(parse_pair(ca, err));
    *ret = WD_STEAL(ca);
    return WD_OK;
}

/* Letters, digits, space . _ -: nothing that needs quoting in a distinguished name. */
static bool common_name_ok(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size <= 64 && name[0] != ' ' && name[size - 1] != ' ' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789 ._-") == size;
}

static wd_status sign_ca(mbedtls_x509write_cert *crt, mbedtls_pk_context *key,
                         const char *name, char **ret, wd_error *err)
{
    char subject[80];
    int rv;

    (void)snprintf(subject, sizeof subject, "CN=%s", name);
    mbedtls_x509write_crt_set_subject_key(crt, key);
    mbedtls_x509write_crt_set_issuer_key(crt, key);
    rv = mbedtls_x509write_crt_set_subject_name(crt, subject);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_issuer_name(crt, subject);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_basic_constraints(crt, 1, 0);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_key_usage(crt, MBEDTLS_X509_KU_KEY_CERT_SIGN |
                                                          MBEDTLS_X509_KU_CRL_SIGN);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_subject_key_identifier(crt);
    if (rv != 0)
        return wd_fail_mbedtls(err, "fill the CA's certificate", rv);
    return wd_crt_pem(crt, ret, err);
}

static wd_status make_ca_pem(mbedtls_pk_context *key, const char *name,
                             const int64_t validity_ms[2], char **ret, wd_error *err)
{
    mbedtls_x509write_cert crt;
    wd_status status;

    mbedtls_x509write_crt_init(&crt);
    status = wd_crt_begin(&crt, validity_ms[0], validity_ms[1], err);
    if (status == WD_OK)
        status = sign_ca(&crt, key, name, ret, err);
    mbedtls_x509write_crt_free(&crt);
    return status;
}

wd_status wd_ca_new(const char *name, int64_t not_before_ms, int64_t not_after_ms,
                    wd_ca **ret, wd_error *err)
{
    const int64_t validity_ms[2] = {not_before_ms, not_after_ms};
    wd_pem_pair pair = {NULL, NULL};
    mbedtls_pk_context key;
    wd_status status;

    if (!common_name_ok(name))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "a CA's name is 1 to 64 letters, digits, spaces and ._-");
    mbedtls_pk_init(&key);
    status = wd_key_make(&key, err);
    if (status == WD_OK)
        status = wd_key_pem(&key, &pair.key, err);
    if (status == WD_OK)
        status = make_ca_pem(&key, name, validity_ms, &pair.cert, err);
    mbedtls_pk_free(&key);
    if (status == WD_OK)
        return wd_ca_adopt(pair.cert, pair.key, ret, err);
    wd_pem_pair_done(&pair);
    return status;
}
