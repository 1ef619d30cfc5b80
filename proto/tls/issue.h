/* issue.h - making the CA and the certificates of gates and clients.
 *
 * All keys are P-256, all signatures ECDSA with SHA-256, serials 16 random bytes.
 *
 * Threads: any, one thread per object.
 * Owns:    a wd_ca holds its key in memory and wipes it.
 * Source:  RFC 5280; docs/security.md for names and facts. */
#ifndef WD_TLS_ISSUE_H
#define WD_TLS_ISSUE_H

#include <stdint.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"
#include "proto/tls/identity.h"

/* Files of a CA's folder. */
#define WD_CA_CERT_FILE "ca.pem"
#define WD_CA_KEY_FILE  "ca.key"

typedef struct wd_ca wd_ca;

/* A PEM pair in memory; wd_pem_pair_done wipes and frees it. */
typedef struct wd_pem_pair {
    char *cert, *key;
} wd_pem_pair;
void wd_pem_pair_done(wd_pem_pair *pair);

/* Borrowed for the call. */
typedef struct wd_leaf_spec {
    const char *uri; /* its SPIFFE id; gate or client decides usage */
    int64_t not_before_ms, not_after_ms; /* wall clock */
    const char *const *dns;              /* gates only; n_dns names */
    size_t n_dns;
    const char *const *ips; /* gates only; n_ips addresses as text */
    size_t n_ips;
    const char *fact[WD_FACT_COUNT + 1]; /* by wd_fact; NULL: absent */
} wd_leaf_spec;

/* A new CA in memory: `name` is its common name (1 to 64 characters).
 * Errors: INVALID_ARGUMENT, INTERNAL (no randomness). */
WD_MUST_USE wd_status wd_ca_new(const char *name, int64_t not_before_ms,
                                int64_t not_after_ms, wd_ca **ret, wd_error *err);
void wd_ca_free(wd_ca *ca);
WD_DEFINE_AUTO(wd_ca, wd_ca_free)

/* Write ca.pem (0644) and ca.key (0600) into the folder `dir`, which exists.
 * Errors: FAILED_PRECONDITION when either is already there (nothing is then changed),
 *         NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk). */
WD_MUST_USE wd_status wd_ca_save(const wd_ca *ca, const char *dir, wd_error *err);

/* wd_ca_new and wd_ca_save in one. `valid_ms` from five minutes before now. */
WD_MUST_USE wd_status wd_ca_create(const char *dir, const char *name, int64_t valid_ms,
                                   wd_error *err);

/* Errors: as wd_tls_credentials_load. */
WD_MUST_USE wd_status wd_ca_load(const char *dir, wd_ca **ret, wd_error *err);

/* The CA's certificate; lives as long as the CA. */
const char *wd_ca_pem(const wd_ca *ca);

/* A fresh key and its certificate.
 * Errors: INVALID_ARGUMENT naming the field of the spec. */
WD_MUST_USE wd_status wd_ca_issue(const wd_ca *ca, const wd_leaf_spec *spec,
                                  wd_pem_pair *ret, wd_error *err);

#endif
