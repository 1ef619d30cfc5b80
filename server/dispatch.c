/* Stage "dispatch": which method, and is there room for one more call.
 *
 * An unknown method goes on: what it is answered depends on the token (policy). */
#include "server/cancel.h"
#include "server/crowd.h"
#include "server/parts.h"
#include "server/stages.h"

#define RETRY_FULL_MS  500
#define RETRY_DRAIN_MS 2000

static wd_step refuse_full(const wd_call *call, wd_error *err)
{
    (void)wd_refuse(
        err, WD_REASON_QUEUE_FULL,
        "limits.in_flight is %llu and as many calls are in flight; send again "
        "a little later",
        (unsigned long long)atomic_load(&call->gate->limits.in_flight));
    err->retry_after_ms = RETRY_FULL_MS;
    return WD_FAILED;
}

static wd_step refuse_quota(const wd_call *call, wd_error *err)
{
    uint64_t in_flight = atomic_load(&call->gate->limits.in_flight);

    (void)wd_refuse(err, WD_REASON_QUOTA,
                    "a principal may have a quarter of limits.in_flight + %u calls in "
                    "flight, that is %llu, and %s has as many",
                    WD_GATE_RESERVED, (unsigned long long)wd_crowd_quarter(in_flight),
                    call->peer->identity.uri);
    err->retry_after_ms = RETRY_FULL_MS;
    return WD_FAILED;
}

static wd_step refuse_share(const wd_call *call, wd_error *err)
{
    (void)wd_refuse(
        err, WD_REASON_QUEUE_FULL,
        "a principal may have no more calls in flight than limits.in_flight (%llu) has "
        "places free, now %llu, and %s has as many; send again a little later",
        (unsigned long long)atomic_load(&call->gate->limits.in_flight),
        (unsigned long long)call->share, call->peer->identity.uri);
    err->retry_after_ms = RETRY_FULL_MS;
    return WD_FAILED;
}

static wd_step refuse_place(const wd_call *call, wd_error *err)
{
    switch (call->room) {
    case WD_ROOM:
        return WD_NEXT;
    case WD_ROOM_QUOTA:
        return refuse_quota(call, err);
    case WD_ROOM_SHARE:
        return refuse_share(call, err);
    case WD_ROOM_LAST:
    case WD_ROOM_FULL:
        break;
    }
    return refuse_full(call, err);
}

wd_step wd_dispatch_find(wd_call *call, wd_error *err)
{
    const wd_gate *gate = call->gate;

    if (call->room == WD_ROOM_LAST)
        return refuse_full(call, err);
    if (call->request->kind == WD_REQUEST_CANCEL)
        call->route = wd_cancel_route();
    else
        call->route = wd_registry_find(gate->registry, call->request->method);

    bool lane = call->route != NULL && call->route->method->lane;
    if (atomic_load(&gate->draining) && !lane) {
        (void)wd_refuse(err, WD_REASON_DRAINING,
                        "the gate stops; it takes no new calls");
        err->retry_after_ms = RETRY_DRAIN_MS;
        return WD_FAILED;
    }
    return lane ? WD_NEXT : refuse_place(call, err);
}
