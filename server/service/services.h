/* services.h - the methods that Warded itself serves.
 *
 * Threads: add: before the gate listens; planners: the call's owner. */
#ifndef WD_SERVER_SERVICE_SERVICES_H
#define WD_SERVER_SERVICE_SERVICES_H

#include "server/parts.h"

/* Enter them all into gate->registry.
 * Errors: those of wd_registry_add */
WD_MUST_USE wd_status wd_services_add(wd_gate *gate, wd_error *err);

/* One each, in files of their names. */
WD_MUST_USE wd_status wd_service_health_add(wd_registry *registry, wd_error *err);
WD_MUST_USE wd_status wd_service_token_add(wd_registry *registry, wd_error *err);
WD_MUST_USE wd_status wd_service_trail_add(wd_registry *registry, wd_error *err);
WD_MUST_USE wd_status wd_service_observation_add(wd_registry *registry, wd_error *err);

#endif
