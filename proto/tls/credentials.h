/* credentials.h - what one end proves itself with, and whom it believes.
 *
 * Credentials are immutable and counted: a connection keeps the ones it began with, so
 * that a reload never touches it. Loading checks that key and certificate belong
 * together, that the identity can be read, and that nobody else can read the key.
 *
 * Threads: any, after loading.
 * Owns:    its copies; wipes the key when the last holder lets go.
 * Source:  docs/security.md. */
#ifndef WD_TLS_CREDENTIALS_H
#define WD_TLS_CREDENTIALS_H

#include "proto/c/cleanup.h"
#include "proto/tls/deny.h"
#include "proto/tls/identity.h"

typedef struct wd_tls_credentials wd_tls_credentials;

/* Paths are borrowed for the call. */
typedef struct wd_tls_files {
    const char *ca;        /* PEM, one or more */
    const char *cert;      /* PEM, the leaf first */
    const char *key;       /* PEM; unreadable for others, see below */
    const char *deny_list; /* deny.h; NULL: none */
    bool tls12;            /* allow TLS 1.2 as well as 1.3 */
    /* How a refusal of what is in them ends; NULL: it does not say what to do. */
    const char *cure_ca, *cure_cert, *cure_pair;
} wd_tls_files;

/* The same from memory; each text ends in a NUL. */
typedef struct wd_tls_pem {
    const char *ca, *cert, *key;
    const char *deny_list; /* text, NULL: none */
    bool tls12;
    const wd_tls_files *names; /* what refusals call them; NULL: "the key" and so on */
} wd_tls_pem;

/* One reference is the caller's.
 * Errors: NOT_FOUND a file is missing (the message names it and `warded init`),
 *         PERMISSION_DENIED the key can be read by others (group: only when root owns
 *         it), INVALID_ARGUMENT no PEM (the message names the file), key and certificate
 *         differ, no identity. */
WD_MUST_USE wd_status wd_tls_credentials_load(const wd_tls_files *files,
                                              wd_tls_credentials **ret, wd_error *err);
WD_MUST_USE wd_status wd_tls_credentials_make(const wd_tls_pem *pem,
                                              wd_tls_credentials **ret, wd_error *err);

/* Would a peer believe these? Chain to their own CA, times, usage, for a server that
 * the name is a gate's.
 * Errors: FAILED_PRECONDITION with the cause in words and its cure. */
WD_MUST_USE wd_status wd_tls_credentials_check(const wd_tls_credentials *credentials,
                                               bool server, wd_error *err);

/* One more holder; returns its argument. */
wd_tls_credentials *wd_tls_credentials_ref(wd_tls_credentials *credentials);

/* Let go of one reference; NULL is fine. */
void wd_tls_credentials_free(wd_tls_credentials *credentials);
WD_DEFINE_AUTO(wd_tls_credentials, wd_tls_credentials_free)

/* Whose they are. Lives as long as the credentials. */
const wd_identity *wd_tls_credentials_identity(const wd_tls_credentials *credentials);

/* Is this peer on the deny list? */
bool wd_tls_credentials_deny(const wd_tls_credentials *credentials,
                             const wd_identity *peer);

/* Errors: PERMISSION_DENIED when a secret's mode lets others at it, NOT_FOUND when it is
 * not there. For every file that holds a secret (keys, tokens). */
WD_MUST_USE wd_status wd_secret_file_check(const char *path, wd_error *err);

#endif
