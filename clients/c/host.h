/* host.h - may this gate receive a call from us? Asked before a byte of ours leaves.
 *
 * Threads: any; pure.  Owns: nothing.  Source: docs/security.md, "the host first". */
#ifndef WD_CLIENT_HOST_H
#define WD_CLIENT_HOST_H

#include "clients/c/endpoint.h"
#include "clients/c/policy.h"
#include "proto/tls/identity.h"

typedef struct wd_host_case {
    const wd_policy *policy;
    const wd_spiffe *mine;
    const wd_endpoint *expect; /* whom we meant to reach */
} wd_host_case;

/* The chain and the times are the engine's to judge; here stands what it does not know.
 * Errors: PERMISSION_DENIED / HOST_NOT_ADOPTED: the failing fact, what was expected and
 *         seen, the opt-in. */
WD_MUST_USE wd_status wd_host_judge(const wd_host_case *c, const wd_identity *gate,
                                    wd_error *err);

#endif
