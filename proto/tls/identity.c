#include "proto/tls/identity.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <string.h>

#include "proto/tls/der.h"
#include "proto/tls/oid.h"
#include "proto/tls/pem_file.h"

enum {
    TAG_VERSION = 0xa0,
    TAG_ISSUER_UID = 0x81,
    TAG_SUBJECT_UID = 0x82,
    TAG_EXTENSIONS = 0xa3,
    TAG_EMAIL = 0x81,
    TAG_DNS = 0x82,
    TAG_URI = 0x86,
    TAG_IP = 0x87,
    SERIAL_BYTES = 20,
    MOST_OTHERS = 64, /* extensions that say nothing to us */
};

/* One reading. `cause` is what to say if it fails now. */
typedef struct reader {
    wd_identity *out;
    wd_tls_cause cause;
    bool san_seen;
    wd_span others[MOST_OTHERS]; /* their names */
    size_t n_others;
    wd_error *err;
} reader;

static wd_status broken(reader *r, wd_tls_cause cause, const char *what)
{
    r->cause = cause;
    return wd_fail(r->err, WD_INVALID_ARGUMENT, "certificate: %s", what);
}

static wd_status read_serial(reader *r, wd_span serial)
{
    static const char digits[] = "0123456789abcdef";
    char *out = r->out->serial;

    if (serial.size > 1 && serial.data[0] == 0 && serial.data[1] >= 0x80)
        serial = wd_span_skip(serial, 1);
    else if (serial.size > 0 && serial.data[0] >= 0x80)
        return broken(r, WD_TLS_UNREADABLE, "the serial number is negative");
    if (serial.size == 0 || serial.size > SERIAL_BYTES ||
        (serial.size == 1 && serial.data[0] == 0))
        return broken(r, WD_TLS_UNREADABLE,
                      "the serial number is a positive one of 1 to 20 bytes");
    for (size_t i = 0; i < serial.size; i++) {
        *out++ = digits[serial.data[i] >> 4];
        *out++ = digits[serial.data[i] & 15];
    }
    *out = '\0';
    return WD_OK;
}

static wd_status read_uri(reader *r, wd_span uri)
{
    wd_error why;

    if (r->out->uri[0] != '\0')
        return broken(r, WD_TLS_MANY_URIS,
                      "two URIs among the subject alternative names");
    if (uri.size == 0 || uri.size > WD_URI_BYTES)
        return broken(r, WD_TLS_BAD_SAN, "the URI has 1 to 1,024 bytes");
    if (wd_spiffe_parse((const char *)uri.data, uri.size, &r->out->parsed, &why) !=
        WD_OK)
        return broken(r, WD_TLS_BAD_SAN, why.msg);
    memcpy(r->out->uri, uri.data, uri.size);
    r->out->uri[uri.size] = '\0';
    return WD_OK;
}

/* A name of a form that is in use. Those that need a reader of their own, and that few
 * readers have (directory and X.400 names, ...), have no place in our certificates. */
static bool alt_name_ok(uint8_t tag, wd_span name)
{
    if (tag == TAG_IP)
        return name.size == 4 || name.size == 16;
    if (tag != TAG_EMAIL && tag != TAG_DNS && tag != TAG_URI)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] > 0x7f) /* IA5String */
            return false;
    return true;
}

/* GeneralNames; all but URIs are for others to read. A second URI is the finding even
 * if it is no SPIFFE id, so all names are counted before one is read. */
static wd_status read_alt_names(reader *r, wd_span value)
{
    wd_span names, name, uri = {NULL, 0};
    uint8_t tag;
    size_t n_uris = 0;

    if (r->san_seen)
        return broken(r, WD_TLS_BAD_SAN, "two subjectAltName extensions");
    r->san_seen = true;
    if (!wd_der_take(&value, WD_DER_SEQUENCE, &names) || value.size != 0)
        return broken(r, WD_TLS_BAD_SAN, "subjectAltName is no sequence");
    while (names.size != 0) {
        if (!wd_der_take_any(&names, &tag, &name))
            return broken(r, WD_TLS_BAD_SAN, "subjectAltName is not DER");
        if (!alt_name_ok(tag, name))
            return broken(r, WD_TLS_BAD_SAN,
                          "a subject alternative name is neither a URI nor a DNS name, "
                          "an IP address or an email address");
        if (tag == TAG_URI && n_uris++ == 0)
            uri = name;
    }
    if (n_uris > 1)
        return broken(r, WD_TLS_MANY_URIS,
                      "two URIs among the subject alternative names");
    return n_uris == 1 ? read_uri(r, uri) : WD_OK;
}

