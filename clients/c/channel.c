#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clients/c/link.h"
#include "clients/c/process.h"
#include "clients/c/request.h"
#include "clients/c/witness.h"
#include "proto/c/clock.h"
#include "proto/c/message.h"

#define TRIES 3U /* connections that end before they took the request */

struct wd_channel {
    wd_profile *profile;
    wd_link *link;
    wd_notes *notes; /* NULL: none are kept */
    atomic_bool knows_clock;
    atomic_int_fast64_t ahead_ms; /* the gate's wall clock less our monotonic one */
};

WD_DEFINE_AUTO(wd_channel, wd_channel_close)

static wd_status refuse_forked(wd_failure *why)
{
    return wd_failure_make(why, WD_PHASE_SEND, WD_REASON_FORKED,
                           "a forked child can't make calls: NNG's threads stayed with "
                           "its parent; exec a program, and open a channel there");
}

wd_channel *wd_channel_open(const wd_channel_options *options, wd_failure *ret_failure)
{
    *ret_failure = (wd_failure){0};
    if (!wd_process_claim()) {
        (void)refuse_forked(ret_failure);
        return NULL;
    }
    WD_AUTO(wd_channel) *channel = calloc(1, sizeof(*channel));
    if (channel == NULL ||
        wd_profile_open(options, &channel->profile, ret_failure) != WD_OK) {
        if (channel == NULL)
            (void)wd_failure_unreachable(ret_failure, WD_PHASE_PROFILE, "no memory");
        return NULL;
    }
    channel->notes = wd_notes_new();
    channel->link = wd_link_new(channel->profile);
    if (channel->link != NULL)
        return WD_STEAL(channel);
    (void)wd_failure_unreachable(ret_failure, WD_PHASE_CONNECT, "no memory");
    return NULL;
}

void wd_channel_close(wd_channel *channel)
{
    if (channel == NULL || !wd_process_claim())
        return;
    wd_link_free(channel->link);
    wd_notes_free(channel->notes);
    wd_profile_free(channel->profile);
    free(channel);
}

/* --- the gate's clock ---------------------------------------------------------------------- */

static int64_t gate_now_ms(const wd_channel *channel)
{
    const wd_clock *clock = wd_clock_system();
    if (!atomic_load(&channel->knows_clock))
        return wd_clock_wall_ms(clock);
    int64_t now = atomic_load(&channel->ahead_ms) + wd_clock_mono_ms(clock);
    return now > 0 ? now : 0;
}

static void learn_clock(wd_channel *channel, uint64_t now_ms)
{
    if (now_ms == 0 || now_ms > INT64_C(1) << 47)
        return;
    atomic_store(&channel->ahead_ms,
                 (int64_t)now_ms - wd_clock_mono_ms(wd_clock_system()));
    atomic_store(&channel->knows_clock, true);
}

/* --- one call ------------------------------------------------------------------------------- */

/* What an attempt needs to know of its call. */
typedef struct call {
    wd_channel *channel;
    wd_rpc *rpc;
    wd_asked asked;
    int64_t until_ms;
    bool own_id; /* the caller's: never dated anew */
} call;

/* Hand the request to a connection that takes it: one that ends before is left. */
static wd_status exchange(call *c, wd_conn **ret_conn, wd_buffer *reply)
{
    wd_failure *why = &c->rpc->failure;
    wd_status status = WD_INTERNAL;
    for (unsigned i = 0; i < TRIES; i++) {
        WD_AUTO(wd_conn) *conn = NULL;
        WD_AUTO_SECRET wd_buffer frame = WD_BUFFER_INIT;
        WD_TRY(wd_link_take(c->channel->link, c->until_ms, &conn, why));
        WD_TRY(
            wd_asked_encode(&c->asked, c->channel->profile, c->until_ms, &frame, why));
        status =
            wd_conn_exchange(conn, wd_buffer_span(&frame), c->until_ms, reply, why);
        if (status != WD_OK && why->phase == WD_PHASE_WAIT)
            wd_link_leave(c->channel->link, conn);
        if (status == WD_OK)
            *ret_conn = WD_STEAL(conn);
        if (status == WD_OK || why->reason != WD_REASON_UNREACHABLE)
            return status;
    }
    return status;
}

