#include "server/executor/execd.h"

#include "proto/c/clock.h"
#include "proto/c/message.h"
#include "server/log.h"

#include <stdlib.h>
#include <string.h>

#define OUTCOME(name) WARDED__EXEC__V1__DONE__OUTCOME__##name
/* Jobs that wait; the gate's own limits come first. */
#define QUEUE_BYTES (2ULL << 30)
/* Answers that the gate has not taken: above it no action is started. */
#define UNSENT_BYTES (64U << 20)
/* Until the next try after a canary that did not hold; sooner if canaries are. */
#define DISTRUST_MS 10000

static int64_t now_ms(void)
{
    return wd_clock_mono_ms(wd_clock_system());
}

/* --- frames of the gate ------------------------------------------------------------------ */

static wd_place *find_running(wd_execd *execd, uint64_t job_id)
{
    for (unsigned i = 0; i < execd->n_places; i++) {
        wd_place *place = &execd->places[i];
        if (place->state == WD_PLACE_JOB && !place->forgotten &&
            place->job->run->job_id == job_id)
            return place;
    }
    return NULL;
}

static void cancel(wd_execd *execd, uint64_t job_id)
{
    WD_AUTO(wd_job) *waiting = wd_queue_take(&execd->queue, job_id);
    if (waiting != NULL) {
        wd_execd_say_not_run(execd, waiting, OUTCOME(NOT_STARTED), "cancelled");
        return;
    }
    wd_place *place = find_running(execd, job_id);
    if (place != NULL)
        wd_run_kill(&place->run, WARDED__EXEC__V1__DONE__CAUSE__CANCEL);
}

/* A limit of a job: 0 is the tool's; above the maximum is refused. */
static bool set_limit(uint64_t *limit, uint64_t asked, uint64_t most,
                      const char **wrong, const char *name)
{
    if (asked > most) {
        *wrong = name;
        return false;
    }
    if (asked != 0)
        *limit = asked;
    return true;
}

/* The limits that a job runs with. false: *wrong names the one that is too high. */
static bool find_limits(const wd_execd *execd, const wd_tool_config *tool,
                        const Warded__Exec__V1__Limits *asked, wd_action_limits *ret,
                        const char **wrong)
{
    const wd_action_limits *most = &execd->config->sandbox.maxima;
    *ret = tool->limits;
    if (asked == NULL)
        return true;
    return set_limit(&ret->wall_ms, asked->wall_ms, most->wall_ms, wrong, "wall_ms") &&
           set_limit(&ret->cpu_ms, asked->cpu_ms, most->cpu_ms, wrong, "cpu_ms") &&
           set_limit(&ret->memory_bytes, asked->memory_bytes, most->memory_bytes, wrong,
                     "memory_bytes") &&
           set_limit(&ret->pids, asked->pids, most->pids, wrong, "pids") &&
           set_limit(&ret->files_bytes, asked->files_bytes, most->files_bytes, wrong,
                     "files_bytes") &&
           set_limit(&ret->output_bytes, asked->output_bytes, most->output_bytes, wrong,
                     "output_bytes");
}

/* Whether the job may run at all; else it is answered. */
static bool is_fit(wd_execd *execd, const wd_job *job)
{
    const Warded__Exec__V1__Run *run = job->run;
    const wd_tool_config *tool = wd_config_find_tool(execd->config, run->tool);
    char why[WD_ERROR_MSG_BYTES];
    if (tool == NULL) {
        (void)snprintf(why, sizeof(why), "no tool is called %.63s", run->tool);
        wd_execd_say_not_run(execd, job, OUTCOME(REFUSED), why);
        return false;
    }
    wd_action_limits limits;
    const char *wrong = NULL;
    if (!find_limits(execd, tool, run->limits, &limits, &wrong)) {
        (void)snprintf(why, sizeof(why), "limits.%s is above sandbox.maxima.%s", wrong,
                       wrong);
        wd_execd_say_not_run(execd, job, OUTCOME(REFUSED), why);
        return false;
    }
    if (!execd->available) {
        wd_execd_say_not_run(execd, job, OUTCOME(FAILED),
                             "canary: the sandbox does not hold at the moment");
        return false;
    }
    if (execd->queue.bytes + job->bytes > QUEUE_BYTES) {
        wd_execd_say_not_run(execd, job, OUTCOME(FAILED),
                             "the executor's queue is full");
        return false;
    }
    return true;
}

