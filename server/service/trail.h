/* trail.h - handlers of Audit that are in files of their own; trail.c registers them.
 *
 * Threads: a reader's each.
 * Source:  proto/warded/v1/audit.proto says what each answers. */
#ifndef WD_SERVER_SERVICE_TRAIL_H
#define WD_SERVER_SERVICE_TRAIL_H

#include "proto/c/rule.h"
#include "server/call.h"
#include "warded/v1/audit.pb-c.h"

wd_step wd_trail_show(void *self, wd_call *call,
                      const Warded__V1__AuditShowRequest *request, wd_error *err);
wd_step wd_trail_verify(void *self, wd_call *call,
                        const Warded__V1__VerifyRequest *request, wd_error *err);
wd_step wd_trail_checkpoint(void *self, wd_call *call,
                            const Warded__V1__CheckpointRequest *request,
                            wd_error *err);
wd_step wd_trail_stats(void *self, wd_call *call,
                       const Warded__V1__StatsRequest *request, wd_error *err);

wd_step wd_trail_export(void *self, wd_call *call,
                        const Warded__V1__ExportRequest *request, wd_error *err);

wd_step wd_trail_tail(void *self, wd_call *call, const Warded__V1__TailRequest *request,
                      wd_error *err);

wd_step wd_trail_prune(void *self, wd_call *call,
                       const Warded__V1__PruneRequest *request, wd_error *err);

/* What a filter asks for (NULL: nothing), where it can be asked for.
 * Errors: INVALID_ARGUMENT FIELD_INVALID, UNIMPLEMENTED NOT_BUILT */
WD_MUST_USE wd_status wd_trail_check_filter(const Warded__V1__AuditFilter *asked,
                                            wd_error *err);

/* How a handler ends that has read the store: its own failures get their reasons. */
wd_step wd_trail_step(wd_status status, wd_error *err);

/* A reader of the gate's store that ends with the call.
 * Errors: UNAVAILABLE STORE_UNAVAILABLE, and those of reading */
WD_MUST_USE wd_status wd_trail_reader(const wd_call *call, wd_reader **ret_reader,
                                      wd_error *err);

#endif
