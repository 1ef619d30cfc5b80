/* profile.h - a client's folder of credentials, made whole or not at all.
 *
 *     server    ENDPOINT, a line each; absent when the address is not known yet
 *     ca.pem    whom the client believes
 *     cert.pem  key.pem   its certificate and key
 *     token     the secret, 64 characters
 *     policy    gate <the gate's uri>: the one host it adopts
 *
 * Threads: one.  Owns: nothing.  Source: docs/security.md, "Profiles". */
#ifndef WD_SERVER_PROFILE_H
#define WD_SERVER_PROFILE_H

#include "proto/tls/issue.h"
#include "server/config.h"
#include "server/files.h"
#include "store/tokens.h"

/* Whom to make one for. All borrowed. */
typedef struct wd_profile_spec {
    const char *dir;    /* must not exist; its parent must */
    const char *name;   /* of the client and of its token */
    const char *owner;  /* segment; NULL: the gate's owner */
    wd_token_kind kind; /* WD_TOKEN_DATA or WD_TOKEN_ADMIN */
    const char *const *scopes;
    size_t n_scopes;
    int64_t ttl_ms; /* of the token */
    wd_owner files; /* whose the folder is */
} wd_profile_spec;

/* What was made, to be told; holds no secret. */
typedef struct wd_profile_made {
    char uri[WD_URI_BYTES + 1];
    char token_id[WD_TOKEN_ID_CHARS + 1];
    int64_t token_expires_ms;
    bool has_server;
} wd_profile_made;

/* Issue a certificate by `ca` and a token in the store (which must not be held by a
 * gate), and write the folder. The token's row says principal "local:<uid>".
 * Errors: FAILED_PRECONDITION CONFLICT: the folder exists, or a gate holds the store
 *         INVALID_ARGUMENT    name, owner or a scope
 *         others              as wd_store_open, wd_ca_issue */
WD_MUST_USE wd_status wd_profile_make(const wd_config *config, const wd_ca *ca,
                                      const wd_profile_spec *spec,
                                      wd_profile_made *ret_made, wd_error *err);

#endif
