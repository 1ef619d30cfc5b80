/* profile.h - who this client is and which gates it trusts, read from files, watched.
 *
 *     server    `ENDPOINT`, or `ADDRESS as ENDPOINT`; a line each
 *     ca.pem    the CA that signed the gates
 *     cert.pem  this client's certificate      key.pem  its key (secret)
 *     token     the token (secret)             policy   which gates to trust (optional)
 *
 * Nothing is frozen: each file counts as it is when it is needed.
 *
 * Threads: any; the cache's lock is private.
 * Owns:    its cache; a wd_credentials is counted. */
#ifndef WD_CLIENT_PROFILE_H
#define WD_CLIENT_PROFILE_H

#include "clients/c/endpoint.h"
#include "clients/c/failure.h"
#include "clients/c/policy.h"
#include "proto/tls/credentials.h"
#include "store/token.h"

#define WD_TRUST_CHARS 9U /* first digits of a digest of ca.pem, with a NUL */

typedef struct wd_profile wd_profile;

/* What a new connection goes by, read in one go. Read-only. */
typedef struct wd_credentials {
    wd_tls_credentials *tls;
    wd_spiffe mine;
    wd_policy policy;
    wd_servers servers;
    char trust[WD_TRUST_CHARS]; /* which CA */
} wd_credentials;

/* Errors: phase PROFILE: the folder is not there, the `server` option is no endpoint. */
WD_MUST_USE wd_status wd_profile_open(const wd_channel_options *options,
                                      wd_profile **ret, wd_failure *why);
void wd_profile_free(wd_profile *profile);
WD_DEFINE_AUTO(wd_profile, wd_profile_free)

/* As the files are now, with a reference for the caller. A certificate and a key that do
 * not fit, as while they are being replaced, keep the last good ones for a minute.
 * Errors: phase PROFILE, naming file and cure. */
WD_MUST_USE wd_status wd_profile_credentials(wd_profile *profile,
                                             const wd_credentials **ret,
                                             wd_failure *why);
void wd_credentials_free(const wd_credentials *credentials); /* lets go; NULL is fine */

/* Whether a file that connections depend on is not what `credentials` read. */
bool wd_profile_changed(wd_profile *profile);

/* The token to send now; wipe it after use. A file that is empty or half written keeps
 * the last good one.
 * Errors: phase PROFILE (not there, readable by others); phase AUTH: TOKEN_MISSING,
 *         TOKEN_MALFORMED. */
WD_MUST_USE wd_status wd_profile_token(wd_profile *profile, wd_token_text *ret,
                                       wd_failure *why);

#endif
