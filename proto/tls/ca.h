/* ca.h - a CA as issue.c, issue_leaf.c and issue_files.c share it.
 *
 * Private to proto/tls.  Threads: one at a time.  Owns: the key. */
#ifndef WD_CA_H
#define WD_CA_H

#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>

#include "proto/tls/issue.h"

struct wd_ca {
    mbedtls_pk_context key;
    mbedtls_x509_crt crt;
    char *cert_pem, *key_pem;
};

/* Longest PEM that we write, with its NUL. */
enum { WD_PEM_BYTES = 8192 };

/* Takes both texts, also on failure. Checks that they belong together and are a CA's. */
WD_MUST_USE wd_status wd_ca_adopt(char *cert_pem, char *key_pem, wd_ca **ret,
                                  wd_error *err);

/* A fresh P-256 key. `key` is initialised. */
WD_MUST_USE wd_status wd_key_make(mbedtls_pk_context *key, wd_error *err);

/* The key as PEM text, to be wiped and freed. */
WD_MUST_USE wd_status wd_key_pem(mbedtls_pk_context *key, char **ret, wd_error *err);

/* Serial (16 random bytes), algorithm, times: what every certificate has. */
WD_MUST_USE wd_status wd_crt_begin(mbedtls_x509write_cert *crt, int64_t not_before_ms,
                                   int64_t not_after_ms, wd_error *err);

/* Sign and turn into PEM text, to be freed. */
WD_MUST_USE wd_status wd_crt_pem(mbedtls_x509write_cert *crt, char **ret,
                                 wd_error *err);

/* "cannot <what>: <mbedTLS's text>", INTERNAL. */
wd_status wd_fail_mbedtls(wd_error *err, const char *what, int code);

#endif
