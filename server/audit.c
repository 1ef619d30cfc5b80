/* Stage "audit": the decision is durable before anything happens.
 *
 * A refused call leaves one row, or is counted in one (server/rejects.h). A call that may
 * run leaves a call.begin row per pair, all in one commit; only when that has succeeded is
 * the service reached. The one exception takes rights back: see goes_on below. */
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
    row.outcome = call->route->event != NULL ? "ok" : NULL; /* it is the only row */
    for (size_t i = 0; i < call->n_pairs; i++) {
        wd_rows_pair(&call->pairs[i], &row);
        row.detail = call->pairs[i].request;
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

static wd_reject reject_of(const wd_call *call)
{
    const wd_error *error = &call->error;

    return (wd_reject){
        .event = wd_rows_refusal_event(error),
        .address = call->peer->address,
        .reason = wd_reason_name(error->reason),
        .detail = error->msg,
        .principal = wd_principal_uri(call->peer->principal),
        .token_id = call->token != NULL ? call->token->id : NULL,
        .code = error->status,
    };
}

/* On the writer's thread: give the call on, nothing else. A refusal that could not be
 * written is one all the same; it is counted. */
static void refusal_written(wd_store_job *job)
{
    wd_call *call = WD_CONTAINER(job, wd_call, job);

    if (job->status != WD_OK) {
        const wd_reject reject = reject_of(call);
        wd_rejects_note(call->gate->rejects, &reject);
    }
    wd_call_resume_at(call->gate->reply_pool, call, WD_NEXT, NULL);
}

static wd_pool *service_pool(const wd_call *call)
{
    return call->route->where == WD_RUN_READER ? call->gate->reader_pool
                                               : call->gate->service_pool;
}

/* On the writer's thread. What can't be put on record does not run, but for what only
 * takes rights back: a full disk must not keep a stolen token alive. It answers DATA_LOSS
 * unless its own rows can be written. */
static void begin_written(wd_store_job *job)
{
    wd_call *call = WD_CONTAINER(job, wd_call, job);

    if (job->status != WD_OK && !call->route->goes_on) {
        wd_call_resume_at(call->gate->reply_pool, call, WD_FAILED, &job->error);
        return;
    }
    call->begun = job->status == WD_OK;
    wd_call_resume_at(service_pool(call), call, WD_NEXT, NULL);
}

static wd_step submit(wd_call *call)
{
    wd_writer_submit(call->gate->writer, &call->job);
    return WD_PARKED;
}

static wd_step refuse(wd_call *call)
{
    const wd_reject reject = reject_of(call);

    if (!wd_rejects_first(call->gate->rejects, &reject))
        return WD_NEXT;
    call->job.apply = apply_refusal;
    call->job.done = refusal_written;
    call->job.rank = WD_JOB_IF_ROOM;
    return submit(call);
}

static wd_job_rank rank_of(const wd_route *route)
{
    if (route->goes_on)
        return WD_JOB_MUST;
    return route->method->mutates ? WD_JOB_IF_ROOM : WD_JOB_MAY;
}

wd_step wd_audit_begin(wd_call *call, wd_error *err)
{
    (void)err;
    if (call->room == WD_ROOM_LAST) { /* no row of its own: no time to wait for it */
        const wd_reject reject = reject_of(call);
        wd_rejects_note(call->gate->rejects, &reject);
        return WD_NEXT;
    }
    if (call->error.status != WD_OK)
        return refuse(call);
    if (!call->route->method->audited)
        return WD_NEXT;
    call->job.apply = apply_begin;
    call->job.done = begin_written;
    call->job.rank = rank_of(call->route);
    return submit(call);
}
