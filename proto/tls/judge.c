#include "proto/tls/judge.h"

#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <string.h>

#include "proto/tls/credentials_impl.h"

enum {
    UNTRUSTED = MBEDTLS_X509_BADCERT_NOT_TRUSTED,
    WEAK = MBEDTLS_X509_BADCERT_BAD_MD | MBEDTLS_X509_BADCERT_BAD_PK |
           MBEDTLS_X509_BADCERT_BAD_KEY,
    /* We look at usage ourselves: mbedTLS lets a missing extension pass. */
    USAGE = MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE |
            MBEDTLS_X509_BADCERT_NS_CERT_TYPE,
};

/* No CA of ours signed it. Does it claim that one did? */
static wd_tls_cause judge_untrusted(const wd_judge_case *c, wd_error *err)
{
    const mbedtls_x509_buf *issuer = &c->crt->issuer_raw;

    for (const mbedtls_x509_crt *ca = &c->credentials->ca; ca != NULL; ca = ca->next)
        if (ca->subject_raw.len == issuer->len &&
            memcmp(ca->subject_raw.p, issuer->p, issuer->len) == 0) {
            (void)wd_fail(err, WD_UNAUTHENTICATED,
                          "the certificate names our CA, but our CA did not sign it");
            return WD_TLS_BAD_SIGNATURE;
        }
    (void)wd_fail(err, WD_UNAUTHENTICATED,
                  "the certificate is from a CA that is not ours");
    return WD_TLS_UNKNOWN_CA;
}

bool wd_judge_is_p256(const mbedtls_x509_crt *crt)
{
    return mbedtls_pk_get_type(&crt->pk) == MBEDTLS_PK_ECKEY &&
           mbedtls_ecp_keypair_get_group_id(mbedtls_pk_ec(crt->pk)) ==
               MBEDTLS_ECP_DP_SECP256R1;
}

/* Named in so many words: mbedTLS would also take anyExtendedKeyUsage for it. */
static bool has_purpose(const mbedtls_x509_crt *crt, bool server)
{
    const char *purpose = server ? MBEDTLS_OID_SERVER_AUTH : MBEDTLS_OID_CLIENT_AUTH;
    const size_t size = MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH); /* of both */

    for (const mbedtls_x509_sequence *at = &crt->ext_key_usage; at != NULL;
         at = at->next)
        if (at->buf.len == size && memcmp(at->buf.p, purpose, size) == 0)
            return true;
    return false;
}

static bool usage_ok(const mbedtls_x509_crt *crt, bool server)
{
    return mbedtls_x509_crt_has_ext_type(crt, MBEDTLS_X509_EXT_KEY_USAGE) &&
           mbedtls_x509_crt_has_ext_type(crt, MBEDTLS_X509_EXT_EXTENDED_KEY_USAGE) &&
           mbedtls_x509_crt_check_key_usage(crt, MBEDTLS_X509_KU_DIGITAL_SIGNATURE) ==
               0 &&
           has_purpose(crt, server);
}

static wd_tls_cause no(wd_tls_cause cause, wd_error *err, const char *why)
{
    (void)wd_fail(err, WD_UNAUTHENTICATED, "%s", why);
    return cause;
}

static wd_tls_cause judge_chain(const wd_judge_case *c, wd_error *err)
{
    if (c->crt == NULL || (c->flags & MBEDTLS_X509_BADCERT_MISSING) != 0)
        return no(WD_TLS_NO_CERTIFICATE, err, "the peer sent no certificate");
    if ((c->flags & UNTRUSTED) != 0)
        return judge_untrusted(c, err);
    if (mbedtls_x509_crt_get_ca_istrue(c->crt) != 0)
        return no(WD_TLS_CA_CERTIFICATE, err, "the certificate is a CA's");
    if ((c->flags & WEAK) != 0 || !wd_judge_is_p256(c->crt))
        return no(WD_TLS_WEAK_KEY, err, "the key is not P-256, or the digest is weak");
    if ((c->flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0)
        return no(WD_TLS_EXPIRED, err, "the certificate has expired");
    if ((c->flags & MBEDTLS_X509_BADCERT_FUTURE) != 0)
        return no(WD_TLS_NOT_YET_VALID, err, "the certificate is not valid yet");
    if (!usage_ok(c->crt, c->peer_is_server))
        return no(WD_TLS_BAD_USAGE, err,
                  c->peer_is_server ? "the certificate is not for servers"
                                    : "the certificate is not for clients");
    if ((c->flags & ~(uint32_t)USAGE) != 0)
        return no(WD_TLS_UNKNOWN_CA, err, "the certificate's chain does not hold");
    return WD_TLS_NONE;
}

wd_tls_cause wd_judge(const wd_judge_case *c, wd_identity *ret, wd_error *err)
{
    wd_tls_cause cause = judge_chain(c, err);

    if (cause != WD_TLS_NONE)
        return cause;
    if (wd_identity_read_cause((wd_span){c->crt->raw.p, c->crt->raw.len}, ret, &cause,
                               err) != WD_OK)
        return cause;
    if (wd_deny_list_has(c->credentials->deny, ret))
        return no(WD_TLS_DENIED, err, "the certificate is on the deny list");
    return WD_TLS_NONE;
}

uint32_t wd_judge_flags(const wd_tls_credentials *credentials, bool peer_is_server,
                        const mbedtls_x509_crt *chain)
{
    const mbedtls_ssl_config *conf =
        peer_is_server ? &credentials->as_client : &credentials->as_server;
    union { /* mbedTLS lacks const; verifying changes nothing */
        const mbedtls_x509_crt *in;
        mbedtls_x509_crt *out;
    } cast = {chain};
    uint32_t flags = 0;

    (void)mbedtls_x509_crt_verify_with_profile(
        cast.out, conf->MBEDTLS_PRIVATE(ca_chain), conf->MBEDTLS_PRIVATE(ca_crl),
        conf->MBEDTLS_PRIVATE(cert_profile), NULL, &flags, NULL, NULL);
    return flags;
}

wd_tls_cause wd_judge_own(const wd_tls_credentials *credentials, bool server,
                          wd_identity *ret, wd_error *err)
{
    const mbedtls_x509_crt *own = &credentials->own;
    const uint32_t flags = wd_judge_flags(credentials, server, own);
    const wd_judge_case c = {credentials, own, flags, server};

    return wd_judge(&c, ret, err);
}
