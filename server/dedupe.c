/* Stage "dedupe": never twice. */
#include "server/dedupe.h"

#include <inttypes.h>
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

/* Both clocks, how far apart they are, and what to do: for whoever reads it alone. */
static void refuse_time(const wd_call *call, wd_reason reason, int64_t bound_ms,
                        wd_error *err)
{
    char id_time[TIME_CHARS];
    char now[TIME_CHARS];
    char bound[TIME_CHARS];
    bool ahead = reason == WD_REASON_CLOCK_SKEW;
    int64_t id_ms = wd_uuid7_ms(call->id_bytes);
    int64_t now_ms = wd_clock_wall_ms(call->gate->clock);
    int64_t apart_s = (ahead ? id_ms - now_ms : now_ms - id_ms) / 1000;

    (void)wd_refuse(
        err, reason,
        "the call id is dated %s, %" PRId64
        " s %s the gate's clock, which says %s; it takes ids %s %s: set this host's "
        "clock, or date new ids by now_ms of the gate's replies",
        time_text(id_ms, id_time), apart_s, ahead ? "ahead of" : "behind",
        time_text(now_ms, now), ahead ? "up to" : "from", time_text(bound_ms, bound));
}

/* Why the claim failed, in *err. */
static void refuse(const wd_call *call, wd_claim claim, int64_t floor_ms, wd_error *err)
{
    const char *id = call->id_text;

    switch (claim) {
    case WD_CLAIM_RUNNING:
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

/* Handed out once more, which is on record too: equal ones are counted together. */
static void note_repeat(const wd_call *call)
{
    const wd_reject repeat = {
        .event = "call.repeat",
        .address = call->peer->address,
        .reason = "asked_again",
        .detail = call->id_text,
        .principal = wd_principal_uri(call->peer->principal),
        .token_id = call->token->id,
        .answered = true,
    };

    wd_rejects_note(call->gate->rejects, &repeat);
}

/* The same call, asked for again: it waits for the first one's answer, or has it now.
 * FAILED: there is none any more. */
static wd_step join(wd_call *call)
{
    wd_gate *gate = call->gate;
    const wd_live_filter first = {
        .principal = call->live.principal,
        .call_id = call->id_bytes,
    };

    if (call->kept == NULL || wd_kept_gone(gate->keeper, call->kept))
        return WD_FAILED;
    wd_inflight_move(gate->inflight, &first, call->peer->pipe);
    note_repeat(call);
    if (wd_kept_await(gate->keeper, call->kept, &call->task))
        return WD_PARKED;
    call->answer = wd_kept_answer(gate->keeper, call->kept);
    return call->answer != NULL ? WD_ANSWERED : WD_FAILED;
}

wd_step wd_dedupe_claim(wd_call *call, wd_error *err)
{
    const wd_call_claim asked = {
        .id = call->id_bytes,
        .digest = call->digest,
        .now_ms = wd_clock_wall_ms(call->gate->clock),
    };
    int64_t floor_ms = 0;

    if (!counts(call))
        return WD_NEXT;
    wd_call_ids *ids = wd_principal_ids_lock(call->peer->principal);
    wd_claim claim = wd_call_ids_claim(ids, &asked, &call->kept, &floor_ms);
    call->claimed = claim == WD_CLAIM_OK;
    wd_principal_ids_unlock(call->peer->principal);
    if (claim == WD_CLAIM_OK)
        return WD_NEXT;
    wd_step step = WD_FAILED;
    if (claim == WD_CLAIM_RUNNING || claim == WD_CLAIM_ENDED)
        step = join(call);
    if (step == WD_FAILED)
        refuse(call, claim, floor_ms, err);
    return step;
}

/* A call that waited goes on. Its token may have been taken back meanwhile. */
static void answer_waiting(wd_call *call, wd_answer *answer)
{
    wd_gate *gate = call->gate;
    wd_error err;

    if (wd_inflight_signalled(gate->inflight, &call->live) == WD_SIGNAL_REVOKED) {
        (void)wd_refuse(&err, WD_REASON_TOKEN_REVOKED,
                        "token %s was taken back while the call waited",
                        call->token->id);
        wd_call_resume_at(gate->reply_pool, call, WD_FAILED, &err);
        return;
    }
    if (answer == NULL) {
        refuse(call, WD_CLAIM_ENDED, 0, &err);
        wd_call_resume_at(gate->reply_pool, call, WD_FAILED, &err);
        return;
    }
    call->answer = wd_answer_ref(answer);
    wd_call_resume_at(gate->reply_pool, call, WD_ANSWERED, NULL);
}

void wd_dedupe_release(wd_call *call)
{
    wd_gate *gate = call->gate;

    if (!call->claimed)
        return;
    call->claimed = false;
    wd_call_ids *ids = wd_principal_ids_lock(call->peer->principal);
    if (call->begun)
        wd_call_ids_end(ids, call->id_bytes);
    else
        wd_call_ids_forget(ids, call->id_bytes);
    wd_principal_ids_unlock(call->peer->principal);

    const wd_error *error = &call->error;
    WD_AUTO(wd_answer) *answer =
        wd_answer_new(error, &call->payload, wd_clock_mono_ms(gate->clock));
    wd_answer *kept = answer != NULL && call->begun ? wd_answer_ref(answer) : NULL;
    wd_task *waiting = wd_kept_settle(gate->keeper, call->kept, kept,
                                      wd_principal_kept(call->peer->principal));
    while (waiting != NULL) {
        wd_task *next = waiting->next;
        answer_waiting(WD_CONTAINER(waiting, wd_call, task), answer);
        waiting = next;
    }
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
    int64_t floor = wd_clock_wall_ms(gate->clock) - WD_CALL_FLOOR_MS;
    int64_t since = floor - WD_CALL_AHEAD_MS;

    wd_peers_set_floor(gate->peers, floor);
    return wd_audit_recent_calls(reader, since, &sink, err);
}
