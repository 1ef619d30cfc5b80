/* gate_boot.h - a gate's parts: made in order, each refusal with its cure; and undone.
 *
 * Threads: the gate's main thread. */
#ifndef WD_SERVER_GATE_BOOT_H
#define WD_SERVER_GATE_BOOT_H

#include "server/listener.h"
#include "server/parts.h"

typedef struct wd_gate_hooks {
    void (*changed)(void *arg); /* the main thread has something to do */
    void (*vanished)(void *arg, uint32_t pipe); /* a connection is gone */
    void *arg;
} wd_gate_hooks;

/* Everything up to the listener, which takes nothing yet: credentials, store, what a
 * crash left open, threads, methods. On failure wd_gate_unboot frees what was made.
 * Errors: NOT_FOUND, PERMISSION_DENIED  credentials are missing, or others can read them
 *         those of wd_store_open, wd_listener_open */
WD_MUST_USE wd_status wd_gate_boot(wd_gate *gate, const wd_gate_hooks *hooks,
                                   wd_error *err);

/* Credentials as the configuration says now; the caller's reference.
 * Errors: as wd_tls_credentials_load and wd_tls_credentials_check */
WD_MUST_USE wd_status wd_gate_load_credentials(const wd_config *config,
                                               wd_tls_credentials **ret, wd_error *err);

/* The 32 bytes of state/gate/digest.key.
 * Errors: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT each with its cure */
WD_MUST_USE wd_status wd_gate_load_digest_key(const wd_config *config, uint8_t *ret_key,
                                              wd_error *err);

/* The limits that may change while the gate runs, as `config` says. */
void wd_gate_set_limits(wd_gate *gate, const wd_config *config);

/* Undo; also of a gate that was half made. Every call must have ended. */
void wd_gate_unboot(wd_gate *gate);

#endif
