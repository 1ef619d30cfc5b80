#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <string.h>

#include "proto/tls/binding.h"
#include "proto/tls/features.h"
#include "proto/tls/names.h"
#include "proto/tls/stock.h"

#if !defined(MBEDTLS_THREADING_C) || !defined(MBEDTLS_PSA_CRYPTO_C)
#error "mbedTLS was built without threads; Warded needs MBEDTLS_THREADING_C"
#endif
#if NNG_MAJOR_VERSION != 1 || NNG_MINOR_VERSION < 10
#error "Warded needs NNG 1.10 or a later 1.x"
#endif

/* The one way into a configuration that NNG offers takes names and bytes: wd_tls_config
 * hands a binding over as a pre-shared key of this name. */
#define BINDING_KEY "\x01warded.binding"

/* NNG tells each new configuration only its mode; whose it is comes later, if at all. */
static int config_init(nng_tls_engine_config *config, nng_tls_mode mode)
{
    config->server = mode == NNG_TLS_MODE_SERVER;
    config->stock = wd_stock_new(config->server);
    return config->stock != NULL ? 0 : NNG_ENOMEM;
}

static void config_fini(nng_tls_engine_config *config)
{
    wd_stock_free(config->stock);
    if (config->binding != NULL)
        wd_binding_unref(config->binding);
}

static int config_psk(nng_tls_engine_config *config, const char *name,
                      const uint8_t *key, size_t size)
{
    wd_tls_binding *binding;

    if (strcmp(name, BINDING_KEY) != 0 || size != sizeof(wd_tls_binding *) ||
        config->binding != NULL)
        return NNG_ENOTSUP;
    memcpy(&binding, key, sizeof(wd_tls_binding *));
    config->binding = wd_binding_ref(binding);
    wd_stock_free(config->stock);
    config->stock = NULL;
    return 0;
}

/* NNG's transports set a name and a mode on every configuration they are given. Ours has
 * its own rules and keeps them. */
static int config_server(nng_tls_engine_config *config, const char *name)
{
    return config->stock == NULL ? 0 : wd_stock_set_server_name(config->stock, name);
}

static int config_auth(nng_tls_engine_config *config, nng_tls_auth_mode mode)
{
    return config->stock == NULL ? 0 : wd_stock_set_auth(config->stock, mode);
}

static int config_ca(nng_tls_engine_config *config, const char *ca, const char *crl)
{
    return config->stock == NULL ? NNG_ENOTSUP
                                 : wd_stock_set_ca(config->stock, ca, crl);
}

static int config_own(nng_tls_engine_config *config, const char *cert, const char *key,
                      const char *password)
{
    return config->stock == NULL ? NNG_ENOTSUP
                                 : wd_stock_set_own(config->stock, cert, key, password);
}

static int config_version(nng_tls_engine_config *config, nng_tls_version lowest,
                          nng_tls_version highest)
{
    return config->stock == NULL
               ? NNG_ENOTSUP
               : wd_stock_set_versions(config->stock, lowest, highest);
}

static const nng_tls_engine_config_ops config_ops = {
    .size = sizeof(nng_tls_engine_config),
    .init = config_init,
    .fini = config_fini,
    .server = config_server,
    .auth = config_auth,
    .ca_chain = config_ca,
    .own_cert = config_own,
    .psk = config_psk,
    .version = config_version,
};

static const nng_tls_engine_conn_ops conn_ops = {
    .size = sizeof(nng_tls_engine_conn),
    .init = wd_conn_init,
    .fini = wd_conn_fini,
    .close = wd_conn_close,
    .handshake = wd_conn_handshake,
    .recv = wd_conn_recv,
    .send = wd_conn_send,
    .verified = wd_conn_verified,
    .peer_cn = wd_conn_peer_cn,
    .peer_alt_names = wd_conn_peer_alt_names,
};

/* NNG's type lacks const; NNG copies both tables and writes to neither. */
static const nng_tls_engine engine = {
    .version = NNG_TLS_ENGINE_VERSION,
    /* NOLINTBEGIN(performance-no-int-to-ptr): the cast takes const away */
    .config_ops = (nng_tls_engine_config_ops *)(uintptr_t)&config_ops,
    .conn_ops = (nng_tls_engine_conn_ops *)(uintptr_t)&conn_ops,
    /* NOLINTEND(performance-no-int-to-ptr) */
    .name = WD_TLS_ENGINE_NAME,
    .description = "Warded on mbedTLS",
    .fips_mode = false,
};

wd_status wd_tls_registered(wd_error *err)
{
    const char *name = nng_tls_engine_name();

    if (strcmp(name, WD_TLS_ENGINE_NAME) != 0)
        return wd_fail(
            err, WD_FAILED_PRECONDITION,
            "NNG's TLS engine is '%s', not ours: call wd_tls_register first, "
            "and let nobody register another",
            name);
    return WD_OK;
}

/* NNG sets its own engine the first time that anything of it is used: use it first. */
wd_status wd_tls_register(wd_error *err)
{
    int rv;

    WD_TRY(wd_tls_features_check(mbedtls_version_check_feature, err));
    if (psa_crypto_init() != PSA_SUCCESS)
        return wd_fail(err, WD_FAILED_PRECONDITION, "mbedTLS finds no randomness");
    (void)nng_tls_engine_name();
    rv = nng_tls_engine_register(&engine);
    if (rv != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "NNG %s does not take our TLS engine: %s", nng_version(),
                       nng_strerror(rv));
    return wd_tls_registered(err);
}

wd_status wd_tls_config(wd_tls_binding *binding, bool server, nng_tls_config **ret,
                        wd_error *err)
{
    nng_tls_config *config;
    int rv;

    WD_TRY(wd_tls_registered(err));
    rv = nng_tls_config_alloc(&config,
                              server ? NNG_TLS_MODE_SERVER : NNG_TLS_MODE_CLIENT);
    if (rv != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no TLS configuration: %s",
                       nng_strerror(rv));
    rv = nng_tls_config_psk(config, BINDING_KEY, (const uint8_t *)&binding,
                            sizeof(wd_tls_binding *));
    if (rv != 0) {
        nng_tls_config_free(config);
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "the TLS configuration is another engine's: %s",
                       nng_strerror(rv));
    }
    *ret = config;
    return WD_OK;
}
