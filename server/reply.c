/* Stage "reply": what became of the call goes back to who asked. */
#include "server/contexts.h"
#include "server/dedupe.h"
#include "server/parts.h"
#include "server/stages.h"

#include <inttypes.h>
#include <string.h>

static const wd_error *error_of(const wd_call *call)
{
    const wd_error *own = &call->error;
    return call->answer != NULL ? wd_answer_error(call->answer) : own;
}

static void fill(const wd_call *call, const wd_error *error, wd_reply *reply)
{
    const wd_buffer *made = &call->payload;
    const wd_span payload =
        call->answer != NULL ? wd_answer_payload(call->answer) : wd_buffer_span(made);
    wd_head head = wd_audit_head(call->gate->store);

    *reply = (wd_reply){
        .call_id = call->call_id,
        .code = (uint32_t)error->status,
        .now_ms = (uint64_t)wd_clock_wall_ms(call->gate->clock),
        .has_head = true,
        .head_seq = head.seq,
    };
    memcpy(reply->head_hash, head.hash, sizeof(reply->head_hash));
    if (error->status == WD_OK) {
        reply->payload = payload;
        return;
    }
    reply->reason = (uint32_t)error->reason;
    reply->message = error->msg;
    reply->retry_after_ms = error->retry_after_ms;
}

/* The call has ended, and its reply is too much beside those that are not read. */
static wd_status evict(const wd_call *call, wd_buffer *bytes, wd_error *err)
{
    wd_error evicted;
    wd_reply reply;

    (void)wd_refuse(
        &evicted, WD_REASON_REPLY_EVICTED,
        "call %s has ended, but there is no room for its reply of %zu bytes: "
        "those that were not read yet hold as much as requests may, "
        "limits.request_bytes (%" PRIu64 "), or this principal's quarter of "
        "it; the audit trail tells its outcome",
        call->id_text, bytes->size, call->gate->config->limits.request_bytes);
    wd_buffer_clear(bytes);
    fill(call, &evicted, &reply);
    return wd_reply_encode(&reply, bytes, err);
}

wd_step wd_reply_send(wd_call *call, wd_error *err)
{
    wd_gate *gate = call->gate;
    struct wd_slot *slot = call->slot;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    wd_reply reply;

    fill(call, error_of(call), &reply);
    if (wd_reply_encode(&reply, &bytes, err) != WD_OK)
        return WD_FAILED;
    if (!wd_slot_reserve(slot, bytes.size) && evict(call, &bytes, err) != WD_OK)
        return WD_FAILED;
    if (gate->options.before_reply_send != NULL)
        gate->options.before_reply_send(gate->options.hook_arg);
    wd_call_free(call); /* its id has ended before the caller can know */
    wd_slot_send(slot, wd_buffer_span(&bytes));
    return WD_PARKED;
}

void wd_call_abandon(wd_call *call)
{
    struct wd_slot *slot = call->slot;

    wd_call_free(call);
    wd_slot_send(slot, (wd_span){NULL, 0});
}
