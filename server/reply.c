/* Stage "reply": what became of the call goes back to who asked. */
#include "server/dedupe.h"
#include "server/listener.h"
#include "server/parts.h"
#include "server/stages.h"

#include <string.h>

static void fill(const wd_call *call, wd_reply *reply)
{
    const wd_answer *kept = call->answer;
    const wd_error *error = kept != NULL ? wd_answer_error(kept) : &call->error;
    const wd_buffer *made = &call->payload;
    const wd_span payload =
        kept != NULL ? wd_answer_payload(kept) : wd_buffer_span(made);
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

wd_step wd_reply_send(wd_call *call, wd_error *err)
{
    wd_gate *gate = call->gate;
    struct wd_slot *slot = call->slot;
    WD_AUTO_BUFFER bytes = WD_BUFFER_INIT;
    wd_reply reply;

    fill(call, &reply);
    if (wd_reply_encode(&reply, &bytes, err) != WD_OK)
        return WD_FAILED;
    if (gate->options.before_reply_send != NULL)
        gate->options.before_reply_send(gate->options.hook_arg);
    wd_call_free(call); /* its id has ended before the caller can know */
    wd_listener_send(slot, wd_buffer_span(&bytes));
    return WD_PARKED;
}

void wd_call_abandon(wd_call *call)
{
    struct wd_slot *slot = call->slot;

    wd_call_free(call);
    wd_listener_send(slot, (wd_span){NULL, 0});
}
