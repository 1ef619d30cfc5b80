/* Stage "audit": the decision is durable before anything happens.
 *
 * A refused call leaves one row. A call that may run leaves a call.begin row per pair,
 * all in one commit; only when that has succeeded is the service reached. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/stages.h"

static wd_status apply_refusal(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_call *call = WD_CONTAINER(job, wd_call, job);
    wd_row_text text;
    wd_audit_row row;

    wd_rows_refusal(call, &text, &row);
    return wd_audit_append(store, &row, err);
}

static wd_status apply_begin(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_call *call = WD_CONTAINER(job, wd_call, job);
    wd_row_text text;
    wd_audit_row row;

    wd_rows_base(call, &text, &row);
    row.event = call->route->event != NULL ? call->route->event : "call.begin";
    for (size_t i = 0; i < call->n_pairs; i++) {
        wd_rows_pair(&call->pairs[i], &row);
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

static wd_pool *next_pool(const wd_call *call)
{
    if (call->error.status != WD_OK)
        return call->gate->reply_pool;
    return call->route->where == WD_RUN_READER ? call->gate->reader_pool
                                               : call->gate->service_pool;
}

/* On the writer's thread: give the call on, nothing else. */
static void written(wd_store_job *job)
{
    wd_call *call = WD_CONTAINER(job, wd_call, job);

    if (job->status != WD_OK) {
        wd_call_resume_at(call->gate->reply_pool, call, WD_FAILED, &job->error);
        return;
    }
    if (call->error.status == WD_OK)
        call->begun = true;
    wd_call_resume_at(next_pool(call), call, WD_NEXT, NULL);
}

static wd_step submit(wd_call *call)
{
    call->job.done = written;
    wd_writer_submit(call->gate->writer, &call->job);
    return WD_PARKED;
}

wd_step wd_audit_begin(wd_call *call, wd_error *err)
{
    (void)err;
    if (call->overflow) {
        wd_rejects_note(call->gate->rejects, &(wd_reject){
                                                 .event = "call.refused",
                                                 .address = call->peer->address,
                                                 .reason = "QUEUE_FULL",
                                                 .detail = call->peer->identity.uri,
                                             });
        return WD_NEXT;
    }
    if (call->error.status != WD_OK) {
        call->job.apply = apply_refusal;
        call->job.refusable = false;
        return submit(call);
    }
    if (!call->route->method->audited)
        return WD_NEXT;
    call->job.apply = apply_begin;
    call->job.refusable = call->route->method->mutates && !call->route->goes_on;
    return submit(call);
}
