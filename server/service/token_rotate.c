/* Rotate, Retire and Unwrap: the generations of a family. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/service/token_owed.h"
#include "server/service/token_work.h"
#include "store/scope.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

#include <string.h>

typedef struct rotating {
    wd_token_work work; /* first */
    wd_token *old;      /* borrowed: the generation before, or the wrap */
    wd_token_rotation rotation;
    wd_token_retirement retirement;
    bool misused; /* the wrap had been opened before */
} rotating;

static int64_t now_of(const wd_call *call)
{
    return wd_store_now_ms(call->gate->store);
}

/* --- Rotate ---------------------------------------------------------------------------- */

wd_step wd_token_plan_rotate(wd_call *call, wd_error *err)
{
    const Warded__V1__RotateRequest *request = (const void *)call->message;

    if (wd_token_may(call, request->id, call->route->method->scope, true, err) != WD_OK)
        return WD_FAILED;
    return wd_call_plan_one(call, err);
}

/* Who rotates gets the secret: nobody gets more by it than they hold. */
static wd_status check_held(const wd_call *call, const wd_token *token, wd_error *err)
{
    const wd_token *own = call->token;
    const char *missing =
        wd_scopes_missing(own->scopes, own->n_scopes, token->scopes, token->n_scopes);

    if (missing == NULL)
        return WD_OK;
    return wd_refuse(err, WD_REASON_SCOPE_MISSING,
                     "scope \"%.128s\" of token %s is not covered by those of token %s",
                     missing, token->id, own->id);
}

static wd_status find_newest(const wd_call *call, const char *id, wd_token **ret_token,
                             wd_error *err)
{
    wd_token *named = NULL;
    WD_TRY(wd_token_target(call, id, &named, err));
    WD_AUTO(wd_token) *newest = wd_token_newest(named);

    if (newest == NULL)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "wrap %s was not opened yet: there is nothing to rotate",
                         named->id);
    if (wd_token_is_own(call, id) && named != newest)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "token %s was rotated: the newest generation is the one to "
                         "rotate",
                         named->id);
    *ret_token = newest;
    return check_held(call, newest, err);
}

/* By the operator a family may live for as long again; by itself it may not. */
static int64_t renewable_until(const wd_call *call, const wd_token *old, const char *id)
{
    if (wd_token_is_own(call, id))
        return old->renewable_until_ms;
    return now_of(call) + old->renewable_until_ms - old->not_before_ms;
}

static wd_status next_of(const wd_call *call, const wd_token *old,
                         const Warded__V1__RotateRequest *request,
                         wd_token_next *ret_next, wd_error *err)
{
    int64_t now_ms = now_of(call);
    int64_t renewable = renewable_until(call, old, request->id);
    int64_t until = wd_token_parent_ends_ms(old);
    int64_t end = 0;

    if (renewable < until)
        until = renewable;
    const wd_token_life life = {request->ttl_ms, old->ttl_ms, until, now_ms};
    WD_TRY(wd_token_end(&life, &end, err));
    if (end - now_ms < WD_TOKEN_TTL_MIN_MS)
        return wd_refuse(
            err, WD_REASON_CONFLICT,
            "token %s may live until %lld ms at most: there is no time left "
            "to rotate it for",
            old->id, (long long)until);
    if (request->overlap_ms > INT64_MAX || request->wrap_ttl_ms > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "overlap_ms and wrap_ttl_ms are at most 2^63 - 1");
    *ret_next = (wd_token_next){
        .ttl_ms = end - now_ms,
        .renewable_ms = renewable,
        .overlap_ms = (int64_t)request->overlap_ms,
        .wrap_ttl_ms = (int64_t)request->wrap_ttl_ms,
        .retire_on_first_use = request->retire_on_first_use,
    };
    return WD_OK;
}

static wd_status apply_rotate(wd_store *store, wd_store_job *job, wd_error *err)
{
    const rotating *w = WD_CONTAINER(job, rotating, work.job);
    const wd_audit_row by = wd_rows_by(w->work.call);

    return wd_tokens_rotate(store, &w->rotation, &by, err);
}

static wd_status reply_rotate(wd_token_work *work, wd_error *err)
{
    const rotating *w = (const rotating *)work;
    Warded__V1__RotateReply reply = WARDED__V1__ROTATE_REPLY__INIT;
    wd_token_info info;
    wd_token_info old;

    wd_token_info_fill(work->issued.token, now_of(work->call), &info);
    wd_token_info_fill(w->old, now_of(work->call), &old);
    reply.token = work->issued.text.chars;
    reply.info = &info.message;
    reply.old = &old.message;
    return wd_warded_v1_token_reply_rotate(work->call, &reply, err);
}

wd_step wd_token_rotate(void *self, wd_call *call,
                        const Warded__V1__RotateRequest *request, wd_error *err)
{
    wd_token *old = NULL;
    wd_token_next next;

    (void)self;
    if (find_newest(call, request->id, &old, err) != WD_OK ||
        next_of(call, old, request, &next, err) != WD_OK)
        return WD_FAILED;
    rotating *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL ||
        wd_token_make_next(old, &next, now_of(call), &w->work.issued, err) != WD_OK)
        return WD_FAILED;
    w->old = old;
    w->rotation = (wd_token_rotation){
        .fresh = w->work.issued.token,
        .overlap_ms = next.overlap_ms != 0 ? next.overlap_ms : WD_TOKEN_OVERLAP_MS,
        .force = request->force,
    };
    return wd_token_work_park(&w->work, apply_rotate, reply_rotate);
}

