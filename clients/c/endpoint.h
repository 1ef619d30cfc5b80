/* endpoint.h - how `server` lines and certificates name a gate's address.
 *
 * Threads: any; pure.  Owns: nothing.  Source: docs/protocol.md section 1. */
#ifndef WD_CLIENT_ENDPOINT_H
#define WD_CLIENT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/status.h"

#define WD_HOST_BYTES          256U
#define WD_ENDPOINT_TEXT_BYTES (WD_HOST_BYTES + 10U) /* "[host]:65535" */
#define WD_ENDPOINT_PORT       7443U                 /* where none is named */
#define WD_SERVERS_COUNT       64U                   /* lines of a server file */
#define WD_ASSERTED_COUNT      8U /* endpoints that a certificate names */

typedef struct wd_endpoint {
    char host[WD_HOST_BYTES]; /* in its one normal form: lower case, no last dot */
    uint16_t port;            /* 0: any */
} wd_endpoint;

/* One line of a `server` file: where to dial, whom to expect. */
typedef struct wd_server {
    wd_endpoint dial, expect;
} wd_server;

typedef struct wd_servers {
    wd_server server[WD_SERVERS_COUNT];
    size_t n; /* at least 1 */
} wd_servers;

/* "[tls+tcp://]HOST[:PORT]" of `size` bytes; port 0 when it names none.
 * Errors: INVALID_ARGUMENT, in words. */
WD_MUST_USE wd_status wd_endpoint_parse(const char *text, size_t size, wd_endpoint *ret,
                                        wd_error *err);

/* A `server` file: `ENDPOINT`, or `ADDRESS as ENDPOINT`, one a line; '#' begins a comment.
 * Errors: INVALID_ARGUMENT with the number of the line. */
WD_MUST_USE wd_status wd_servers_parse(const char *text, wd_servers *ret,
                                       wd_error *err);

/* Whether the endpoint fact (up to 8 `host[:port]`, one space between) covers `endpoint`.
 * Errors: INVALID_ARGUMENT it is not of that form. */
WD_MUST_USE wd_status wd_endpoint_asserted(const char *fact,
                                           const wd_endpoint *endpoint, bool *ret,
                                           wd_error *err);

void wd_endpoint_format(const wd_endpoint *endpoint,
                        char ret_text[WD_ENDPOINT_TEXT_BYTES]);

#endif
