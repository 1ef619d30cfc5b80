/* names.h - how a peer's certificate travels from the engine to the pipe's owner.
 *
 * NNG offers one string and one list of strings. Ours are: the URI, "sha256:<hex>",
 * "serial:<hex>", "der:<base64>" (wd_tls_pipe_identity reads it), "account:<number>".
 *
 * Private to proto/tls.  Threads: NNG's lock of the connection is held. */
#ifndef WD_NAMES_H
#define WD_NAMES_H

#include "proto/tls/conn.h"

/* malloc'd for the caller; NULL: none. */
char *wd_conn_peer_cn(nng_tls_engine_conn *c);
char **wd_conn_peer_alt_names(nng_tls_engine_conn *c);

#endif
