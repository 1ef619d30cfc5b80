#include <arpa/inet.h>
#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#include "proto/tls/ca.h"
#include "proto/tls/oid.h"
#include "proto/tls/pem_file.h"

enum { LEAF_NAMES = 32 }; /* DNS and IP names together */

/* The alternative names of one certificate, as mbedTLS wants them: a list. */
typedef struct alt_names {
    mbedtls_x509_san_list node[1 + LEAF_NAMES];
    unsigned char ip[LEAF_NAMES][16];
    size_t n;
} alt_names;

/* mbedTLS's types lack const; it only reads. */
static unsigned char *bytes_of(const char *text)
{
    union {
        const char *in;
        unsigned char *out;
    } cast = {text};

    return cast.out;
}

static mbedtls_x509_buf *add_name(alt_names *names, int type)
{
    mbedtls_x509_san_list *node = &names->node[names->n];

    if (names->n > 0)
        names->node[names->n - 1].next = node;
    names->n++;
    node->node.type = type;
    return &node->node.san.unstructured_name;
}

static bool dns_ok(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size <= 253 && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == size;
}

static wd_status add_dns(alt_names *names, const char *name, wd_error *err)
{
    mbedtls_x509_buf *out;

    if (!dns_ok(name))
        return wd_fail(err, WD_INVALID_ARGUMENT, "dns: '%.253s' is no host name", name);
    out = add_name(names, MBEDTLS_X509_SAN_DNS_NAME);
    out->p = bytes_of(name);
    out->len = strlen(name);
    return WD_OK;
}

static wd_status add_ip(alt_names *names, const char *text, wd_error *err)
{
    unsigned char *ip = names->ip[names->n - 1]; /* names->node[0] is the URI */
    size_t size = 0;
    mbedtls_x509_buf *out;

    if (inet_pton(AF_INET, text, ip) == 1)
        size = 4;
    else if (inet_pton(AF_INET6, text, ip) == 1)
        size = 16;
    else
        return wd_fail(err, WD_INVALID_ARGUMENT, "ip: '%.64s' is no address", text);
    out = add_name(names, MBEDTLS_X509_SAN_IP_ADDRESS);
    out->p = ip;
    out->len = size;
    return WD_OK;
}

static wd_status collect_names(const wd_leaf_spec *spec, wd_spiffe_kind kind,
                               alt_names *names, wd_error *err)
{
    mbedtls_x509_buf *uri;

    memset(names, 0, sizeof *names);
    if (kind != WD_SPIFFE_GATE && spec->n_dns + spec->n_ips > 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "dns, ips: a client's certificate bears no host names");
    if (spec->n_dns > LEAF_NAMES || spec->n_ips > LEAF_NAMES - spec->n_dns)
        return wd_fail(err, WD_INVALID_ARGUMENT, "dns, ips: at most %d together",
                       LEAF_NAMES);
    uri = add_name(names, MBEDTLS_X509_SAN_UNIFORM_RESOURCE_IDENTIFIER);
    uri->p = bytes_of(spec->uri);
    uri->len = strlen(spec->uri);
    for (size_t i = 0; i < spec->n_dns; i++)
        WD_TRY(add_dns(names, spec->dns[i], err));
    for (size_t i = 0; i < spec->n_ips; i++)
        WD_TRY(add_ip(names, spec->ips[i], err));
    return WD_OK;
}

/* DER UTF8String of 1 to 512 printable ASCII characters. Returns its size, 0 if the
 * text is none. */
static size_t encode_fact(const char *text, unsigned char out[WD_FACT_BYTES + 4])
{
    size_t size = strlen(text), at = 0;

    if (size == 0 || size >= WD_FACT_BYTES)
        return 0;
    out[at++] = MBEDTLS_ASN1_UTF8_STRING;
    if (size > 0xff)
        out[at++] = 0x82, out[at++] = (unsigned char)(size >> 8);
    else if (size > 0x7f)
        out[at++] = 0x81;
    out[at++] = (unsigned char)size;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e)
            return 0;
        out[at++] = (unsigned char)text[i];
    }
    return at;
}

static wd_status add_facts(mbedtls_x509write_cert *crt, const wd_leaf_spec *spec,
                           wd_error *err)
{
    char oid[WD_OID_SIZE(WD_OID_FACTS) + 1];
    unsigned char value[WD_FACT_BYTES + 4];

    memcpy(oid, WD_OID_FACTS, sizeof oid - 1);
    for (unsigned n = 1; n <= WD_FACT_COUNT; n++) {
        size_t size;
        int rv;

        if (spec->fact[n] == NULL)
            continue;
        size = encode_fact(spec->fact[n], value);
        if (size == 0)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "fact %s: 1 to 512 printable characters",
                           wd_fact_name((wd_fact)n));
        oid[sizeof oid - 1] = (char)n;
        rv = mbedtls_x509write_crt_set_extension(crt, oid, sizeof oid, 0, value, size);
        if (rv != 0)
            return wd_fail_mbedtls(err, "add a fact", rv);
    }
    return WD_OK;
}

