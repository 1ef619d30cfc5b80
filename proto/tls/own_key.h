/* own_key.h - a key of the caller's own over a digest: what `openssl dgst -sha256 -verify`
 * reads.
 *
 * ECDSA over P-256, in DER. Nothing that the gate signs is made here: it signs no text
 * that others choose.
 *
 * Threads: any; a key has one user at a time.
 * Owns:    the key, which is wiped.
 * Source:  FIPS 186-5; RFC 5480. */
#ifndef WD_TLS_OWN_KEY_H
#define WD_TLS_OWN_KEY_H

#include "proto/tls/sign.h"

typedef struct wd_own_key wd_own_key;

/* A private key over P-256 in PEM, without a passphrase.
 * Errors: INVALID_ARGUMENT   what it is instead
 *         RESOURCE_EXHAUSTED, INTERNAL no entropy */
WD_MUST_USE wd_status wd_own_key_read(const char *pem, wd_own_key **ret_key,
                                      wd_error *err);
void wd_own_key_free(wd_own_key *key); /* NULL is fine */
WD_DEFINE_AUTO(wd_own_key, wd_own_key_free)

/* As checkpoints name theirs: wd_tls_key_id. */
void wd_own_key_id(const wd_own_key *key, char ret_id[WD_KEY_ID_BYTES]);

/* Errors: INTERNAL no entropy */
WD_MUST_USE wd_status wd_own_key_sign(wd_own_key *key,
                                      const uint8_t sha256[WD_SHA256_BYTES],
                                      uint8_t ret_signature[WD_SIGNATURE_BYTES],
                                      size_t *ret_size, wd_error *err);

#endif
