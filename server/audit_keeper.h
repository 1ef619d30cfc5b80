/* audit_keeper.h - what a gate does for its trail beside the calls: seals, signs, prunes.
 *
 * Threads: start and stop: main. check: any.
 * Owns:    the archive, the pruner, the checkpointer, and the credentials whose key
 *          signs: those of the start, also after a reload.
 * Source:  docs/audit.md. */
#ifndef WD_SERVER_AUDIT_KEEPER_H
#define WD_SERVER_AUDIT_KEEPER_H

#include "proto/tls/credentials.h"
#include "server/parts.h"
#include "store/checkpointer.h"
#include "store/pruner.h"

typedef struct wd_audit_keeper wd_audit_keeper;

/* After the writer was started; credentials: one more holder.
 * Errors: RESOURCE_EXHAUSTED, those of a reader */
WD_MUST_USE wd_status wd_audit_keeper_start(wd_gate *gate,
                                            wd_tls_credentials *credentials,
                                            wd_error *err);

/* Before the writer stops. NULL is fine. */
void wd_audit_keeper_stop(wd_audit_keeper *keeper);

/* What takes long of it (sealing, exports) ends soon, also when somebody waits for it. */
void wd_audit_keeper_hurry(wd_audit_keeper *keeper);

/* audit.retention of a reload: what is due by it goes with the next pass. */
void wd_audit_keeper_set_retention(wd_audit_keeper *keeper, const wd_config *config);

/* For Audit.Prune and Stats. */
wd_pruner *wd_audit_keeper_pruner(wd_audit_keeper *keeper);

/* For Audit.Checkpoint. */
wd_checkpointer *wd_audit_keeper_checkpointer(wd_audit_keeper *keeper);

/* Checks signatures with the certificate that the store has of their key, which the CA of
 * the start must have issued. The keeper's. */
wd_checker wd_audit_keeper_checker(const wd_audit_keeper *keeper);

#endif
