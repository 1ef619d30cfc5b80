/* signing.h - a detached signature beside a file.
 *
 * The signature, ECDSA over P-256 and SHA-256 in DER, is a file of its own:
 * `openssl dgst -sha256 -verify PUBLIC -signature FILE.sig FILE`.
 *
 * Threads: one.
 * Owns:    the key, until wd_signing_done. */
#ifndef WD_TOKCTL_SIGNING_H
#define WD_TOKCTL_SIGNING_H

#include <limits.h>

#include "proto/tls/own_key.h"

typedef struct wd_signing {
    wd_own_key *key; /* NULL: nothing is signed */
    char key_id[WD_KEY_ID_BYTES];
    char path[PATH_MAX]; /* of the signature; "": none */
} wd_signing;

/* Read the key of `file`, before there is anything to sign; NULL: nothing will be. The
 * signature of `out` will be `out`.sig. What --sign names is part of each message.
 * Errors: FAILED_PRECONDITION that file exists
 *         PERMISSION_DENIED   others can read the key
 *         NOT_FOUND, INVALID_ARGUMENT: it is no key that can sign */
WD_MUST_USE wd_status wd_signing_open(const char *file, const char *out,
                                      wd_signing *ret, wd_error *err);

/* Make the signature, on disk; nothing without a key. What is half made is removed.
 * Errors: FAILED_PRECONDITION it exists by now; INTERNAL it could not be written */
WD_MUST_USE wd_status wd_signing_write(const wd_signing *signing,
                                       const uint8_t sha256[WD_SHA256_BYTES],
                                       wd_error *err);

void wd_signing_done(wd_signing *signing);

#endif
