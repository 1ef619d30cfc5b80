/* stock.h - TLS for configurations that wd_tls_config did not make.
 *
 * NNG has one engine for the whole process. Others in it (https, wss, a harness's own
 * sockets) configure TLS through NNG's functions and get what NNG's own mbedTLS engine
 * gives: no judge, no limits, no gathering. Pre-shared keys are not supported.
 *
 * Private to proto/tls.
 * Threads: one while it is being configured; read-only afterwards (NNG sees to both).
 * Owns:    keys, wiped when freed.  Source: nng_tls_config_*(3). */
#ifndef WD_STOCK_H
#define WD_STOCK_H

#include <mbedtls/ssl.h>
#include <nng/supplemental/tls/engine.h>

typedef struct wd_stock wd_stock;

/* NULL: no memory. */
wd_stock *wd_stock_new(bool server);
void wd_stock_free(wd_stock *stock);

/* Each returns 0 or an NNG error, as NNG's functions of these names do. */
int wd_stock_set_server_name(wd_stock *stock, const char *name);
int wd_stock_set_auth(wd_stock *stock, nng_tls_auth_mode mode);
int wd_stock_set_ca(wd_stock *stock, const char *ca, const char *crl);
int wd_stock_set_own(wd_stock *stock, const char *cert, const char *key,
                     const char *password);
int wd_stock_set_versions(wd_stock *stock, nng_tls_version lowest,
                          nng_tls_version highest);

const mbedtls_ssl_config *wd_stock_conf(const wd_stock *stock);
const char *wd_stock_server_name(const wd_stock *stock); /* NULL: none to compare */

#endif
