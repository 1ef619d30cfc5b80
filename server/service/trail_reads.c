#include "server/service/trail_reads.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/request_text.h"

typedef struct read_job {
    wd_store_job job; /* first */
    const wd_call *call;
    const char *event;
    const char *detail;
} read_job;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const read_job *r = (const read_job *)job;
    wd_row_text text;
    wd_audit_row row;

    wd_rows_base(r->call, &text, &row);
    row.event = r->event;
    row.outcome = "ok";
    row.bytes_in = 0; /* told by call.begin */
    row.detail = r->detail;
    return wd_audit_append(store, &row, err);
}

/* `opening`: what the detail begins with. */
static wd_status note(wd_call *call, const char *event, const char *opening,
                      wd_error *err)
{
    const wd_secret_names names = {call->gate->config->audit.redact.items,
                                   call->gate->config->audit.redact.n_items};
    const char *detail =
        wd_request_text(opening, call->message, WD_REQUEST_WHOLE, &names, call->budget);

    if (detail == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    read_job r = {.job = {.apply = apply, .rank = WD_JOB_MAY},
                  .call = call,
                  .event = event,
                  .detail = detail};
    return wd_store_change(call->gate->store, call->gate->writer, &r.job, err);
}

#define READ "{\"rows\":%" PRIu64 ",\"first_seq\":%" PRIu64 ",\"last_seq\":%" PRIu64 ","

wd_status wd_trail_read_note(wd_call *call, const wd_trail_read *read, wd_error *err)
{
    char opening[128];

    (void)snprintf(opening, sizeof(opening), READ, read->rows, read->first_seq,
                   read->last_seq);
    return note(call, "audit.query", opening, err);
}

wd_status wd_trail_export_note(wd_call *call, const wd_trail_read *read,
                               const uint8_t digest[WD_SHA256_BYTES], wd_error *err)
{
    char hex[WD_SHA256_HEX_BYTES];
    char opening[224];

    wd_hex((wd_span){digest, WD_SHA256_BYTES}, hex);
    (void)snprintf(opening, sizeof(opening), READ "\"sha256\":\"%s\",", read->rows,
                   read->first_seq, read->last_seq, hex);
    return note(call, "audit.export", opening, err);
}
