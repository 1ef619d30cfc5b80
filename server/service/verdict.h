/* verdict.h - what an item's end means: one table from causes to statuses.
 *
 * Threads: any; pure.  Source: proto/warded/v1/observation.proto, Result.Status. */
#ifndef WD_SERVER_SERVICE_VERDICT_H
#define WD_SERVER_SERVICE_VERDICT_H

#include "proto/c/status.h"
#include "server/executor_link.h"
#include "warded/v1/observation.pb-c.h"

typedef struct wd_verdict {
    Warded__V1__Result__Status status;
    wd_reason reason;
} wd_verdict;

/* Of a job that has ended. */
wd_verdict wd_verdict_of(wd_job_end end, const Warded__Exec__V1__Done *done);

/* "ok", "refused" or "failed", for the record. */
const char *wd_verdict_outcome(Warded__V1__Result__Status status);

/* gRPC's number of it, for the record; a tool that failed is WD_OK: the call did what it
 * was asked. */
wd_status wd_verdict_code(wd_verdict verdict);

/* "TOOL_ERROR"; static. */
const char *wd_verdict_name(Warded__V1__Result__Status status);

/* Whether the result carries content: INFRA and BUSY never do. */
bool wd_verdict_has_content(Warded__V1__Result__Status status);

#endif
