/* Stage "wire": bytes become an envelope. */
#include <string.h>

#include "server/parts.h"
#include "server/stages.h"

#define LONGEST_MS UINT64_C(86400000) /* a day, above every method's maximum */

static void set_call_id(wd_call *call, const uint8_t id[WD_CALL_ID_BYTES])
{
    memcpy(call->id_bytes, id, WD_CALL_ID_BYTES);
    call->call_id = (wd_span){call->id_bytes, WD_CALL_ID_BYTES};
    wd_uuid_format(id, call->id_text);
}

static wd_status decode(wd_call *call, wd_error *err)
{
    uint64_t limit = call->gate->config->limits.frame_bytes;

    if (call->frame.size > limit)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "the request has %zu bytes, limits.frame_bytes is %llu",
                         call->frame.size, (unsigned long long)limit);
    return wd_request_decode(call->frame, &call->request, err);
}

wd_step wd_wire_decode(wd_call *call, wd_error *err)
{
    uint8_t id[WD_CALL_ID_BYTES];

    if (decode(call, err) != WD_OK) {
        if (wd_request_peek_call_id(call->frame, id))
            set_call_id(call, id); /* so that the refusal finds its call */
        return WD_FAILED;
    }
    set_call_id(call, call->request->call_id);
    uint64_t timeout_ms = call->request->timeout_ms;
    if (timeout_ms == 0)
        timeout_ms = WD_TIMEOUT_DEFAULT_MS;
    if (timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS; /* policy refuses it with the method's maximum */
    call->deadline_ms = call->received_ns / 1000000 + (int64_t)timeout_ms;
    return WD_NEXT;
}
