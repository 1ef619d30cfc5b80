#include "server/guesses.h"

#include <stdio.h>

#include "server/contexts.h"
#include "server/delays.h"
#include "server/parts.h"
#include "server/pipeline.h"

int64_t wd_guess_due(atomic_int_fast64_t *paid_ms, int64_t now_ms)
{
    const int64_t burst_ms = (int64_t)WD_GUESSES_AT_ONCE * WD_GUESS_MS;
    const int64_t most_ms = (int64_t)WD_GUESSES_WAITING * WD_GUESS_MS;
    int_fast64_t before = atomic_load(paid_ms);
    int_fast64_t paid;
    int64_t due;

    do { /* the generic cell rate algorithm, ITU-T I.371 */
        paid = (before > now_ms ? before : now_ms) + WD_GUESS_MS;
        due = paid - burst_ms;
        if (due > now_ms + most_ms)
            return WD_GUESS_TOO_MANY;
    } while (!atomic_compare_exchange_weak(paid_ms, &before, paid));
    return due > now_ms ? due : now_ms;
}

static void refuse_late(wd_task *task)
{
    wd_call *call = WD_CONTAINER(task, wd_call, task);
    wd_error err = call->job.error; /* the next stage uses the job again */

    wd_pipeline_resume(call, WD_FAILED, &err);
}

static void cut_off(const wd_call *call)
{
    char detail[WD_URI_BYTES + 128];

    (void)snprintf(
        detail, sizeof(detail),
        "%s guesses tokens faster than one in %d ms; its connection is closed",
        wd_principal_uri(call->peer->principal), WD_GUESS_MS);
    wd_contexts_cut(call->gate, call->peer, WD_REASON_QUOTA, detail);
}

wd_step wd_guesses_refuse(wd_call *call, const wd_error *err)
{
    int64_t now_ms = wd_clock_mono_ms(call->gate->clock);
    int64_t due_ms = wd_guess_due(wd_principal_guesses(call->peer->principal), now_ms);

    if (due_ms == WD_GUESS_TOO_MANY)
        cut_off(call);
    if (due_ms <= now_ms)
        return WD_FAILED;
    call->job.error = *err;
    call->task.run = refuse_late;
    wd_delays_add(call->gate->delays, &call->task, due_ms);
    return WD_PARKED;
}
