#include "server/service/token_work.h"

#include "server/parts.h"
#include "server/pipeline.h"
#include "server/service_stage.h"
#include "store/scope.h"
#include "store/token_table.h"

#include <string.h>

static void free_work(void *arg)
{
    wd_token_work *work = arg;

    if (work->clear != NULL)
        work->clear(work);
    wd_token_issued_done(&work->issued);
    free(work);
}

void *wd_token_work_new(wd_call *call, size_t size, wd_error *err)
{
    wd_token_work *work = calloc(1, size);

    if (work == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return NULL;
    }
    work->call = call;
    wd_call_keep(call, work, free_work);
    return work;
}

static void answer(wd_task *task)
{
    wd_token_work *work = WD_CONTAINER(task, wd_token_work, task);
    wd_error err = work->job.error;
    wd_status status = work->job.status;

    if (status == WD_OK)
        status = work->reply(work, &err);
    else if (work->failed != NULL)
        status = work->failed(work, &err);
    wd_pipeline_resume(work->call, status == WD_OK ? WD_NEXT : WD_FAILED, &err);
}

/* On the writer's thread: the call goes back to the service threads. */
static void written(wd_store_job *job)
{
    wd_token_work *work = WD_CONTAINER(job, wd_token_work, job);
    wd_pool_post(work->call->gate->service_pool, &work->task);
}

wd_step wd_token_work_park(wd_token_work *work,
                           wd_status (*apply)(wd_store *, wd_store_job *, wd_error *),
                           wd_status (*reply)(wd_token_work *, wd_error *))
{
    work->job.apply = apply;
    work->job.done = written;
    work->reply = reply;
    work->task.run = answer;
    wd_writer_submit(work->call->gate->writer, &work->job);
    return WD_PARKED;
}

/* --- who may --------------------------------------------------------------------------- */

bool wd_token_is_own(const wd_call *call, const char *id)
{
    return id[0] == '\0' || strcmp(id, call->token->id) == 0;
}

wd_status wd_token_may(const wd_call *call, const char *id, const char *scope,
                       bool changes, wd_error *err)
{
    const wd_token *token = call->token;

    if (wd_scopes_cover(token->scopes, token->n_scopes, scope))
        return WD_OK;
    if (wd_token_is_own(call, id) && (!changes || token->kind == WD_TOKEN_DATA))
        return WD_OK;
    return wd_refuse(
        err, WD_REASON_SCOPE_MISSING,
        "token %s may do that to itself%s: for another it takes %s", token->id,
        token->kind == WD_TOKEN_DATA ? "" : " if it is a data token", scope);
}

wd_status wd_token_target(const wd_call *call, const char *id, wd_token **ret_token,
                          wd_error *err)
{
    const char *named = id[0] != '\0' ? id : call->token->id;

    if (!wd_token_id_valid(named))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "id is not the id of a token (10 characters)");
    WD_AUTO(wd_token) *token =
        wd_token_table_find(wd_store_tokens(call->gate->store), named);
    if (token == NULL)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "there is no token %.16s",
                         named);
    *ret_token = token;
    return WD_OK;
}

wd_status wd_token_end(const wd_token_life *life, int64_t *ret_end_ms, wd_error *err)
{
    int64_t end = life->now_ms + life->usual_ms;

    if (life->ttl_ms != 0 &&
        (life->ttl_ms < WD_TOKEN_TTL_MIN_MS || life->ttl_ms > WD_TOKEN_TTL_MAX_MS))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "ttl_ms is %llu, allowed are 1 s to 30 d",
                         (unsigned long long)life->ttl_ms);
    if (life->ttl_ms != 0)
        end = life->now_ms + (int64_t)life->ttl_ms;
    if (life->ttl_ms != 0 && end > life->until_ms)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "it would end at %lld ms, and no later end than %lld ms is "
                         "allowed to it: by its renewable_until_ms, or by the token "
                         "that it was issued with",
                         (long long)end, (long long)life->until_ms);
    *ret_end_ms = end < life->until_ms ? end : life->until_ms;
    return WD_OK;
}