static bool printable(wd_span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20 || text.data[i] > 0x7e)
            return false;
    return true;
}

static wd_status read_fact(reader *r, unsigned number, wd_span value)
{
    wd_span text;

    if (r->out->fact[number][0] != '\0')
        return broken(r, WD_TLS_BAD_FACT, "a fact is there twice");
    if (!wd_der_take(&value, WD_DER_UTF8_STRING, &text) || value.size != 0)
        return broken(r, WD_TLS_BAD_FACT, "a fact is no UTF8String");
    if (text.size == 0 || text.size >= WD_FACT_BYTES || !printable(text))
        return broken(r, WD_TLS_BAD_FACT, "a fact is 1 to 512 printable characters");
    memcpy(r->out->fact[number], text.data, text.size);
    return WD_OK;
}

static bool is(wd_span oid, const char *literal, size_t size)
{
    return oid.size == size && memcmp(oid.data, literal, size) == 0;
}

/* What mbedTLS does not know it would let come twice. */
static wd_status read_other(reader *r, wd_span oid, wd_span value)
{
    if (!wd_der_valid(value))
        return broken(r, WD_TLS_UNREADABLE, "an extension's value is not DER");
    for (size_t i = 0; i < r->n_others; i++)
        if (is(oid, (const char *)r->others[i].data, r->others[i].size))
            return broken(r, WD_TLS_UNREADABLE, "an extension is there twice");
    if (r->n_others == MOST_OTHERS)
        return broken(r, WD_TLS_UNREADABLE, "more than 64 extensions");
    r->others[r->n_others++] = oid;
    return WD_OK;
}

/* One of our facts, or 0; those of a later version are none. */
static unsigned fact_of(wd_span oid)
{
    const size_t arc = WD_OID_SIZE(WD_OID_FACTS);

    if (oid.size != arc + 1 || memcmp(oid.data, WD_OID_FACTS, arc) != 0)
        return 0;
    return oid.data[arc] <= WD_FACT_COUNT ? oid.data[arc] : 0;
}

static wd_status read_extension(reader *r, wd_span extension)
{
    wd_span oid, critical, value;

    if (!wd_der_take(&extension, WD_DER_OID, &oid) ||
        !wd_der_take_optional(&extension, WD_DER_BOOLEAN, &critical) ||
        !wd_der_take(&extension, WD_DER_OCTET_STRING, &value) || extension.size != 0)
        return broken(r, WD_TLS_UNREADABLE, "an extension is not DER");
    if (is(oid, WD_OID_SUBJECT_ALT_NAME, WD_OID_SIZE(WD_OID_SUBJECT_ALT_NAME)))
        return read_alt_names(r, value);
    if (fact_of(oid) != 0)
        return read_fact(r, fact_of(oid), value);
    return read_other(r, oid, value);
}

static wd_status read_extensions(reader *r, wd_span tbs)
{
    wd_span unused, wrapped, list, extension;

    if (!wd_der_take_optional(&tbs, TAG_ISSUER_UID, &unused) ||
        !wd_der_take_optional(&tbs, TAG_SUBJECT_UID, &unused) ||
        !wd_der_take_optional(&tbs, TAG_EXTENSIONS, &wrapped) || tbs.size != 0)
        return broken(r, WD_TLS_UNREADABLE, "what follows the key is not DER");
    if (wrapped.size == 0)
        return WD_OK;
    if (!wd_der_take(&wrapped, WD_DER_SEQUENCE, &list) || wrapped.size != 0)
        return broken(r, WD_TLS_UNREADABLE, "the extensions are no sequence");
    while (list.size != 0) {
        if (!wd_der_take(&list, WD_DER_SEQUENCE, &extension))
            return broken(r, WD_TLS_UNREADABLE, "an extension is no sequence");
        WD_TRY(read_extension(r, extension));
    }
    return WD_OK;
}

static wd_status read_validity(reader *r, wd_span validity)
{
    if (!wd_der_take_time(&validity, &r->out->not_before_ms) ||
        !wd_der_take_time(&validity, &r->out->not_after_ms) || validity.size != 0)
        return broken(r, WD_TLS_UNREADABLE, "the validity is no pair of times");
    return WD_OK;
}

