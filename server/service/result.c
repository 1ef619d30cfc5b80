#include "server/service/result.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "server/parts.h"
#include "server/service/ending.h"
#include "server/service/output.h"
#include "server/service/pb.h"

#define ITEM_BYTES  1024U /* of a result besides its outputs, with room to spare */
#define KEPT_MOST   (64U << 20) /* above every output */
#define KEPT_LEAST  256U
#define OTHER_BYTES 800U /* of a result in the encoded reply, besides its outputs */

/* Everything of one result, in one piece of memory. */
typedef struct made {
    Warded__V1__Result result;
    Warded__V1__Exit exit;
    Warded__V1__Timings timings;
    Warded__V1__Content content[2];
    Warded__V1__Content *pointers[2];
    Warded__V1__Truncation truncation[2];
    Warded__V1__Result__MetadataEntry notes[2];
    Warded__V1__Result__MetadataEntry *note_pointers[2];
} made;

/* --- how long outputs may be ----------------------------------------------------------- */

static size_t kept(const Warded__Exec__V1__Output *out, size_t keep)
{
    size_t bound = wd_output_bound(out);
    return bound < keep ? bound : keep;
}

static size_t total(const wd_items *items, size_t keep)
{
    size_t sum = 0;

    for (size_t i = 0; i < items->n_items; i++) {
        const Warded__Exec__V1__Done *done = items->items[i].job.done_message;
        sum += OTHER_BYTES;
        if (done != NULL)
            sum += kept(done->out, keep) + kept(done->err, keep);
    }
    return sum;
}

/* The longest that an output may be, so that all together fit the reply. */
static size_t fair_length(const wd_call *call, const wd_items *items)
{
    size_t limit = call->gate->config->limits.frame_bytes - (64U << 10);
    size_t keep = KEPT_MOST;

    while (keep > KEPT_LEAST && total(items, keep) > limit)
        keep /= 2;
    return keep;
}

wd_budget *wd_results_budget(const wd_items *items)
{
    return wd_budget_new(total(items, KEPT_MOST) + ITEM_BYTES * items->n_items);
}

/* --- one result ------------------------------------------------------------------------ */

/* An entry of the result's metadata: each key once. */
static void add_note(made *m, const char *key, const char *value)
{
    size_t at = m->result.n_metadata++;

    WD_ASSERT(at < sizeof(m->notes) / sizeof(m->notes[0]));
    warded__v1__result__metadata_entry__init(&m->notes[at]);
    m->notes[at].key = wd_pb_text(key);
    m->notes[at].value = wd_pb_text(value);
    m->note_pointers[at] = &m->notes[at];
    m->result.metadata = m->note_pointers;
}

static void add_output(made *m, const char *name, const wd_output *out)
{
    if (out->text[0] == '\0' && !out->cut)
        return;
    size_t at = m->result.n_content++;
    Warded__V1__Content *content = &m->content[at];

    warded__v1__content__init(content);
    content->name = wd_pb_text(name);
    content->kind_case = WARDED__V1__CONTENT__KIND_TEXT;
    content->text = wd_pb_text(out->text);
    if (out->cut) {
        warded__v1__truncation__init(&m->truncation[at]);
        m->truncation[at].original_bytes = out->original_bytes;
        m->truncation[at].head_bytes = out->head_bytes;
        m->truncation[at].tail_bytes = out->tail_bytes;
        content->truncation = &m->truncation[at];
    }
    m->pointers[at] = content;
    m->result.content = m->pointers;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* *ret_silent: whether there is nothing to read on stderr. */
static wd_status set_content(made *m, const Warded__Exec__V1__Done *done, size_t keep,
                             wd_budget *budget, bool *ret_silent)
{
    wd_output out;
    wd_output err;

    WD_TRY(wd_output_make(done->out, keep, budget, &out, NULL));
    WD_TRY(wd_output_make(done->err, keep, budget, &err, NULL));
    add_output(m, "stdout", &out);
    add_output(m, "stderr", &err);
    if (out.shortened || err.shortened)
        add_note(m, "output_cut", "frame");
    *ret_silent = is_blank(err.text) && !err.cut;
    return WD_OK;
}

static void set_exit(made *m, const Warded__Exec__V1__Done *done)
{
    if (done->outcome != WARDED__EXEC__V1__DONE__OUTCOME__ENDED)
        return;
    warded__v1__exit__init(&m->exit);
    if (WIFSIGNALED(done->wait_status))
        m->exit.signal = WTERMSIG(done->wait_status);
    else
        m->exit.code = WEXITSTATUS(done->wait_status);
    m->exit.cause = (Warded__V1__Exit__Cause)done->cause;
    m->result.exit = &m->exit;
}

static void set_timings(made *m, const wd_call *call, const wd_item *item)
{
    const Warded__Exec__V1__Done *done = item->job.done_message;

    warded__v1__timings__init(&m->timings);
    if (item->sent_ns > 0)
        m->timings.queue_us = (uint64_t)(item->sent_ns - call->received_ns) / 1000;
    if (done != NULL) {
        m->timings.queue_us += done->queue_us;
        m->timings.run_us = done->run_us;
    }
    m->result.timings = &m->timings;
}

static const struct {
    wd_reason reason;
    const char *text;
} messages[] = {
    {WD_REASON_QUEUE_TIMEOUT,
     "the deadline passed before the action could start; it may be sent again"},
    {WD_REASON_QUEUE_FULL,
     "limits.queue actions wait already; it never started and may be sent again"},
    {WD_REASON_EXECUTOR_DIED, "the executor died while it had the action"},
    {WD_REASON_SANDBOX_UNAVAILABLE, "no sandbox is there to run it in"},
    {WD_REASON_CANCELLED, "cancelled"},
};

/* What the gate says, else the executor, else what the reason means. */
static const char *message_of(const wd_item *item)
{
    const Warded__Exec__V1__Done *done = item->job.done_message;

    if (item->message[0] != '\0')
        return item->message;
    if (done != NULL && done->message != NULL && done->message[0] != '\0')
        return done->message;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        if (messages[i].reason == item->verdict.reason)
            return messages[i].text;
    }
    return "";
}