/* Takes the budget. */
static wd_status take_run(wd_execd *execd, wd_budget *budget,
                          const Warded__Exec__V1__Run *run, wd_error *err)
{
    WD_AUTO(wd_job) *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        wd_budget_free(budget);
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "out of memory");
    }
    job->budget = budget;
    job->run = run;
    job->received_ns = wd_clock_mono_ns(wd_clock_system());
    job->bytes = wd_budget_used(budget) + sizeof(*job);
    if (run->job_id == 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "a job without a number");
    if (is_fit(execd, job))
        wd_queue_push(&execd->queue, WD_STEAL(job));
    return WD_OK;
}

wd_status wd_execd_frame(void *self, wd_span frame, wd_error *err)
{
    wd_execd *execd = self;
    WD_AUTO(wd_budget) *budget = wd_budget_new(frame.size);
    if (budget == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "out of memory");
    ProtobufCMessage *decoded = NULL;
    WD_TRY(wd_message_decode(&warded__exec__v1__to_executor__descriptor, frame, budget,
                             &decoded, err));
    const Warded__Exec__V1__ToExecutor *message =
        (const Warded__Exec__V1__ToExecutor *)decoded;
    switch (message->kind_case) {
    case WARDED__EXEC__V1__TO_EXECUTOR__KIND_RUN:
        return take_run(execd, WD_STEAL(budget), message->run, err);
    case WARDED__EXEC__V1__TO_EXECUTOR__KIND_CANCEL:
        cancel(execd, message->cancel->job_id);
        return WD_OK;
    case WARDED__EXEC__V1__TO_EXECUTOR__KIND__NOT_SET:
    case _WARDED__EXEC__V1__TO_EXECUTOR__KIND__CASE_IS_INT_SIZE:
        break;
    }
    return wd_fail(err, WD_INVALID_ARGUMENT, "a message of no known kind");
}

/* --- starting ------------------------------------------------------------------------- */

static void start_canary(wd_execd *execd, wd_place *place)
{
    wd_error error;
    wd_action action = wd_canary_action(execd->canary);
    if (wd_run_start(&place->run, execd->kit, place->index, &action, &error) == WD_OK)
        place->state = WD_PLACE_CANARY;
    else if (execd->was_ready)
        wd_execd_distrust(execd, error.msg);
    else
        execd->refused = error;
}

/* Takes the job. */
static void start_job(wd_execd *execd, wd_place *place, wd_job *job)
{
    const Warded__Exec__V1__Run *run = job->run;
    const wd_tool_config *tool = wd_config_find_tool(execd->config, run->tool);
    wd_action action = {.interpreter = tool->interpreter,
                        .code = {run->code.data, run->code.len},
                        .stdin_data = {run->stdin_data.data, run->stdin_data.len}};
    const char *wrong = NULL;
    WD_ASSERT(find_limits(execd, tool, run->limits, &action.limits, &wrong));
    uint64_t end_by = run->end_by_ms;
    action.end_by_ms = end_by == 0 || end_by > INT64_MAX ? INT64_MAX : (int64_t)end_by;
    wd_error error;
    place->started_ns = wd_clock_mono_ns(wd_clock_system());
    if (wd_run_start(&place->run, execd->kit, place->index, &action, &error) != WD_OK) {
        wd_repeats_log(&execd->unstarted, "slot.start", NULL, error.msg);
        wd_execd_say_not_run(execd, job, OUTCOME(FAILED), error.msg);
        wd_job_free(job);
        place->due_ms = 0; /* can it still be trusted? */
        return;
    }
    wd_repeats_log_over(&execd->unstarted, "slot.starts");
    place->state = WD_PLACE_JOB;
    place->job = job;
    place->forgotten = false;
    place->suspect = false;
    wd_execd_say_started(execd, run->job_id);
}

static void expire(wd_execd *execd)
{
    for (wd_job *late; (late = wd_queue_expire(&execd->queue, now_ms())) != NULL;) {
        wd_execd_say_not_run(execd, late, OUTCOME(NOT_STARTED),
                             "no slot was free in time");
        wd_job_free(late);
    }
}

void wd_execd_schedule(wd_execd *execd)
{
    expire(execd);
    for (unsigned i = 0; i < execd->n_places && !execd->stopping; i++) {
        wd_place *place = &execd->places[i];
        if (place->state != WD_PLACE_FREE)
            continue;
        if (place->due_ms <= now_ms())
            start_canary(execd, place);
        else if (execd->available && execd->link.out.size < UNSENT_BYTES &&
                 execd->queue.count > 0)
            start_job(execd, place, wd_queue_pop(&execd->queue));
    }
}

