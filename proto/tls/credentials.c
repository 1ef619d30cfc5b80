#include "proto/tls/credentials.h"

#include <mbedtls/error.h>
#include <mbedtls/psa_util.h>
#include <psa/crypto.h>
#include <string.h>

#include "proto/tls/credentials_impl.h"
#include "proto/tls/judge.h"
#include "proto/tls/pem_file.h"

const mbedtls_x509_crt_profile wd_tls_profile = {
    .allowed_mds = MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA256) |
                   MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA384) |
                   MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA512),
    .allowed_pks =
        MBEDTLS_X509_ID_FLAG(MBEDTLS_PK_ECKEY) | MBEDTLS_X509_ID_FLAG(MBEDTLS_PK_ECDSA),
    .allowed_curves = MBEDTLS_X509_ID_FLAG(MBEDTLS_ECP_DP_SECP256R1),
    .rsa_min_bitlen = 0,
};

/* ChaCha20 first: mbedTLS is a third faster with it than with AES-GCM. */
static const int suites[] = {MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
                             MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
                             MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
                             MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                             MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                             MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                             0};

/* X25519 too: it is what OpenSSL guesses first, and a wrong guess costs a round trip. */
static const uint16_t groups[] = {MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
                                  MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
                                  MBEDTLS_SSL_IANA_TLS_GROUP_NONE};

wd_tls_credentials *wd_tls_credentials_ref(wd_tls_credentials *credentials)
{
    atomic_fetch_add(&credentials->refs, 1);
    return credentials;
}

void wd_tls_credentials_free(wd_tls_credentials *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    mbedtls_ssl_config_free(&c->as_server);
    mbedtls_ssl_config_free(&c->as_client);
    mbedtls_x509_crt_free(&c->ca);
    mbedtls_x509_crt_free(&c->own);
    mbedtls_pk_free(&c->key);
    wd_deny_list_free(c->deny);
    free(c);
}

const wd_identity *wd_tls_credentials_identity(const wd_tls_credentials *credentials)
{
    return &credentials->identity;
}

bool wd_tls_credentials_deny(const wd_tls_credentials *credentials,
                             const wd_identity *peer)
{
    return wd_deny_list_has(credentials->deny, peer);
}

static const char *or_none(const char *cure)
{
    return cure != NULL ? cure : "";
}

static wd_status fail_parse(wd_error *err, const char *what, const char *cure, int code)
{
    char text[128];

    if (code > 0)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s: %d of its certificates cannot be read%s", what, code,
                       or_none(cure));
    mbedtls_strerror(code, text, sizeof text);
    return wd_fail(err, WD_INVALID_ARGUMENT, "%s is no PEM that can be read: %s%s",
                   what, text, or_none(cure));
}

static wd_status fail_named(wd_error *err, const char *what, const char *cure,
                            const wd_error *why)
{
    return wd_fail(err, why->status, "%s: %s%s", what, why->msg, or_none(cure));
}

/* mbedTLS takes whoever stands in the list for trusted, also a leaf for itself. */
static wd_status check_cas(const mbedtls_x509_crt *ca, const wd_tls_files *names,
                           wd_error *err)
{
    for (size_t n = 1; ca != NULL; ca = ca->next, n++)
        if (mbedtls_x509_crt_get_ca_istrue(ca) == 0)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "%s: certificate %zu of it is no CA's%s", names->ca, n,
                           or_none(names->cure_ca));
    return WD_OK;
}

/* `names`: what each of the texts is called when it can't be read. */
static wd_status parse(wd_tls_credentials *c, const wd_tls_pem *pem,
                       const wd_tls_files *names, wd_error *err)
{
    int rv =
        mbedtls_x509_crt_parse(&c->ca, (const uint8_t *)pem->ca, strlen(pem->ca) + 1);

    if (rv != 0)
        return fail_parse(err, names->ca, names->cure_ca, rv);
    WD_TRY(check_cas(&c->ca, names, err));
    rv = mbedtls_x509_crt_parse(&c->own, (const uint8_t *)pem->cert,
                                strlen(pem->cert) + 1);
    if (rv != 0)
        return fail_parse(err, names->cert, names->cure_cert, rv);
    rv =
        mbedtls_pk_parse_key(&c->key, (const uint8_t *)pem->key, strlen(pem->key) + 1,
                             NULL, 0, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    if (rv != 0)
        return fail_parse(err, names->key, names->cure_pair, rv);
    if (!wd_judge_is_p256(&c->own))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "%s has a key that is not of P-256, the only kind that peers "
                       "take%s",
                       names->cert, or_none(names->cure_cert));
    if (mbedtls_pk_check_pair(&c->own.pk, &c->key, mbedtls_psa_get_random,
                              MBEDTLS_PSA_RANDOM_STATE) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s and %s do not belong together%s",
                       names->key, names->cert, or_none(names->cure_pair));
    wd_error why = {0};
    if (wd_identity_read((wd_span){c->own.raw.p, c->own.raw.len}, &c->identity, &why) !=
        WD_OK)
        return fail_named(err, names->cert, names->cure_cert, &why);
    if (wd_deny_list_parse(pem->deny_list, &c->deny, &why) != WD_OK)
        return fail_named(err, names->deny_list, NULL, &why);
    return WD_OK;
}

/* mbedTLS fills tables of an EC key at its first use, without a lock (ecp.c,
 * ecp_mul_comb): use each once while nobody else can. What does not verify is no matter
 * here. */