/* The key itself is judged by who verifies the signature; here only its digest is kept. */
static wd_status read_key(reader *r, wd_span *tbs)
{
    const uint8_t *start = tbs->data;
    wd_span key;

    if (!wd_der_take(tbs, WD_DER_SEQUENCE, &key))
        return broken(r, WD_TLS_UNREADABLE, "a field is missing or not DER");
    size_t size = (size_t)(key.data + key.size - start);
    if (mbedtls_sha256(start, size, r->out->key_sha256, 0) != 0)
        return broken(r, WD_TLS_RESOURCES, "no SHA-256");
    return WD_OK;
}

static wd_status read_tbs(reader *r, wd_span tbs)
{
    wd_span version, serial, skipped, validity;

    if (!wd_der_take(&tbs, TAG_VERSION, &version) ||
        !is(version, "\x02\x01\x02", 3)) /* v3 */
        return broken(r, WD_TLS_UNREADABLE, "it is no X.509 v3 certificate");
    if (!wd_der_take(&tbs, WD_DER_INTEGER, &serial) ||
        !wd_der_take(&tbs, WD_DER_SEQUENCE, &skipped) || /* signature algorithm */
        !wd_der_take(&tbs, WD_DER_SEQUENCE, &skipped) || /* issuer */
        !wd_der_take(&tbs, WD_DER_SEQUENCE, &validity) ||
        !wd_der_take(&tbs, WD_DER_SEQUENCE, &skipped)) /* subject */
        return broken(r, WD_TLS_UNREADABLE, "a field is missing or not DER");
    WD_TRY(read_key(r, &tbs));
    WD_TRY(read_serial(r, serial));
    WD_TRY(read_validity(r, validity));
    WD_TRY(read_extensions(r, tbs));
    if (r->out->uri[0] == '\0')
        return broken(r, WD_TLS_NO_SAN,
                      "no URI among the subject alternative names; exactly one "
                      "SPIFFE id is needed");
    return WD_OK;
}

static wd_status read_certificate(reader *r, wd_span der)
{
    wd_span certificate, tbs, algorithm, signature;

    if (!wd_der_valid(der) || !wd_der_take(&der, WD_DER_SEQUENCE, &certificate) ||
        der.size != 0 || !wd_der_take(&certificate, WD_DER_SEQUENCE, &tbs) ||
        !wd_der_take(&certificate, WD_DER_SEQUENCE, &algorithm) ||
        !wd_der_take(&certificate, WD_DER_BIT_STRING, &signature) ||
        certificate.size != 0)
        return broken(r, WD_TLS_UNREADABLE, "it is not DER");
    return read_tbs(r, tbs);
}

wd_status wd_identity_read_cause(wd_span der, wd_identity *ret, wd_tls_cause *ret_cause,
                                 wd_error *err)
{
    reader r = {.out = ret, .cause = WD_TLS_NONE, .err = err};
    wd_status status;

    memset(ret, 0, sizeof *ret);
    status = read_certificate(&r, der);
    if (status == WD_OK && mbedtls_sha256(der.data, der.size, ret->cert_sha256, 0) != 0)
        status = broken(&r, WD_TLS_RESOURCES, "no SHA-256");
    if (status != WD_OK)
        memset(ret, 0, sizeof *ret);
    if (ret_cause != NULL)
        *ret_cause = r.cause;
    return status;
}

wd_status wd_identity_read(wd_span der, wd_identity *ret, wd_error *err)
{
    return wd_identity_read_cause(der, ret, NULL, err);
}

wd_status wd_identity_read_file(const char *path, wd_identity *ret, wd_error *err)
{
    WD_AUTO(wd_text) *pem = NULL;
    mbedtls_x509_crt crt;
    wd_status status;

    WD_TRY(wd_pem_file_read(path, &pem, err));
    mbedtls_x509_crt_init(&crt);
    if (mbedtls_x509_crt_parse(&crt, (const uint8_t *)pem, strlen(pem) + 1) != 0)
        status = wd_fail(err, WD_INVALID_ARGUMENT, "%s holds no certificate", path);
    else
        status = wd_identity_read((wd_span){crt.raw.p, crt.raw.len}, ret, err);
    mbedtls_x509_crt_free(&crt);
    return status;
}

const char *wd_fact_name(wd_fact fact)
{
    static const char *const names[] = {NULL,       "creator",   "namespace",
                                        "image",    "bootstrap", "pool",
                                        "endpoint", "host id",   "asserted by"};

    return (size_t)fact < sizeof names / sizeof names[0] ? names[fact] : NULL;
}