/* --- ending --------------------------------------------------------------------------- */

static bool all_hold(const wd_execd *execd)
{
    for (unsigned i = 0; i < execd->n_places; i++)
        if (!execd->places[i].held)
            return false;
    return true;
}

static wd_status finish_canary(wd_execd *execd, wd_place *place,
                               const wd_run_result *result, wd_error *err)
{
    if (execd->stopping)
        return WD_OK;
    wd_status status = wd_canary_judge(execd->canary, result, err);
    if (status != WD_OK) {
        wd_execd_distrust(execd, err->msg);
        return execd->was_ready ? WD_OK : status;
    }
    place->held = true;
    place->due_ms = now_ms() + execd->canary_ms;
    if (execd->available || !all_hold(execd))
        return WD_OK;
    execd->available = true;
    execd->layers[WD_LAYER_CANARY].active = true;
    (void)snprintf(execd->layers[WD_LAYER_CANARY].detail,
                   sizeof(execd->layers[WD_LAYER_CANARY].detail), "held in %u slots",
                   execd->n_places);
    wd_log(WD_LOG_INFO, "execd.holds", WD_KN("slots", execd->n_places),
           WD_KN("distrusted", wd_repeats_over(&execd->distrusted)));
    wd_execd_say_ready(execd);
    return WD_OK;
}

static void finish_job(wd_execd *execd, wd_place *place, const wd_run_result *result)
{
    if (result->outcome == OUTCOME(FAILED)) {
        wd_repeats_log(&execd->failed, "slot.failed", NULL, result->failure);
        place->due_ms = 0;
    } else {
        wd_repeats_log_over(&execd->failed, "slot.works");
    }
    if (!place->forgotten && place->suspect)
        wd_execd_say_not_run(execd, place->job, OUTCOME(FAILED),
                             "canary: the sandbox did not hold while this ran");
    else if (!place->forgotten)
        wd_execd_say_done(execd, place, result);
    wd_job_free(place->job);
    place->job = NULL;
}

wd_status wd_execd_finish(wd_execd *execd, wd_place *place, wd_error *err)
{
    wd_run_result result;
    wd_status status = WD_OK;
    wd_run_result_get(&place->run, &result);
    wd_place_state was = place->state;
    place->state = WD_PLACE_FREE;
    if (was == WD_PLACE_JOB)
        finish_job(execd, place, &result);
    else
        status = finish_canary(execd, place, &result, err);
    wd_run_done(&place->run);
    return status;
}

/* Their answers: none (`forget`), or that they failed. */
static void kill_jobs(wd_execd *execd, bool forget)
{
    for (unsigned i = 0; i < execd->n_places; i++) {
        wd_place *place = &execd->places[i];
        if (place->state != WD_PLACE_JOB)
            continue;
        place->forgotten = place->forgotten || forget;
        place->suspect = place->suspect || !forget;
        wd_run_kill(&place->run, WARDED__EXEC__V1__DONE__CAUSE__CANCEL);
    }
}

void wd_execd_forget(wd_execd *execd)
{
    if (execd->link.fd < 0)
        return;
    wd_link_close(&execd->link);
    wd_queue_done(&execd->queue);
    kill_jobs(execd, true);
    execd->ending = true;
}

void wd_execd_distrust(wd_execd *execd, const char *surprise)
{
    char why[WD_ERROR_MSG_BYTES];
    (void)snprintf(why, sizeof(why), "%s", surprise);
    wd_layer_add_cure(why, sizeof(why));
    wd_repeats_log(&execd->distrusted, "execd.distrust", NULL, why);
    const int64_t wait_ms =
        execd->canary_ms < DISTRUST_MS ? execd->canary_ms : DISTRUST_MS;
    for (unsigned i = 0; i < execd->n_places; i++) {
        execd->places[i].held = false;
        execd->places[i].due_ms = now_ms() + wait_ms;
    }
    execd->layers[WD_LAYER_CANARY].active = false;
    if (!execd->available)
        return;
    execd->available = false;
    wd_execd_say_unavailable(execd, why);
    for (wd_job *job; (job = wd_queue_pop(&execd->queue)) != NULL;) {
        wd_execd_say_not_run(execd, job, OUTCOME(FAILED), why);
        wd_job_free(job);
    }
    kill_jobs(execd, false);
}