static int add_usage(mbedtls_x509write_cert *crt, wd_spiffe_kind kind)
{
    mbedtls_asn1_sequence client = {.buf = {MBEDTLS_ASN1_OID,
                                            MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH),
                                            bytes_of(MBEDTLS_OID_CLIENT_AUTH)}};
    mbedtls_asn1_sequence server = {.buf = {MBEDTLS_ASN1_OID,
                                            MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH),
                                            bytes_of(MBEDTLS_OID_SERVER_AUTH)},
                                    .next = &client};
    int rv = mbedtls_x509write_crt_set_basic_constraints(crt, 0, -1);

    if (rv == 0)
        rv =
            mbedtls_x509write_crt_set_key_usage(crt, MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_ext_key_usage(
            crt, kind == WD_SPIFFE_GATE ? &server : &client);
    return rv;
}

static int add_keys(mbedtls_x509write_cert *crt, const wd_ca *ca,
                    mbedtls_pk_context *key, const char *name)
{
    union { /* mbedTLS lacks const; signing does not change the key */
        const wd_ca *in;
        wd_ca *out;
    } cast = {ca};
    char subject[WD_SPIFFE_SEGMENT_BYTES + 4], issuer[512];
    int rv;

    (void)snprintf(subject, sizeof subject, "CN=%s", name);
    if (mbedtls_x509_dn_gets(issuer, sizeof issuer, &ca->crt.subject) <= 0)
        return MBEDTLS_ERR_X509_INVALID_NAME;
    mbedtls_x509write_crt_set_subject_key(crt, key);
    mbedtls_x509write_crt_set_issuer_key(crt, &cast.out->key);
    rv = mbedtls_x509write_crt_set_subject_name(crt, subject);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_issuer_name(crt, issuer);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_authority_key_identifier(crt);
    return rv;
}

static wd_status fill_and_sign(mbedtls_x509write_cert *crt, const wd_leaf_spec *spec,
                               wd_spiffe_kind kind, char **ret, wd_error *err)
{
    alt_names names;
    int rv;

    WD_TRY(collect_names(spec, kind, &names, err));
    rv = add_usage(crt, kind);
    if (rv == 0)
        rv = mbedtls_x509write_crt_set_subject_alternative_name(crt, names.node);
    if (rv != 0)
        return wd_fail_mbedtls(err, "fill a certificate", rv);
    WD_TRY(add_facts(crt, spec, err));
    return wd_crt_pem(crt, ret, err);
}

static wd_status issue_for_key(const wd_ca *ca, const wd_leaf_spec *spec,
                               mbedtls_pk_context *key, char **ret, wd_error *err)
{
    mbedtls_x509write_cert crt;
    wd_spiffe name;
    wd_status status;
    int rv;

    WD_TRY(wd_spiffe_parse(spec->uri, strlen(spec->uri), &name, err));
    mbedtls_x509write_crt_init(&crt);
    status = wd_crt_begin(&crt, spec->not_before_ms, spec->not_after_ms, err);
    if (status == WD_OK) {
        rv = add_keys(&crt, ca, key, name.name);
        status = rv == 0 ? fill_and_sign(&crt, spec, name.kind, ret, err)
                         : wd_fail_mbedtls(err, "name a certificate", rv);
    }
    mbedtls_x509write_crt_free(&crt);
    return status;
}

void wd_pem_pair_done(wd_pem_pair *pair)
{
    free(pair->cert);
    wd_secret_text_free(pair->key);
    *pair = (wd_pem_pair){NULL, NULL};
}

wd_status wd_ca_issue(const wd_ca *ca, const wd_leaf_spec *spec, wd_pem_pair *ret,
                      wd_error *err)
{
    wd_pem_pair pair = {NULL, NULL};
    mbedtls_pk_context key;
    wd_status status;

    mbedtls_pk_init(&key);
    status = wd_key_make(&key, err);
    if (status == WD_OK)
        status = wd_key_pem(&key, &pair.key, err);
    if (status == WD_OK)
        status = issue_for_key(ca, spec, &key, &pair.cert, err);
    mbedtls_pk_free(&key);
    if (status == WD_OK)
        *ret = pair;
    else
        wd_pem_pair_done(&pair);
    return status;
}
