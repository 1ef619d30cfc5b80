/* The order of these lines is the order of the system. */
#include "server/pipeline.h"

#include <stdbool.h>
#include <stddef.h>

#include "server/stages.h"

typedef struct wd_stage {
    const char *name;
    wd_step (*run)(wd_call *call, wd_error *err);
    bool always; /* also runs after an earlier stage has failed */
} wd_stage;

/* A table in columns. */
/* clang-format off */
static const wd_stage stages[] = {
    {"wire",     wd_wire_decode,   false}, /* bytes to an envelope */
    {"dispatch", wd_dispatch_find, false}, /* the method; room for one more call */
    {"auth",     wd_auth_check,    false}, /* whose token, and is it good here */
    {"policy",   wd_policy_check,  false}, /* may this token do that; the payload */
    {"dedupe",   wd_dedupe_claim,  false}, /* never twice */
    {"spend",    wd_spend_take,    false}, /* what the token has left */
    {"audit",    wd_audit_begin,   true},  /* the decision is durable ... */
    {"service",  wd_service_run,   false}, /* ... before anything happens */
    {"outcome",  wd_outcome_write, true},  /* what happened is durable ... */
    {"reply",    wd_reply_send,    true},  /* ... before anyone is told */
};
/* clang-format on */

#define N_STAGES (sizeof(stages) / sizeof(stages[0]))
#define REPLY    (N_STAGES - 1)

/* Keep the first failure. A stage that gives none has failed all the same, and one whose
 * reason is missing or is not of its status has a fault of its own. */
static void keep(wd_call *call, const wd_error *err)
{
    if (call->error.status != WD_OK)
        return;
    if (err != NULL && err->status != WD_OK)
        call->error = *err;
    else
        (void)wd_refuse(&call->error, WD_REASON_BUG,
                        "stage %s failed and did not say why",
                        stages[call->stage].name);
    if (call->error.reason == WD_REASON_NONE ||
        call->error.status != wd_reason_status(call->error.reason)) {
        call->error.reason = WD_REASON_BUG;
        call->error.status = wd_reason_status(WD_REASON_BUG);
    }
}

/* What a stage ended with: call->stage is the one before the next. An answer can only
 * come from before the record is written: later it would leave a call without its end. */
static void take(wd_call *call, wd_step step, const wd_error *err)
{
    if (step == WD_ANSWERED && call->answer != NULL && !call->begun)
        call->stage = REPLY - 1;
    else if (step != WD_NEXT)
        keep(call, err);
}

/* Run from call->stage on. After a stage has parked the call is not ours any more. */
static void run(wd_call *call)
{
    for (; call->stage < N_STAGES; call->stage++) {
        const wd_stage *stage = &stages[call->stage];
        wd_error err = {.status = WD_OK};

        if (call->error.status != WD_OK && !stage->always)
            continue;
        wd_step step = stage->run(call, &err);
        if (step == WD_PARKED)
            return;
        take(call, step, &err);
    }
    wd_call_abandon(call);
}

void wd_pipeline_start(wd_call *call)
{
    call->stage = 0;
    run(call);
}

void wd_pipeline_resume(wd_call *call, wd_step step, const wd_error *err)
{
    WD_ASSERT(call->stage < N_STAGES);
    take(call, step, err);
    call->stage++;
    run(call);
}