static void note_reply(const call *c, const wd_conn *conn, const wd_reply *reply)
{
    c->rpc->now_ms = reply->now_ms;
    learn_clock(c->channel, reply->now_ms);
    if (!reply->has_head)
        return;
    c->rpc->head_seq = reply->head_seq;
    wd_notes_take(c->channel->notes, wd_conn_gate(conn),
                  wd_conn_credentials(conn)->trust, reply->head_seq, reply->head_hash);
}

static wd_status strange(const call *c, const char *why)
{
    return wd_failure_make(&c->rpc->failure, WD_PHASE_WAIT, WD_REASON_BUG,
                           "%s: the answer can't be used: %.300s", c->asked.path, why);
}

/* The payload as a message that lives in rpc->memory. */
static wd_status keep_reply(const call *c, const wd_reply *reply,
                            const ProtobufCMessageDescriptor *type,
                            const ProtobufCMessage **ret)
{
    ProtobufCMessage *message = NULL;
    wd_error err = {0};
    WD_AUTO(wd_budget) *budget = wd_budget_new(reply->payload.size);
    if (budget == NULL)
        return strange(c, "no memory");
    if (wd_message_decode(type, reply->payload, budget, &message, &err) != WD_OK)
        return strange(c, err.msg);
    c->rpc->memory = WD_STEAL(budget);
    *ret = message;
    return WD_OK;
}

/* The gate did not run it, because of its date: true, once. */
static bool may_date_anew(const call *c, const wd_reply *reply)
{
    return !c->own_id && c->asked.attempt == 0 && reply->now_ms != 0 &&
           (reply->reason == WD_REASON_CLOCK_SKEW ||
            reply->reason == WD_REASON_CALL_ID_EXPIRED);
}

static wd_status attempt(call *c, const ProtobufCMessageDescriptor *type,
                         bool *ret_again, const ProtobufCMessage **ret)
{
    WD_AUTO(wd_conn) *conn = NULL;
    WD_AUTO(wd_reply) *reply = NULL;
    WD_AUTO_BUFFER frame = WD_BUFFER_INIT;
    wd_error err = {0};
    if (!c->own_id)
        wd_asked_date(&c->asked, gate_now_ms(c->channel));
    WD_TRY(exchange(c, &conn, &frame));
    if (wd_reply_decode(wd_buffer_span(&frame), &reply, &err) != WD_OK)
        return strange(c, err.msg);
    note_reply(c, conn, reply);
    if (!wd_asked_is_answer(&c->asked, reply))
        return strange(c, "it answers another call");
    if (reply->code == WD_OK)
        return keep_reply(c, reply, type, ret);
    *ret_again = may_date_anew(c, reply);
    return wd_asked_refused(&c->asked, reply, &c->rpc->failure);
}

static wd_status run(call *c, const ProtobufCMessageDescriptor *type,
                     const ProtobufCMessage **ret)
{
    bool again = false;
    wd_status status = attempt(c, type, &again, ret);
    if (!again)
        return status;
    c->asked.attempt++;
    return attempt(c, type, &again, ret);
}

const ProtobufCMessage *wd_rpc_invoke(wd_channel *channel, wd_rpc *rpc,
                                      const char *path, const ProtobufCMessage *request,
                                      const ProtobufCMessageDescriptor *reply)
{
    const ProtobufCMessage *message = NULL;
    wd_rpc_done(rpc);
    if (!wd_process_claim()) {
        (void)refuse_forked(&rpc->failure);
        return NULL;
    }
    call c = {.channel = channel, .rpc = rpc};
    wd_status status = wd_asked_init(&c.asked, path, rpc, &c.own_id);
    c.until_ms = wd_clock_mono_ms(wd_clock_system()) + (int64_t)c.asked.timeout_ms;
    if (status == WD_OK)
        status = wd_asked_payload(&c.asked, request, &rpc->failure);
    if (status == WD_OK)
        status = run(&c, reply, &message);
    if (status == WD_OK)
        rpc->failure = (wd_failure){0};
    else
        wd_asked_name(&c.asked, &rpc->failure);
    wd_asked_done(&c.asked);
    return message;
}

void wd_rpc_done(wd_rpc *rpc)
{
    wd_budget_free(rpc->memory);
    rpc->memory = NULL;
    rpc->failure = (wd_failure){0};
    rpc->head_seq = 0;
    rpc->now_ms = 0;
}
