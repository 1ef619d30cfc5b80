/* identity.h - who a certificate says its holder is: name, facts, numbers.
 *
 * The reader is strict DER: exactly one URI among the subject alternative names, each
 * fact at most once, no byte left over, no NUL, no indefinite or overlong length. It
 * verifies no signature and no time: proto/tls/judge.h does, before it believes any of it.
 *
 * Threads: any.  Owns: nothing; a wd_identity is a value of about 6 KiB.
 * Source:  RFC 5280 section 4.1; docs/security.md for the facts. */
#ifndef WD_IDENTITY_H
#define WD_IDENTITY_H

#include <stdint.h>

#include "proto/c/limits.h"
#include "proto/c/span.h"
#include "proto/c/status.h"
#include "proto/tls/cause.h"
#include "proto/tls/spiffe.h"

/* What the issuer asserts: extension 2.25.187663191962772120820425601056173538086.<n>,
 * DER UTF8String of printable ASCII, not critical. name, n */
#define WD_FACT_MAP(X)                                                                 \
    X(CREATOR, 1)                                                                      \
    X(NAMESPACE, 2)                                                                    \
    X(IMAGE, 3)     /* sha256:<hex> */                                                 \
    X(BOOTSTRAP, 4) /* sha256:<hex> */                                                 \
    X(POOL, 5)                                                                         \
    X(ENDPOINT, 6) /* up to 8 host[:port], one space between */                        \
    X(HOST_ID, 7)                                                                      \
    X(ASSERTED_BY, 8)

typedef enum wd_fact {
#define X(name, number) WD_FACT_##name = (number),
    WD_FACT_MAP(X)
#undef X
} wd_fact;

#define WD_FACT_COUNT   8   /* facts are numbered from 1 to this */
#define WD_FACT_BYTES   513 /* one fact, with its NUL */
#define WD_SERIAL_CHARS 41  /* 20 bytes in hex, with a NUL (RFC 5280 4.1.2.2) */

typedef struct wd_identity {
    char uri[WD_URI_BYTES + 1];
    wd_spiffe parsed; /* the same, taken apart */
    uint8_t cert_sha256[WD_SHA256_BYTES];
    uint8_t key_sha256[WD_SHA256_BYTES]; /* of the SubjectPublicKeyInfo, as it stands */
    char serial[WD_SERIAL_CHARS];        /* lower-case hex, no sign byte */
    int64_t not_before_ms, not_after_ms; /* wall clock; the last moment counts */
    char fact[WD_FACT_COUNT + 1][WD_FACT_BYTES]; /* by wd_fact; "" where absent */
} wd_identity;

/* Read a DER certificate. *ret_cause (may be NULL) tells which rule it broke, also when
 * it did not: then NONE.
 * Errors: INVALID_ARGUMENT, with the rule in words; *ret is then cleared. */
WD_MUST_USE wd_status wd_identity_read_cause(wd_span der, wd_identity *ret,
                                             wd_tls_cause *ret_cause, wd_error *err);

/* The same for callers that only want the text. */
WD_MUST_USE wd_status wd_identity_read(wd_span der, wd_identity *ret, wd_error *err);

/* Read the first certificate of a PEM file.
 * Errors: NOT_FOUND and PERMISSION_DENIED (the file), INVALID_ARGUMENT (its content). */
WD_MUST_USE wd_status wd_identity_read_file(const char *path, wd_identity *ret,
                                            wd_error *err);

/* "creator"; NULL for a number that no fact has. */
const char *wd_fact_name(wd_fact fact);

#endif