static wd_status warm_up(wd_tls_credentials *c, wd_error *err)
{
    const uint8_t digest[32] = {1};
    uint8_t signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
    size_t size = 0;

    if (mbedtls_pk_sign(&c->key, MBEDTLS_MD_SHA256, digest, sizeof digest, signature,
                        sizeof signature, &size, mbedtls_psa_get_random,
                        MBEDTLS_PSA_RANDOM_STATE) != 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "the key cannot sign with SHA-256");
    (void)mbedtls_pk_verify(&c->own.pk, MBEDTLS_MD_SHA256, digest, sizeof digest,
                            signature, size);
    for (mbedtls_x509_crt *ca = &c->ca; ca != NULL; ca = ca->next)
        (void)mbedtls_pk_verify(&ca->pk, MBEDTLS_MD_SHA256, digest, sizeof digest,
                                signature, size);
    return WD_OK;
}

/* A server takes any certificate, or none: judge.c decides afterwards, when the alert
 * can be read. A client stops at the certificate, before it sends its own. */
static wd_status configure(wd_tls_credentials *c, mbedtls_ssl_config *conf,
                           int endpoint, bool tls12, wd_error *err)
{
    int rv = mbedtls_ssl_config_defaults(conf, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM,
                                         MBEDTLS_SSL_PRESET_DEFAULT);

    if (rv != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a TLS configuration");
    mbedtls_ssl_conf_rng(conf, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    mbedtls_ssl_conf_min_tls_version(conf, tls12 ? MBEDTLS_SSL_VERSION_TLS1_2
                                                 : MBEDTLS_SSL_VERSION_TLS1_3);
    mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
    mbedtls_ssl_conf_ciphersuites(conf, suites);
    mbedtls_ssl_conf_groups(conf, groups);
    mbedtls_ssl_conf_cert_profile(conf, &wd_tls_profile);
    mbedtls_ssl_conf_ca_chain(conf, &c->ca, NULL);
    mbedtls_ssl_conf_session_tickets(conf, MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
    mbedtls_ssl_conf_authmode(conf, endpoint == MBEDTLS_SSL_IS_SERVER
                                        ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                        : MBEDTLS_SSL_VERIFY_REQUIRED);
    if (endpoint == MBEDTLS_SSL_IS_SERVER)
        mbedtls_ssl_conf_new_session_tickets(conf, 0);
    if (mbedtls_ssl_conf_own_cert(conf, &c->own, &c->key) != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a TLS configuration");
    return WD_OK;
}

static wd_tls_credentials *new_credentials(void)
{
    wd_tls_credentials *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    atomic_init(&c->refs, 1);
    mbedtls_x509_crt_init(&c->ca);
    mbedtls_x509_crt_init(&c->own);
    mbedtls_pk_init(&c->key);
    mbedtls_ssl_config_init(&c->as_server);
    mbedtls_ssl_config_init(&c->as_client);
    return c;
}

wd_status wd_tls_credentials_make(const wd_tls_pem *pem, wd_tls_credentials **ret,
                                  wd_error *err)
{
    static const wd_tls_files plain = {.ca = "the CA file",
                                       .cert = "the certificate",
                                       .key = "the key",
                                       .deny_list = "the deny list"};
    const wd_tls_files *names = pem->names != NULL ? pem->names : &plain;
    WD_AUTO(wd_tls_credentials) *c = new_credentials();

    if (c == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for credentials");
    if (psa_crypto_init() != PSA_SUCCESS)
        return wd_fail(err, WD_INTERNAL, "no randomness: psa_crypto_init failed");
    WD_TRY(parse(c, pem, names, err));
    WD_TRY(warm_up(c, err));
    WD_TRY(configure(c, &c->as_server, MBEDTLS_SSL_IS_SERVER, pem->tls12, err));
    WD_TRY(configure(c, &c->as_client, MBEDTLS_SSL_IS_CLIENT, pem->tls12, err));
    *ret = WD_STEAL(c);
    return WD_OK;
}

static wd_status read_credential(const char *path, char **ret, wd_error *err)
{
    wd_error why;
    wd_status status = wd_pem_file_read(path, ret, &why);

    if (status == WD_OK)
        return WD_OK;
    return wd_fail(err, status, "%s%s", why.msg,
                   status == WD_NOT_FOUND
                       ? ". There are no credentials: `warded init` makes a gate's, "
                         "`warded profile new` a client's"
                       : "");
}

wd_status wd_tls_credentials_load(const wd_tls_files *files, wd_tls_credentials **ret,
                                  wd_error *err)
{
    WD_AUTO(wd_text) *ca = NULL;
    WD_AUTO(wd_text) *cert = NULL;
    WD_AUTO(wd_secret_text) *key = NULL;
    WD_AUTO(wd_text) *deny_list = NULL;
    wd_tls_pem pem;

    WD_TRY(read_credential(files->ca, &ca, err));
    WD_TRY(read_credential(files->cert, &cert, err));
    WD_TRY(read_credential(files->key, &key, err));
    WD_TRY(wd_secret_file_check(files->key, err));
    if (files->deny_list != NULL)
        WD_TRY(wd_pem_file_read(files->deny_list, &deny_list, err));
    pem = (wd_tls_pem){ca, cert, key, deny_list, files->tls12, files};
    return wd_tls_credentials_make(&pem, ret, err);
}

wd_status wd_tls_credentials_check(const wd_tls_credentials *credentials, bool server,
                                   wd_error *err)
{
    wd_identity own;
    wd_error why;
    wd_tls_cause cause = wd_judge_own(credentials, server, &own, &why);

    if (cause != WD_TLS_NONE)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "no peer would believe the certificate of %s (%s): %s. Issue a "
                       "new one",
                       credentials->identity.uri, wd_tls_cause_name(cause), why.msg);
    if (server && own.parsed.kind != WD_SPIFFE_GATE)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "%s is a client's certificate; a gate needs one of the form "
                       "spiffe://.../gate/<id>",
                       own.uri);
    return WD_OK;
}