/* --- Retire ---------------------------------------------------------------------------- */

static wd_status apply_retire(wd_store *store, wd_store_job *job, wd_error *err)
{
    rotating *w = WD_CONTAINER(job, rotating, work.job);
    const wd_audit_row by = wd_rows_by(w->work.call);

    return wd_tokens_retire(store, &w->retirement, &by, err);
}

static wd_status reply_retire(wd_token_work *work, wd_error *err)
{
    const rotating *w = (const rotating *)work;
    Warded__V1__RetireReply reply = WARDED__V1__RETIRE_REPLY__INIT;
    wd_token_info info;
    wd_token *old = NULL;

    WD_TRY(wd_token_target(work->call, w->retirement.old, &old, err));
    wd_token_info_fill(old, now_of(work->call), &info);
    reply.old = &info.message;
    return wd_warded_v1_token_reply_retire(work->call, &reply, err);
}

wd_step wd_token_retire(void *self, wd_call *call,
                        const Warded__V1__RetireRequest *request, wd_error *err)
{
    wd_token *named = NULL;

    (void)self;
    if (wd_token_target(call, request->id, &named, err) != WD_OK)
        return WD_FAILED;
    rotating *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL)
        return WD_FAILED;
    w->retirement = (wd_token_retirement){.id = named->id, .why = "asked"};
    return wd_token_work_park(&w->work, apply_retire, reply_retire);
}

/* --- Unwrap ---------------------------------------------------------------------------- */

static wd_status apply_unwrap(wd_store *store, wd_store_job *job, wd_error *err)
{
    rotating *w = WD_CONTAINER(job, rotating, work.job);
    const wd_audit_row by = wd_rows_by(w->work.call);
    wd_error cause;

    w->misused = false;
    if (wd_tokens_unwrap(store, w->old, w->work.issued.token, &by, &cause) == WD_OK)
        return WD_OK;
    if (cause.reason != WD_REASON_TOKEN_RETIRED) {
        *err = cause;
        return cause.status;
    }
    w->misused = true;
    return wd_tokens_wrap_reused(store, w->old, &by, err);
}

static void end_calls(wd_gate *gate, const char *token_id)
{
    const wd_live_filter filter = {.token_id = token_id};
    (void)wd_inflight_signal(gate->inflight, &filter, WD_SIGNAL_REVOKED);
}

/* A service thread: the writer could not, after the token inside was revoked in memory. */
static wd_status misuse_not_durable(wd_token_work *work, wd_error *err)
{
    const rotating *w = (const rotating *)work;
    wd_token_taken inner = {.was = WD_REVOKED_NOW};
    char cause[WD_ERROR_MSG_BYTES];

    (void)snprintf(cause, sizeof(cause), "%s", work->job.error.msg);
    if (!w->misused || wd_token_unwrapped(w->old)[0] == '\0' ||
        wd_token_target(work->call, wd_token_unwrapped(w->old), &inner.token, NULL) !=
            WD_OK)
        return work->job.status;
    wd_token_owe(work->call, WD_TOKEN_WRAP_REUSED, &inner, 1);
    end_calls(work->call->gate, inner.token->id);
    return wd_refuse(
        err, WD_REASON_OUTCOME_UNRECORDED,
        "wrap %s was opened before: token %s, which came out, is revoked in "
        "this gate, but not yet on disk; it is written as soon as the disk "
        "takes it: %.300s",
        w->old->id, inner.token->id, cause);
}

/* Somebody has had the wrap before: whoever that was has a token that is good no more. */
static wd_status refuse_misuse(const rotating *w, wd_error *err)
{
    const char *inner = wd_token_unwrapped(w->old);

    end_calls(w->work.call->gate, inner);
    return wd_refuse(
        err, WD_REASON_TOKEN_RETIRED,
        "wrap %s was opened before: somebody may have read it on its way, so "
        "token %s, which came out, is revoked now; ask for a new one",
        w->old->id, inner);
}

static wd_status reply_unwrap(wd_token_work *work, wd_error *err)
{
    const rotating *w = (const rotating *)work;
    Warded__V1__UnwrapReply reply = WARDED__V1__UNWRAP_REPLY__INIT;
    wd_token_info info;

    if (w->misused)
        return refuse_misuse(w, err);
    wd_token_info_fill(work->issued.token, now_of(work->call), &info);
    reply.token = work->issued.text.chars;
    reply.info = &info.message;
    return wd_warded_v1_token_reply_unwrap(work->call, &reply, err);
}

wd_step wd_token_unwrap(void *self, wd_call *call,
                        const Warded__V1__UnwrapRequest *request, wd_error *err)
{
    WD_AUTO(wd_token) *newest = wd_token_newest(call->token);
    uint32_t generation = newest != NULL ? newest->generation + 1 : 1;

    (void)self;
    (void)request;
    if (call->token->wraps == 0) {
        (void)wd_refuse(err, WD_REASON_FIELD_INVALID,
                        "token %s is no wrap: the wrap is to be the call's own token",
                        call->token->id);
        return WD_FAILED;
    }
    rotating *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL || wd_token_make_unwrapped(call->token, generation, now_of(call),
                                             &w->work.issued, err) != WD_OK)
        return WD_FAILED;
    w->old = call->token;
    w->work.failed = misuse_not_durable;
    return wd_token_work_park(&w->work, apply_unwrap, reply_unwrap);
}
