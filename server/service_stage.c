/* Stage "service": the handler of the method. Reached only by what is on record. */
#include "server/service_stage.h"

#include "proto/c/message.h"
#include "server/parts.h"
#include "server/stages.h"

#define REPLY_SLACK_BYTES 4096U /* the envelope around the payload */

static wd_step signalled(wd_signal signal, wd_error *err)
{
    switch (signal) {
    case WD_SIGNAL_NONE:
        return WD_NEXT;
    case WD_SIGNAL_CANCEL:
        (void)wd_refuse(err, WD_REASON_CANCELLED, "cancelled by its caller");
        break;
    case WD_SIGNAL_REVOKED:
        (void)wd_refuse(err, WD_REASON_CANCELLED, "cancelled: its token was revoked");
        break;
    case WD_SIGNAL_VANISHED:
        (void)wd_refuse(err, WD_REASON_CANCELLED,
                        "cancelled: its connection has been gone for too long");
        break;
    case WD_SIGNAL_DRAIN:
        (void)wd_refuse(err, WD_REASON_CANCELLED, "cancelled: the gate stops");
        break;
    }
    return WD_FAILED;
}

wd_step wd_call_check(const wd_call *call, wd_error *err)
{
    wd_signal signal = wd_inflight_signalled(call->gate->inflight, &call->live);

    if (signalled(signal, err) != WD_NEXT)
        return WD_FAILED;
    if (wd_call_left_ms(call) > 0)
        return WD_NEXT;
    (void)wd_refuse(err, WD_REASON_QUEUE_TIMEOUT,
                    "the deadline passed before the call could begin");
    return WD_FAILED;
}

wd_step wd_service_run(wd_call *call, wd_error *err)
{
    const wd_method *method = call->route->method;

    if (wd_call_check(call, err) != WD_NEXT)
        return WD_FAILED;
    call->ran = true;
    if (method->invoke == NULL)
        return wd_method_unserved(method->path, err);
    return method->invoke(call->route->service, call, call->message, err);
}

void wd_call_keep(wd_call *call, void *work, void (*work_free)(void *work))
{
    WD_ASSERT(call->work == NULL);
    call->work = work;
    call->work_free = work_free;
}

wd_status wd_call_set_reply(wd_call *call, const ProtobufCMessage *message,
                            wd_error *err)
{
    size_t limit = call->gate->config->limits.frame_bytes - REPLY_SLACK_BYTES;
    size_t size = protobuf_c_message_get_packed_size(message);

    WD_ASSERT(call->payload.size == 0);
    if (size > limit)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "the reply has %zu bytes, limits.frame_bytes leaves %zu", size,
                         limit);
    return wd_message_encode(message, &call->payload, err);
}
