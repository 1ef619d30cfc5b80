/* Stage "outcome": what happened is durable before anyone is told. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/stages.h"

/* How one pair ended: as its service said, or as the whole call. */
static void end_pair(const wd_call *call, const wd_pair *pair, wd_audit_row *row)
{
    wd_status status = pair->known ? pair->status : call->error.status;
    wd_reason reason = pair->known ? pair->reason : call->error.reason;

    wd_rows_pair(pair, row);
    row->outcome = pair->known ? pair->outcome : wd_rows_outcome(status);
    row->code = (uint32_t)status;
    row->reason = reason != WD_REASON_NONE ? wd_reason_name(reason) : NULL;
    row->duration_us = pair->duration_us;
    row->bytes_out = pair->known ? pair->bytes_out : call->payload.size;
}

/* {"message":...} of a call that failed, {"result":"TOOL_ERROR"} of an item. */
static void end_detail(const wd_call *call, const wd_pair *pair, wd_row_text *text,
                       wd_audit_row *row)
{
    row->detail = NULL;
    if (pair->known && pair->result != NULL)
        wd_rows_detail(text->detail, sizeof(text->detail), "result", pair->result);
    else if (call->error.status != WD_OK)
        wd_rows_detail(text->detail, sizeof(text->detail), "message", call->error.msg);
    else
        return;
    row->detail = text->detail;
}

static wd_status apply_end(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_call *call = WD_CONTAINER(job, wd_call, job);
    int64_t took_ns = wd_clock_mono_ns(call->gate->clock) - call->received_ns;
    wd_row_text text;
    wd_audit_row row;

    wd_rows_base(call, &text, &row);
    row.event = call->route->event != NULL ? call->route->event : "call.end";
    row.bytes_in = 0; /* told by call.begin */
    for (size_t i = 0; i < call->n_pairs; i++) {
        end_pair(call, &call->pairs[i], &row);
        end_detail(call, &call->pairs[i], &text, &row);
        if (!call->pairs[i].known)
            row.duration_us = (uint64_t)took_ns / 1000;
        WD_TRY(wd_audit_append(store, &row, err));
    }
    return WD_OK;
}

/* On the writer's thread. A failure here takes the payload with it. */
static void written(wd_store_job *job)
{
    wd_call *call = WD_CONTAINER(job, wd_call, job);
    wd_error err = {.status = WD_OK};

    if (job->status == WD_OK) {
        wd_call_resume_at(call->gate->reply_pool, call, WD_NEXT, NULL);
        return;
    }
    (void)wd_refuse(&err, WD_REASON_OUTCOME_UNRECORDED,
                    "the call has run, but its outcome could not be recorded: %s",
                    job->error.msg);
    wd_call_resume_at(call->gate->reply_pool, call, WD_FAILED, &err);
}

/* A method of one row (CANCEL) said "ok" there; a second row takes that back. */
static bool is_told(const wd_call *call)
{
    return call->route->event != NULL && call->error.status == WD_OK;
}

wd_step wd_outcome_write(wd_call *call, wd_error *err)
{
    (void)err;
    if (!call->begun || is_told(call))
        return WD_NEXT;
    call->job.apply = apply_end;
    call->job.rank = WD_JOB_MUST;
    call->job.done = written;
    wd_writer_submit(call->gate->writer, &call->job);
    return WD_PARKED;
}
