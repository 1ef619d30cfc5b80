/* naming.h - the identities that `init` and `profile new` give out.
 *
 *     gate    spiffe://DOMAIN/ns/NS/owner/OWNER/gate/ID
 *     client  spiffe://DOMAIN/ns/NS/owner/OWNER/client/NAME
 *
 * Threads: any.  Owns: nothing.  Source: docs/security.md, "Identity". */
#ifndef WD_SERVER_NAMING_H
#define WD_SERVER_NAMING_H

#include "proto/c/limits.h"
#include "proto/c/status.h"
#include "proto/tls/spiffe.h"
#include "server/config.h"

#define WD_CA_VALID_MS     (10LL * 365 * 24 * 3600 * 1000)
#define WD_GATE_VALID_MS   (365LL * 24 * 3600 * 1000)
#define WD_CLIENT_VALID_MS (90LL * 24 * 3600 * 1000)
/* Certificates begin so long ago: a peer whose clock is an hour behind takes them. */
#define WD_NOT_BEFORE_MS   (65LL * 60 * 1000)
#define WD_ENDPOINTS_BYTES 512

/* Write the id of `parts` into `out` of WD_URI_BYTES + 1 and check it.
 * Errors: INVALID_ARGUMENT names the part and what is allowed */
WD_MUST_USE wd_status wd_uri_make(const wd_spiffe *parts, char *out, wd_error *err);

/* A segment out of any text: lower case, others as '-'; "unnamed" when nothing is left. */
void wd_segment_make(const char *text, char out[WD_SPIFFE_SEGMENT_BYTES]);

/* Name of the account that runs us; false: it has none. */
bool wd_account_name(char *out, size_t size);

/* Segments of the account that runs us (through sudo: that asked) and of this host. */
void wd_segment_of_user(char out[WD_SPIFFE_SEGMENT_BYTES]);
void wd_segment_of_host(char out[WD_SPIFFE_SEGMENT_BYTES]);

/* Fact .6 of a gate that listens at config->listen: hosts without ports, so that any
 * port matches; the loopback names, and the address itself. */
void wd_endpoints_make(const wd_config *config, char out[WD_ENDPOINTS_BYTES]);

/* What a client dials, "127.0.0.1:7443". With port 0 it is what the running gate wrote
 * to run/address; false: it does not run. */
bool wd_address_of(const wd_config *config, char *out, size_t size);

/* What an admin token holds when nothing else is said: it issues and revokes the tokens
 * of trainers, so it holds what they may, and it reads the record. It can't prune that. */
#define WD_ADMIN_SCOPES 5
extern const char *const wd_admin_scopes[WD_ADMIN_SCOPES];

#endif
