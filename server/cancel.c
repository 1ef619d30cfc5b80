#include "server/cancel.h"

#include "server/parts.h"
#include "server/stages.h"

/* Idempotent: a call that has ended, or never was, is cancelled well enough. Only the
 * caller's own calls match, whatever id is named. */
static wd_step cancel(const void *service, wd_call *call,
                      const ProtobufCMessage *request, wd_error *err)
{
    const wd_live_filter filter = {
        .principal = wd_principal_uri(call->peer->principal),
        .call_id = call->id_bytes,
    };

    (void)service;
    (void)request;
    (void)err;
    (void)wd_inflight_signal(call->gate->inflight, &filter, WD_SIGNAL_CANCEL);
    return WD_NEXT;
}

static const wd_method method = {
    .path = "CANCEL",
    .service = "",
    .name = "CANCEL",
    .scope = "",
    .audited = true,
    .lane = true,
    .built = true,
    .max_timeout_ms = WD_TIMEOUT_DEFAULT_MS,
    .record = WD_RECORD_CALL,
    .invoke = cancel,
};

static const wd_route route = {
    .method = &method,
    .where = WD_RUN_POOL,
    .event = "call.cancel",
};

const wd_route *wd_cancel_route(void)
{
    return &route;
}
