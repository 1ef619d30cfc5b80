/* sign.h - a gate's key over a text, and what others check that with.
 *
 * ECDSA over P-256 and SHA-256, in DER: `openssl dgst -sha256 -verify` reads it.
 *
 * Threads: any.  Owns: nothing.
 * Source:  FIPS 186-5; docs/audit.md, "Checkpoints". */
#ifndef WD_TLS_SIGN_H
#define WD_TLS_SIGN_H

#include "proto/tls/credentials.h"

#define WD_SIGNATURE_BYTES 80U /* most that a signature takes */
#define WD_KEY_ID_BYTES    17U /* 16 hex digits and the NUL */

/* Errors: INTERNAL no entropy */
WD_MUST_USE wd_status wd_tls_sign(const wd_tls_credentials *credentials, wd_span text,
                                  uint8_t ret_signature[WD_SIGNATURE_BYTES],
                                  size_t *ret_size, wd_error *err);

/* The first 8 bytes of the SHA-256 of the public key (SubjectPublicKeyInfo, DER). */
void wd_tls_key_id(const wd_tls_credentials *credentials, char ret_id[WD_KEY_ID_BYTES]);

/* The leaf certificate in PEM, from malloc. */
WD_MUST_USE wd_status wd_tls_certificate_pem(const wd_tls_credentials *credentials,
                                             char **ret_pem, wd_error *err);

/* The CA's certificates in PEM, one after the other, from malloc. */
WD_MUST_USE wd_status wd_tls_ca_pem(const wd_tls_credentials *credentials,
                                    char **ret_pem, wd_error *err);

/* What somebody says to have signed. */
typedef struct wd_tls_signed {
    wd_span text;
    wd_span signature;
    const char *key_id;
    const char *uri; /* of the certificate */
} wd_tls_signed;

/* Whether the key of `certificate` (PEM) has signed it, and is who it says. That the CA
 * has issued the certificate is checked with `ca` (PEM), where one is given: its time is
 * not, since a signature outlives it.
 * Errors: DATA_LOSS: what of it does not hold */
WD_MUST_USE wd_status wd_tls_signed_check(const char *certificate, const char *ca,
                                          const wd_tls_signed *what, wd_error *err);

#endif
