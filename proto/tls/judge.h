/* judge.h - is this certificate one that we talk to, and if not, why?
 *
 * Private to proto/tls. The order of the questions is fixed: who signed it, with what,
 * when, what for, whose it is, is it denied. The first "no" is the cause.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_JUDGE_H
#define WD_JUDGE_H

#include <mbedtls/x509_crt.h>

#include "proto/tls/credentials.h"

typedef struct wd_judge_case {
    const wd_tls_credentials *credentials; /* ours: the CAs, the deny list */
    const mbedtls_x509_crt *crt;           /* the peer's; NULL: it sent none */
    uint32_t flags;                        /* MBEDTLS_X509_BADCERT_... of the chain */
    bool peer_is_server;                   /* decides the extended key usage */
} wd_judge_case;

/* Whether its key is of the one kind that we and our peers take. */
bool wd_judge_is_p256(const mbedtls_x509_crt *crt);

/* What mbedTLS finds wrong with a chain, its leaf first, by the CAs and the profile of
 * the configuration that handshakes have: MBEDTLS_X509_BADCERT_... */
uint32_t wd_judge_flags(const wd_tls_credentials *credentials, bool peer_is_server,
                        const mbedtls_x509_crt *chain);

/* NONE: *ret is whose it is. Else *err has the cause in words. */
wd_tls_cause wd_judge(const wd_judge_case *c, wd_identity *ret, wd_error *err);

/* The same for our own certificate, as a peer with our CAs would see it. */
wd_tls_cause wd_judge_own(const wd_tls_credentials *credentials, bool server,
                          wd_identity *ret, wd_error *err);

#endif
