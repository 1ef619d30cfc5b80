#include "server/service/batch.h"

#include <stdlib.h>

#include "server/parts.h"

#define STATUS(name) WARDED__V1__RESULT__STATUS__##name

struct wd_batches {
    wd_gate *gate;
    wd_batch head; /* a ring; head itself is no batch */
    wd_task check;
    atomic_bool check_posted;
};

static void link_in(wd_batches *batches, wd_batch *batch)
{
    batch->prev = batches->head.prev;
    batch->next = &batches->head;
    batch->prev->next = batch;
    batches->head.prev = batch;
}

static void link_out(wd_batch *batch)
{
    batch->prev->next = batch->next;
    batch->next->prev = batch->prev;
}

static void on_service_thread(wd_task *task)
{
    wd_batch *batch = WD_CONTAINER(task, wd_batch, task);
    batch->ended(batch);
}

/* One item less. After the last the batch is not ours any more. */
static void count_down(wd_batch *batch)
{
    if (--batch->left > 0)
        return;
    link_out(batch);
    batch->task.run = on_service_thread;
    wd_pool_post(batch->call->gate->service_pool, &batch->task);
}

/* Give an item to the executor, unless it is too late for it. false: it has ended. */
static bool submit(wd_item *item)
{
    wd_batch *batch = item->batch;
    const wd_gate *gate = batch->call->gate;

    item->sent_ns = wd_clock_mono_ns(gate->clock);
    if (batch->signalled != WD_SIGNAL_NONE) {
        item->verdict = (wd_verdict){STATUS(CANCELLED), WD_REASON_CANCELLED};
        batch->cut = true;
        return false;
    }
    if (wd_call_left_ms(batch->call) == 0) {
        item->verdict = (wd_verdict){STATUS(BUSY), WD_REASON_QUEUE_TIMEOUT};
        item->message =
            "the deadline passed while an earlier action of the trajectory ran";
        return false;
    }
    wd_link_run(gate->link, &item->job);
    return true;
}

/* Start an item; if it has ended already, then the next of its trajectory. */
static void go(wd_item *item)
{
    while (item != NULL && !submit(item)) {
        wd_item *next = item->next;
        count_down(item->batch);
        item = next;
    }
}

static void job_done(wd_exec_job *job)
{
    wd_item *item = WD_CONTAINER(job, wd_item, job);
    wd_item *next = item->next;

    item->verdict = wd_verdict_of(job->end, job->done_message);
    if (item->verdict.status == STATUS(CANCELLED))
        item->batch->cut = true;
    go(next); /* first: the last one that counts down gives the batch away */
    count_down(item->batch);
}

static void cancel(wd_batch *batch, wd_signal signal)
{
    batch->signalled = signal;
    for (size_t i = 0; i < batch->items->n_items; i++) {
        wd_item *item = &batch->items->items[i];
        if (item->runs && item->job.id != 0)
            wd_link_cancel(batch->call->gate->link, &item->job);
    }
}

static void start(wd_task *task)
{
    wd_batch *batch = WD_CONTAINER(task, wd_batch, task);
    wd_gate *gate = batch->call->gate;
    wd_items *items = batch->items;

    link_in(gate->batches, batch);
    batch->signalled = wd_inflight_signalled(gate->inflight, &batch->call->live);
    batch->left = 1; /* so that it does not end while it begins */
    for (size_t i = 0; i < items->n_items; i++) {
        if (!items->items[i].runs)
            continue;
        items->items[i].batch = batch;
        items->items[i].job.done = job_done;
        batch->left++;
    }
    for (size_t i = 0; i < items->n_items; i++) {
        if (items->items[i].runs && !items->items[i].follows)
            go(&items->items[i]);
    }
    count_down(batch);
}

void wd_batch_start(wd_batches *batches, wd_batch *batch)
{
    batch->task.run = start;
    wd_link_post(batches->gate->link, &batch->task);
}

/* On the link's thread. A signal that comes later posts this again. */
static void check(wd_task *task)
{
    wd_batches *batches = WD_CONTAINER(task, wd_batches, check);

    atomic_store(&batches->check_posted, false);
    for (wd_batch *at = batches->head.next; at != &batches->head; at = at->next) {
        if (at->signalled != WD_SIGNAL_NONE)
            continue;
        wd_signal signal =
            wd_inflight_signalled(batches->gate->inflight, &at->call->live);
        if (signal != WD_SIGNAL_NONE)
            cancel(at, signal);
    }
}

void wd_batches_check(wd_batches *batches)
{
    if (!atomic_exchange(&batches->check_posted, true))
        wd_link_post(batches->gate->link, &batches->check);
}

wd_batches *wd_batches_new(wd_gate *gate)
{
    wd_batches *batches = calloc(1, sizeof(*batches));

    if (batches == NULL)
        return NULL;
    batches->gate = gate;
    batches->head.next = batches->head.prev = &batches->head;
    batches->check.run = check;
    return batches;
}

void wd_batches_free(wd_batches *batches)
{
    free(batches);
}
