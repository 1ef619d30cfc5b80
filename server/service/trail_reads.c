#include "server/service/trail_reads.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/request_text.h"

typedef struct read_job {
    wd_store_job job; /* first */
    const wd_call *call;
    const char *detail;
} read_job;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const read_job *r = (const read_job *)job;
    wd_row_text text;
    wd_audit_row row;

    wd_rows_base(r->call, &text, &row);
    row.event = "audit.query";
    row.outcome = "ok";
    row.bytes_in = 0; /* told by call.begin */
    row.detail = r->detail;
    return wd_audit_append(store, &row, err);
}

wd_status wd_trail_read_note(wd_call *call, const wd_trail_read *read, wd_error *err)
{
    const wd_secret_names names = {call->gate->config->audit.redact.items,
                                   call->gate->config->audit.redact.n_items};
    char opening[128];

    (void)snprintf(opening, sizeof(opening),
                   "{\"rows\":%" PRIu64 ",\"first_seq\":%" PRIu64
                   ",\"last_seq\":%" PRIu64 ",",
                   read->rows, read->first_seq, read->last_seq);
    const char *detail =
        wd_request_text(opening, call->message, WD_REQUEST_WHOLE, &names, call->budget);
    if (detail == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    read_job r = {
        .job = {.apply = apply, .rank = WD_JOB_MAY}, .call = call, .detail = detail};
    return wd_store_change(call->gate->store, call->gate->writer, &r.job, err);
}
