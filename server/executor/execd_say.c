#include "server/executor/execd.h"

#include "proto/c/clock.h"
#include "server/log.h"

static int64_t now_ns(void)
{
    return wd_clock_mono_ns(wd_clock_system());
}

/* The messages of protobuf-c are not const, but are only read. */
static char *text(const char *words)
{
    return (char *)(uintptr_t)words;
}

static void say(wd_execd *execd, const Warded__Exec__V1__ToGate *message)
{
    wd_error error;
    if (wd_link_send(&execd->link, message, &error) == WD_OK)
        return;
    /* an answer is lost: the gate must not wait for it */
    wd_log(WD_LOG_ERROR, "execd.send", WD_KV("error", error.msg));
    wd_execd_forget(execd);
}

void wd_execd_say_ready(wd_execd *execd)
{
    Warded__Exec__V1__Layer layers[WD_LAYER_COUNT];
    Warded__Exec__V1__Layer *pointers[WD_LAYER_COUNT];
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        warded__exec__v1__layer__init(&layers[i]);
        layers[i].name = text(execd->layers[i].name);
        layers[i].active = execd->layers[i].active;
        layers[i].detail = text(execd->layers[i].detail);
        pointers[i] = &layers[i];
    }
    Warded__Exec__V1__Ready ready = WARDED__EXEC__V1__READY__INIT;
    ready.mode = text("namespaces");
    ready.n_layers = WD_LAYER_COUNT;
    ready.layers = pointers;
    ready.slots = execd->n_places;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_READY;
    message.ready = &ready;
    say(execd, &message);
}

void wd_execd_say_unavailable(wd_execd *execd, const char *why)
{
    Warded__Exec__V1__Unavailable unavailable = WARDED__EXEC__V1__UNAVAILABLE__INIT;
    unavailable.message = text(why);
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_UNAVAILABLE;
    message.unavailable = &unavailable;
    say(execd, &message);
}

void wd_execd_say_started(wd_execd *execd, uint64_t job_id)
{
    Warded__Exec__V1__Started started = WARDED__EXEC__V1__STARTED__INIT;
    started.job_id = job_id;
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_STARTED;
    message.started = &started;
    say(execd, &message);
}

static void say_done(wd_execd *execd, Warded__Exec__V1__Done *done)
{
    Warded__Exec__V1__ToGate message = WARDED__EXEC__V1__TO_GATE__INIT;
    message.kind_case = WARDED__EXEC__V1__TO_GATE__KIND_DONE;
    message.done = done;
    say(execd, &message);
}

void wd_execd_say_not_run(wd_execd *execd, const wd_job *job,
                          Warded__Exec__V1__Done__Outcome outcome, const char *why)
{
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    done.job_id = job->run->job_id;
    done.outcome = outcome;
    done.message = text(why);
    done.queue_us = (uint64_t)(now_ns() - job->received_ns) / 1000;
    say_done(execd, &done);
}

static void fill_output(Warded__Exec__V1__Output *output, const wd_captured *captured)
{
    warded__exec__v1__output__init(output);
    output->data.data = (uint8_t *)(uintptr_t)captured->data.data;
    output->data.len = captured->data.size;
    output->original_bytes = captured->original_bytes;
    output->head_bytes = captured->head_bytes;
    output->tail_bytes = captured->tail_bytes;
}

void wd_execd_say_done(wd_execd *execd, const wd_place *place,
                       const wd_run_result *result)
{
    const wd_job *job = place->job;
    Warded__Exec__V1__Output out;
    Warded__Exec__V1__Output err;
    Warded__Exec__V1__Done done = WARDED__EXEC__V1__DONE__INIT;
    done.job_id = job->run->job_id;
    done.outcome = result->outcome;
    done.queue_us = (uint64_t)(place->started_ns - job->received_ns) / 1000;
    done.run_us = result->run_us;
    if (result->outcome == WARDED__EXEC__V1__DONE__OUTCOME__ENDED) {
        fill_output(&out, &result->out);
        fill_output(&err, &result->err);
        done.out = &out;
        done.err = &err;
        done.cause = result->cause;
        done.wait_status = result->wait_status;
        done.leftovers = result->leftovers;
    } else {
        done.message = text(result->failure);
    }
    say_done(execd, &done);
}
