/* Stage "dedupe": never twice. */
#include "server/dedupe.h"

#include <string.h>
#include <time.h>

#include "server/call_ids.h"
#include "server/parts.h"
#include "server/stages.h"

#define TIME_CHARS 32U

/* "2026-03-01T12:00:00.123Z" */
static const char *time_text(int64_t ms, char text[TIME_CHARS])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;

    if (gmtime_r(&seconds, &utc) == NULL)
        return "?";
    size_t length = strftime(text, TIME_CHARS, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + length, TIME_CHARS - length, ".%03dZ", (int)(ms % 1000));
    return text;
}

static void refuse_time(const wd_call *call, wd_reason reason, int64_t bound_ms,
                        wd_error *err)
{
    char id_time[TIME_CHARS];
    char now[TIME_CHARS];
    char bound[TIME_CHARS];

    (void)wd_refuse(
        err, reason,
        "the call id is dated %s and the gate's clock says %s; it takes ids "
        "%s %s",
        time_text(wd_uuid7_ms(call->id_bytes), id_time),
        time_text(wd_clock_wall_ms(call->gate->clock), now),
        reason == WD_REASON_CLOCK_SKEW ? "up to" : "from", time_text(bound_ms, bound));
}

/* Why the claim failed, in *err. */
static void refuse(const wd_call *call, wd_claim claim, int64_t floor_ms, wd_error *err)
{
    const char *id = call->id_text;

    switch (claim) {
    case WD_CLAIM_RUNNING:
        (void)wd_refuse(err, WD_REASON_OUTCOME_UNKNOWN, "call %s is still running", id);
        break;
    case WD_CLAIM_ENDED:
        (void)wd_refuse(err, WD_REASON_REPLY_EVICTED,
                        "call %s has ended and its reply is not kept; the audit trail "
                        "tells its outcome",
                        id);
        break;
    case WD_CLAIM_CUT:
        (void)wd_refuse(
            err, WD_REASON_OUTCOME_UNKNOWN,
            "call %s began and was cut off when the gate ended; it may have "
            "run",
            id);
        break;
    case WD_CLAIM_REUSED:
        (void)wd_refuse(err, WD_REASON_CALL_ID_REUSED,
                        "call id %s was used for another method or payload", id);
        break;
    case WD_CLAIM_EXPIRED:
        refuse_time(call, WD_REASON_CALL_ID_EXPIRED, floor_ms, err);
        break;
    case WD_CLAIM_AHEAD:
        refuse_time(call, WD_REASON_CLOCK_SKEW,
                    wd_clock_wall_ms(call->gate->clock) + WD_CALL_AHEAD_MS, err);
        break;
    case WD_CLAIM_FULL:
    case WD_CLAIM_OK:
        (void)wd_refuse(err, WD_REASON_CAPACITY, "no room for one more call id");
        break;
    }
}

/* What is not on record can't be known after a restart, so no promise is made for it. */
static bool counts(const wd_call *call)
{
    return call->route->method->audited && call->request->kind == WD_REQUEST_CALL;
}

wd_step wd_dedupe_claim(wd_call *call, wd_error *err)
{
    int64_t now_ms = wd_clock_wall_ms(call->gate->clock);
    int64_t floor_ms = 0;

    if (!counts(call))
        return WD_NEXT;
    wd_call_ids *ids = wd_principal_ids_lock(call->peer->principal);
    wd_claim claim =
        wd_call_ids_claim(ids, call->id_bytes, call->digest, now_ms, &floor_ms);
    wd_principal_ids_unlock(call->peer->principal);
    if (claim != WD_CLAIM_OK) {
        refuse(call, claim, floor_ms, err);
        return WD_FAILED;
    }
    call->claimed = true;
    return WD_NEXT;
}

void wd_dedupe_release(wd_call *call)
{
    if (!call->claimed)
        return;
    call->claimed = false;
    wd_call_ids *ids = wd_principal_ids_lock(call->peer->principal);
    if (call->begun)
        wd_call_ids_end(ids, call->id_bytes);
    else
        wd_call_ids_forget(ids, call->id_bytes);
    wd_principal_ids_unlock(call->peer->principal);
}

/* Newest first: the first row of a call id tells how it stands. */
static bool restore_row(void *arg, const wd_audit_row *row)
{
    wd_gate *gate = arg;
    uint8_t id[WD_UUID_BYTES];
    bool end = strcmp(row->event, "call.end") == 0;

    if (!end && strcmp(row->event, "call.begin") != 0)
        return true;
    if (row->principal == NULL || row->call_id == NULL ||
        !wd_uuid_parse(row->call_id, id))
        return true;
    wd_principal *principal = wd_peers_principal(gate->peers, row->principal);
    if (principal == NULL)
        return true;
    bool cut = row->reason != NULL &&
               strcmp(row->reason, wd_reason_name(WD_REASON_OUTCOME_UNKNOWN)) == 0;
    wd_call_ids *ids = wd_principal_ids_lock(principal);
    wd_call_ids_restore(ids, id, end && !cut);
    wd_principal_ids_unlock(principal);
    return true;
}

wd_status wd_dedupe_restore(wd_gate *gate, wd_reader *reader, wd_error *err)
{
    const wd_audit_sink sink = {restore_row, gate};
    /* Ids up to a minute ahead were taken; one of those is in the table for longer. */
    int64_t since = wd_clock_wall_ms(gate->clock) - WD_CALL_FLOOR_MS - WD_CALL_AHEAD_MS;

    return wd_audit_recent_calls(reader, since, &sink, err);
}
