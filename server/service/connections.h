/* connections.h - Health.Connections: who is connected now.
 *
 * Threads: the reader's. */
#ifndef WD_SERVER_SERVICE_CONNECTIONS_H
#define WD_SERVER_SERVICE_CONNECTIONS_H

#include "server/call.h"
#include "warded/v1/health.pb-c.h"

/* Errors: INVALID_ARGUMENT   FIELD_INVALID: limit, peer or expires_before_ms
 *         RESOURCE_EXHAUSTED CAPACITY: no memory */
wd_step wd_health_connections(void *self, wd_call *call,
                              const Warded__V1__ConnectionsRequest *request,
                              wd_error *err);

#endif