static uint64_t either(uint64_t asked, uint64_t otherwise)
{
    return asked != 0 ? asked : otherwise;
}

/* What the item asked for, else its tool's own. */
static wd_action_limits limits_of(const wd_item *item)
{
    const Warded__Exec__V1__Limits *asked = &item->job.limits;

    WD_ASSERT(item->tool != NULL); /* it ran */
    const wd_action_limits *own = &item->tool->limits;
    return (wd_action_limits){
        .wall_ms = either(asked->wall_ms, own->wall_ms),
        .cpu_ms = either(asked->cpu_ms, own->cpu_ms),
        .memory_bytes = either(asked->memory_bytes, own->memory_bytes),
        .pids = either(asked->pids, own->pids),
        .files_bytes = either(asked->files_bytes, own->files_bytes),
        .output_bytes = either(asked->output_bytes, own->output_bytes),
    };
}

/* Of an action that ran: its content, and how it ended where that does not tell. */
static wd_status fill_run(made *m, const wd_item *item, size_t keep, wd_budget *budget)
{
    const Warded__Exec__V1__Done *done = item->job.done_message;
    wd_ending ending = {.done = done, .limits = limits_of(item)};
    char text[WD_ENDING_BYTES];

    set_exit(m, done);
    WD_TRY(set_content(m, done, keep, budget, &ending.silent));
    if (m->result.exit == NULL || m->result.message[0] != '\0')
        return WD_OK;
    wd_ending_text(&ending, text);
    m->result.message = wd_budget_text(budget, text, strlen(text));
    return m->result.message != NULL ? WD_OK : WD_RESOURCE_EXHAUSTED;
}

static wd_status fill(made *m, const wd_call *call, const wd_item *item, size_t keep,
                      wd_budget *budget)
{
    const Warded__Exec__V1__Done *done = item->job.done_message;
    Warded__V1__Result *result = &m->result;

    warded__v1__result__init(result);
    result->status = item->verdict.status;
    result->reason = (Warded__V1__Reason)item->verdict.reason;
    result->message = wd_pb_text(message_of(item));
    result->valid = item->valid;
    result->done = item->asked->finish;
    if (item->tool != NULL)
        result->tool = wd_pb_text(item->tool->name);
    if (item->wrong != NULL)
        add_note(m, "field", item->wrong);
    set_timings(m, call, item);
    if (done == NULL || !wd_verdict_has_content(result->status))
        return WD_OK;
    return fill_run(m, item, keep, budget);
}

static void fill_pair(const made *m, const wd_item *item, wd_pair *pair)
{
    pair->known = true;
    pair->status = wd_verdict_code(item->verdict);
    pair->reason = item->verdict.reason;
    pair->outcome = wd_verdict_outcome(item->verdict.status);
    pair->result = wd_verdict_name(item->verdict.status);
    pair->duration_us = m->timings.queue_us + m->timings.run_us;
    for (size_t i = 0; i < m->result.n_content; i++)
        pair->bytes_out += strlen(m->result.content[i]->text);
}

wd_status wd_results_make(const wd_call *call, const wd_items *items, wd_budget *budget,
                          Warded__V1__GetObservationReply *reply, wd_error *err)
{
    size_t keep = fair_length(call, items);
    size_t n = items->n_items;
    made *all = wd_budget_take(budget, n * sizeof(*all));
    Warded__V1__Result **results = wd_budget_take(budget, n * sizeof(*results));

    if (all == NULL || results == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    for (size_t i = 0; i < n; i++) {
        memset(&all[i], 0, sizeof(all[i]));
        if (fill(&all[i], call, &items->items[i], keep, budget) != WD_OK)
            return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        fill_pair(&all[i], &items->items[i], &call->pairs[i]);
        results[i] = &all[i].result;
    }
    reply->n_results = n;
    reply->results = results;
    return WD_OK;
}
