#include "server/call.h"

#include <stdlib.h>

#include "server/dedupe.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/spend.h"

void wd_call_free(wd_call *call)
{
    if (call == NULL)
        return;
    wd_dedupe_release(call);
    wd_kept_unref(call->kept);
    wd_answer_unref(call->answer);
    wd_spend_release(call);
    wd_inflight_remove(call->gate->inflight, &call->live);
    if (call->work_free != NULL)
        call->work_free(call->work);
    wd_buffer_wipe(&call->payload); /* a new token may be in it */
    wd_token_unref(call->token);
    wd_budget_free(call->budget);
    wd_request_free(call->request);
    free(call);
}

int64_t wd_call_left_ms(const wd_call *call)
{
    int64_t now = wd_clock_mono_ms(call->gate->clock);
    return call->deadline_ms > now ? call->deadline_ms - now : 0;
}

static void resume(wd_task *task)
{
    wd_call *call = WD_CONTAINER(task, wd_call, task);
    wd_error err = call->job.error; /* the next stage uses the job again */

    wd_pipeline_resume(call, call->resumed, &err);
}

void wd_call_resume_at(wd_pool *pool, wd_call *call, wd_step step, const wd_error *err)
{
    call->resumed = step;
    if (step != WD_NEXT && err != &call->job.error)
        call->job.error = err != NULL ? *err : (wd_error){.status = WD_OK};
    call->task.run = resume;
    wd_pool_post(pool, &call->task);
}
