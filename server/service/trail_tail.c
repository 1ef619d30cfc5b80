/* Audit.Tail: the rows after a cursor; when there are none yet, it waits for them. */
#include "server/delays.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/service/pb.h"
#include "server/service/row_info.h"
#include "server/service/trail.h"
#include "server/service/trail_rows.h"
#include "server/service_stage.h"
#include "store/audit_follow.h"
#include "warded/v1/audit.wd.h"

#define MOST_WAIT_MS 60000U
#define MOST_WAITING 256U /* calls of Tail at once */
#define LOOK_MS      100  /* between two looks at the head */
#define MARGIN_MS    500  /* of the call's deadline, to answer in */

/* A call that waits; no thread is held by it. */
typedef struct tailing {
    wd_call *call;
    wd_audit_filter filter; /* from_seq: what was looked through is not read again */
    int64_t end_ms;         /* of the wait; monotonic */
    bool counted;
} tailing;

static void free_work(void *work)
{
    const tailing *t = work;

    if (t->counted)
        (void)atomic_fetch_sub(&t->call->gate->tails, 1);
}

static wd_status check(const Warded__V1__TailRequest *request, wd_error *err)
{
    if (request->limit > WD_AUDIT_QUERY_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u",
                         request->limit, WD_AUDIT_QUERY_ROWS);
    if (request->wait_ms > MOST_WAIT_MS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "wait_ms is %u, at most %u",
                         request->wait_ms, MOST_WAIT_MS);
    if (request->from_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "from_seq is at most 2^63 - 1");
    return wd_trail_check_filter(request->filter, err);
}

/* --- looking -------------------------------------------------------------------------- */

static wd_status answer(const tailing *t, const wd_trail_rows *rows,
                        const wd_head *head, wd_error *err)
{
    Warded__V1__TailReply reply = WARDED__V1__TAIL_REPLY__INIT;
    Warded__V1__AuditHead newest = WARDED__V1__AUDIT_HEAD__INIT;

    WD_TRY(wd_trail_rows_note(t->call, rows, err));
    newest.seq = head->seq;
    newest.hash = wd_pb_bytes((uint8_t *)(uintptr_t)head->hash, sizeof(head->hash));
    reply.rows = rows->list;
    reply.n_rows = rows->n;
    reply.next_seq = t->filter.from_seq;
    reply.head = &newest;
    return wd_warded_v1_audit_reply_tail(t->call, &reply, err);
}

/* The wait is over, or nobody should wait any longer. */
static bool is_over(const tailing *t)
{
    const wd_gate *gate = t->call->gate;

    return wd_clock_mono_ms(gate->clock) >= t->end_ms || atomic_load(&gate->draining) ||
           wd_inflight_signalled(gate->inflight, &t->call->live) != WD_SIGNAL_NONE;
}

/* *ret_done: it was answered; otherwise there is nothing to tell yet. */
static wd_status look(tailing *t, bool *ret_done, wd_error *err)
{
    WD_AUTO_TRAIL_ROWS rows = {.budget = NULL};
    WD_AUTO(wd_reader) *reader = NULL;
    const wd_audit_sink sink = {wd_trail_rows_add, &rows};
    wd_followed found;

    WD_TRY(wd_trail_rows_room(&rows, t->filter.limit, err));
    WD_TRY(wd_trail_reader(t->call, &reader, err));
    WD_TRY(wd_audit_follow(reader, &t->filter, &sink, &found, err));
    if (rows.full && rows.n > 0) /* what did not fit comes with the next answer */
        found.next_seq = rows.list[rows.n - 1]->seq + 1;
    t->filter.from_seq = found.next_seq;
    *ret_done = rows.n > 0 || is_over(t);
    return *ret_done ? answer(t, &rows, &found.head, err) : WD_OK;
}

/* --- waiting -------------------------------------------------------------------------- */

static void finish(tailing *t, wd_status status, wd_error *err)
{
    wd_pipeline_resume(t->call, wd_trail_step(status, err), err);
}

static void look_again(wd_task *task);
static void wake(wd_task *task);

static void wait_on(tailing *t)
{
    wd_call *call = t->call;

    call->task.run = wake;
    wd_delays_add(call->gate->delays, &call->task,
                  wd_clock_mono_ms(call->gate->clock) + LOOK_MS);
}

/* On a thread that must not wait for the disk. */
static void wake(wd_task *task)
{
    wd_call *call = WD_CONTAINER(task, wd_call, task);
    tailing *t = call->work;

    if (!is_over(t) && wd_audit_head(call->gate->store).seq < t->filter.from_seq) {
        wait_on(t);
        return;
    }
    task->run = look_again;
    wd_pool_post(call->gate->reader_pool, task);
}

/* On a reader's thread: there are rows that were not looked at, or it is over. */
static void look_again(wd_task *task)
{
    wd_call *call = WD_CONTAINER(task, wd_call, task);
    tailing *t = call->work;
    wd_error err = {.status = WD_OK};
    bool done = false;
    wd_status status = WD_OK;

    if (wd_inflight_signalled(call->gate->inflight, &call->live) != WD_SIGNAL_NONE)
        done = wd_call_check(call, &err) != WD_NEXT;
    if (done)
        status = err.status;
    else
        status = look(t, &done, &err);
    if (status == WD_OK && !done)
        wait_on(t);
    else
        finish(t, status, &err);
}

/* --- the call ------------------------------------------------------------------------- */

static tailing *begin(wd_call *call, const Warded__V1__TailRequest *request)
{
    int64_t now_ms = wd_clock_mono_ms(call->gate->clock);
    tailing *t = wd_budget_take(call->budget, sizeof(*t));

    if (t == NULL)
        return NULL;
    *t = (tailing){.call = call, .end_ms = now_ms + request->wait_ms};
    t->filter.from_seq = request->from_seq;
    t->filter.limit = request->limit != 0 ? request->limit : WD_TRAIL_ROWS;
    wd_row_filter(request->filter, &t->filter);
    if (t->end_ms > call->deadline_ms - MARGIN_MS)
        t->end_ms = call->deadline_ms - MARGIN_MS;
    wd_call_keep(call, t, free_work);
    return t;
}

/* Each takes a context, and a look now and then. */
static wd_step park(tailing *t, wd_error *err)
{
    t->counted = true;
    if (atomic_fetch_add(&t->call->gate->tails, 1) >= MOST_WAITING) {
        (void)wd_refuse(err, WD_REASON_QUOTA,
                        "%u calls wait for rows already: ask without wait_ms",
                        MOST_WAITING);
        return WD_FAILED;
    }
    wait_on(t);
    return WD_PARKED;
}

wd_step wd_trail_tail(void *self, wd_call *call, const Warded__V1__TailRequest *request,
                      wd_error *err)
{
    bool done = false;

    (void)self;
    if (check(request, err) != WD_OK)
        return WD_FAILED;
    tailing *t = begin(call, request);
    if (t == NULL) {
        (void)wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
        return WD_FAILED;
    }
    if (wd_trail_step(look(t, &done, err), err) != WD_NEXT)
        return WD_FAILED;
    return done ? WD_NEXT : park(t, err);
}
