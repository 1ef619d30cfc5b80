/* gate_reload.h - SIGHUP: what of the configuration a running gate takes anew.
 *
 *     identity.*                        certificates and the deny-list
 *     limits.in_flight                  up to the value of the gate's start
 *     limits.connections_per_principal
 *     limits.queue
 *
 * All of it or nothing: where the file, a certificate or a value is refused, everything
 * stays as it was. Other settings wait for the next start.
 *
 * Threads: the gate's main thread.
 * Source:  docs/operations.md, "Reload". */
#ifndef WD_SERVER_GATE_RELOAD_H
#define WD_SERVER_GATE_RELOAD_H

#include "server/parts.h"

/* Read the configuration again and take it; what came of it is logged, and audited as
 * config.reload, ok or failed with its cause. */
void wd_gate_reload(wd_gate *gate);

#endif
