#include "odd_certs.h"

#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <mbedtls/psa_util.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "proto/tls/ca.h"

#define OID(text) {MBEDTLS_ASN1_OID, sizeof(text) - 1, bytes_of(text)}

/* mbedTLS's types lack const; it only reads. */
static unsigned char *bytes_of(const char *text)
{
    union {
        const char *in;
        unsigned char *out;
    } cast = {text};

    return cast.out;
}

int64_t test_now_ms(void)
{
    return (int64_t)time(NULL) * 1000;
}

wd_ca *test_ca(const char *name)
{
    wd_ca *ca = NULL;
    wd_error err;

    OK(wd_ca_new(name, test_now_ms() - TEST_DAY_MS, test_now_ms() + 9 * TEST_DAY_MS,
                 &ca, &err),
       err);
    return ca;
}

void good_issue(const wd_ca *ca, const char *uri, wd_pem_pair *ret)
{
    const wd_leaf_spec spec = {.uri = uri,
                               .not_before_ms = test_now_ms() - TEST_DAY_MS,
                               .not_after_ms = test_now_ms() + TEST_DAY_MS};
    wd_error err;

    OK(wd_ca_issue(ca, &spec, ret, &err), err);
}

static int make_p384(mbedtls_pk_context *key)
{
    int rv = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

    if (rv != 0)
        return rv;
    return mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP384R1, mbedtls_pk_ec(*key),
                               mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
}

static void make_key(const odd_spec *spec, mbedtls_pk_context *key)
{
    wd_error err;

    mbedtls_pk_init(key);
    if (spec->p384)
        assert_int_equal(make_p384(key), 0);
    else
        OK(wd_key_make(key, &err), err);
}

static void set_uri(mbedtls_x509_san_list *node, const char *uri)
{
    node->node.type = MBEDTLS_X509_SAN_UNIFORM_RESOURCE_IDENTIFIER;
    node->node.san.unstructured_name.p = bytes_of(uri);
    node->node.san.unstructured_name.len = strlen(uri);
}

static void set_names(mbedtls_x509write_cert *crt, const odd_spec *spec)
{
    mbedtls_x509_san_list second = {.next = NULL};
    mbedtls_x509_san_list first = {.next = spec->uri_2 != NULL ? &second : NULL};

    if (spec->no_uri)
        return;
    set_uri(&first, spec->uri != NULL ? spec->uri : TEST_CLIENT);
    if (spec->uri_2 != NULL)
        set_uri(&second, spec->uri_2);
    assert_int_equal(mbedtls_x509write_crt_set_subject_alternative_name(crt, &first),
                     0);
}

static void set_usage(mbedtls_x509write_cert *crt, const odd_spec *spec)
{
    mbedtls_asn1_sequence usage = {.buf = OID(MBEDTLS_OID_CLIENT_AUTH)};
    mbedtls_asn1_sequence server = {.buf = OID(MBEDTLS_OID_SERVER_AUTH)};

    assert_int_equal(mbedtls_x509write_crt_set_basic_constraints(crt, spec->is_ca, -1),
                     0);
    assert_int_equal(mbedtls_x509write_crt_set_key_usage(
                         crt, spec->key_agreement ? MBEDTLS_X509_KU_KEY_AGREEMENT
                                                  : MBEDTLS_X509_KU_DIGITAL_SIGNATURE),
                     0);
    if (!spec->no_usage)
        assert_int_equal(mbedtls_x509write_crt_set_ext_key_usage(
                             crt, spec->server_only ? &server : &usage),
                         0);
}

void odd_issue(const wd_ca *ca, const odd_spec *spec, wd_pem_pair *ret)
{
    union { /* signing does not change the key */
        const wd_ca *in;
        wd_ca *out;
    } issuer = {ca};
    int64_t from_ms = spec->from_ms != 0 ? spec->from_ms : test_now_ms() - TEST_DAY_MS;
    int64_t to_ms = spec->to_ms != 0 ? spec->to_ms : test_now_ms() + TEST_DAY_MS;
    mbedtls_x509write_cert crt;
    mbedtls_pk_context key;
    char name[128];
    wd_error err;

    make_key(spec, &key);
    mbedtls_x509write_crt_init(&crt);
    OK(wd_crt_begin(&crt, from_ms, to_ms, &err), err);
    assert_true(mbedtls_x509_dn_gets(name, sizeof name, &issuer.out->crt.subject) > 0);
    mbedtls_x509write_crt_set_subject_key(&crt, &key);
    mbedtls_x509write_crt_set_issuer_key(&crt, &issuer.out->key);
    assert_int_equal(mbedtls_x509write_crt_set_subject_name(&crt, "CN=odd"), 0);
    assert_int_equal(mbedtls_x509write_crt_set_issuer_name(&crt, name), 0);
    set_names(&crt, spec);
    set_usage(&crt, spec);
    if (spec->fact_oid != NULL)
        assert_int_equal(mbedtls_x509write_crt_set_extension(
                             &crt, spec->fact_oid, spec->fact_oid_size, 0,
                             (const unsigned char *)spec->fact_der,
                             spec->fact_der_size),
                         0);
    OK(wd_crt_pem(&crt, &ret->cert, &err), err);
    OK(wd_key_pem(&key, &ret->key, &err), err);
    mbedtls_x509write_crt_free(&crt);
    mbedtls_pk_free(&key);
}

uint8_t *test_der(const char *pem, size_t *ret_size)
{
    mbedtls_x509_crt crt;
    uint8_t *der;

    mbedtls_x509_crt_init(&crt);
    assert_int_equal(
        mbedtls_x509_crt_parse(&crt, (const uint8_t *)pem, strlen(pem) + 1), 0);
    der = malloc(crt.raw.len);
    assert_non_null(der);
    memcpy(der, crt.raw.p, crt.raw.len);
    *ret_size = crt.raw.len;
    mbedtls_x509_crt_free(&crt);
    return der;
}
