/* Stage "spend": a call takes a use, a part of the rate and a place from its token. What is
 * counted on disk is written before the call goes on: it waits for the store's writer. */
#include "server/spend.h"

#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/stages.h"
#include "store/token_spend.h"

static wd_step take(wd_call *call, wd_error *err);

/* --- on the writer's thread ------------------------------------------------------------ */

static wd_status apply_reserve(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_call *call = WD_CONTAINER(job, wd_call, job);
    const wd_audit_row by = wd_rows_by(call);

    return wd_tokens_reserve(store, call->token->id, &by, err);
}

/* Another call may have been the first. */
static wd_status apply_first_use(wd_store *store, wd_store_job *job, wd_error *err)
{
    const wd_call *call = WD_CONTAINER(job, wd_call, job);
    const wd_audit_row by = wd_rows_by(call);
    wd_token_retirement retirement = {.id = call->token->id, .why = "first_use"};

    if (!wd_token_ends_overlap(call->token, wd_store_now_ms(store)))
        return WD_OK;
    return wd_tokens_retire(store, &retirement, &by, err);
}

/* --- and back -------------------------------------------------------------------------- */

static void go_on(wd_task *task)
{
    wd_call *call = WD_CONTAINER(task, wd_call, task);
    wd_error err = call->job.error;
    wd_step step = WD_FAILED;

    if (call->waits_for_uses)
        wd_token_wait_end(call->token);
    call->waits_for_uses = false;
    if (call->job.status == WD_OK || err.reason == WD_REASON_CONFLICT)
        step = take(call, &err);
    if (step != WD_PARKED)
        wd_pipeline_resume(call, step, &err);
}

static void written(wd_store_job *job)
{
    wd_call *call = WD_CONTAINER(job, wd_call, job);

    call->task.run = go_on;
    wd_pool_post(call->gate->service_pool, &call->task);
}

static wd_step wait_for(wd_call *call,
                        wd_status (*apply)(wd_store *, wd_store_job *, wd_error *))
{
    call->job.apply = apply;
    call->job.done = written;
    call->job.rank = WD_JOB_IF_ROOM;
    wd_writer_submit(call->gate->writer, &call->job);
    return WD_PARKED;
}

static wd_step take(wd_call *call, wd_error *err)
{
    bool wait = false;

    if (wd_token_ends_overlap(call->token, wd_store_now_ms(call->gate->store)))
        return wait_for(call, apply_first_use);
    if (wd_token_use(call->token, &wait, err) != WD_OK)
        return WD_FAILED;
    if (!wait)
        return WD_NEXT;
    call->waits_for_uses = true;
    wd_token_wait(call->token);
    return wait_for(call, apply_reserve);
}

wd_step wd_spend_take(wd_call *call, wd_error *err)
{
    if (call->request->kind != WD_REQUEST_CALL || call->token->wraps != 0)
        return WD_NEXT; /* to unwrap is not to use what is inside */
    if (wd_token_enter(call->token, wd_clock_mono_ns(call->gate->clock), err) != WD_OK)
        return WD_FAILED;
    call->entered = true;
    return wd_token_is_counted(call->token) ? take(call, err) : WD_NEXT;
}

void wd_spend_release(wd_call *call)
{
    if (call->entered)
        wd_token_leave(call->token);
    call->entered = false;
}
