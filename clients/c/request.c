#include "clients/c/request.h"

#include <stdio.h>
#include <string.h>

#include "proto/c/clock.h"
#include "proto/c/message.h"
#include "proto/c/sha256.h"
#include "proto/c/uuid.h"

static wd_status take_metadata(wd_asked *asked, wd_rpc *rpc)
{
    size_t bytes = 0;
    for (const char *const *at = rpc->metadata; at != NULL && *at != NULL; at += 2) {
        if (at[1] == NULL)
            return wd_failure_make(
                &rpc->failure, WD_PHASE_SEND, WD_REASON_FIELD_INVALID,
                "%s: metadata %.64s has no value; not sent", asked->path, at[0]);
        bytes += strlen(at[0]) + strlen(at[1]);
        if (asked->n_metadata == WD_METADATA_ENTRIES || bytes > WD_METADATA_BYTES)
            return wd_failure_make(&rpc->failure, WD_PHASE_SEND, WD_REASON_TOO_LARGE,
                                   "%s: metadata: at most %u entries, %u bytes; not "
                                   "sent",
                                   asked->path, WD_METADATA_ENTRIES, WD_METADATA_BYTES);
        asked->metadata[asked->n_metadata++] = (wd_metadata){at[0], at[1]};
    }
    return WD_OK;
}

wd_status wd_asked_init(wd_asked *asked, const char *path, wd_rpc *rpc,
                        bool *ret_own_id)
{
    static const uint8_t none[WD_CALL_ID_BYTES] = {0};
    *asked = (wd_asked){.path = path, .timeout_ms = rpc->timeout_ms};
    if (asked->timeout_ms == 0)
        asked->timeout_ms = WD_TIMEOUT_DEFAULT_MS;
    if (asked->timeout_ms > WD_TIMEOUT_MOST_MS)
        return wd_failure_make(&rpc->failure, WD_PHASE_SEND, WD_REASON_FIELD_INVALID,
                               "%s: timeout_ms is %llu, at most %u; not sent", path,
                               (unsigned long long)asked->timeout_ms,
                               WD_TIMEOUT_MOST_MS);
    *ret_own_id = memcmp(rpc->call_id, none, sizeof(none)) != 0;
    memcpy(asked->call_id, rpc->call_id, sizeof(asked->call_id));
    asked->dated = *ret_own_id;
    if (*ret_own_id && !wd_uuid7_valid((wd_span){asked->call_id, WD_CALL_ID_BYTES}))
        return wd_failure_make(&rpc->failure, WD_PHASE_SEND, WD_REASON_FIELD_INVALID,
                               "%s: the call id is not a UUIDv7; not sent", path);
    return take_metadata(asked, rpc);
}

void wd_asked_done(wd_asked *asked)
{
    wd_buffer_wipe(&asked->payload); /* of Token.Issue and Unwrap: holds secrets */
}

wd_status wd_asked_payload(wd_asked *asked, const ProtobufCMessage *message,
                           wd_failure *why)
{
    wd_error err = {0};
    if (wd_message_encode(message, &asked->payload, &err) == WD_OK)
        return WD_OK;
    return wd_failure_from(why, WD_PHASE_SEND, asked->path, &err);
}

void wd_asked_date(wd_asked *asked, int64_t now_ms)
{
    wd_uuid7_make(now_ms, asked->call_id);
    asked->dated = true;
}

static wd_status encode(const wd_asked *asked, const wd_token_text *token,
                        int64_t left_ms, wd_buffer *out, wd_failure *why)
{
    wd_error err = {0};
    wd_request request = {
        .version = WD_ENVELOPE_VERSION,
        .attempt = asked->attempt,
        .method = asked->path,
        .timeout_ms = (uint64_t)left_ms,
        .token = token->chars,
        .n_metadata = asked->n_metadata,
        .metadata = asked->metadata,
        .payload = wd_buffer_span(&asked->payload),
    };
    memcpy(request.call_id, asked->call_id, sizeof(request.call_id));
    if (wd_request_encode(&request, out, &err) != WD_OK)
        return wd_failure_from(why, WD_PHASE_SEND, asked->path, &err);
    if (out->size > WD_FRAME_BYTES)
        return wd_failure_make(why, WD_PHASE_SEND, WD_REASON_TOO_LARGE,
                               "%s: a request of %zu bytes; at most %u; not sent",
                               asked->path, out->size, WD_FRAME_BYTES);
    return WD_OK;
}

wd_status wd_asked_encode(const wd_asked *asked, wd_profile *profile, int64_t until_ms,
                          wd_buffer *out, wd_failure *why)
{
    wd_token_text token;
    int64_t left_ms = until_ms - wd_clock_mono_ms(wd_clock_system());
    if (left_ms < 1)
        return wd_failure_make(why, WD_PHASE_SEND, WD_REASON_QUEUE_TIMEOUT,
                               "%s: not sent before the deadline, safe to retry",
                               asked->path);
    WD_TRY(wd_profile_token(profile, &token, why));
    wd_status status = encode(asked, &token, left_ms, out, why);
    wd_token_text_wipe(&token);
    return status;
}

bool wd_asked_is_answer(const wd_asked *asked, const wd_reply *reply)
{
    return reply->call_id.size == 0 ||
           (reply->call_id.size == WD_CALL_ID_BYTES &&
            memcmp(reply->call_id.data, asked->call_id, WD_CALL_ID_BYTES) == 0);
}

wd_status wd_asked_refused(const wd_asked *asked, const wd_reply *reply,
                           wd_failure *why)
{
    (void)snprintf(why->message, sizeof(why->message), "%s: %s", asked->path,
                   reply->message != NULL ? reply->message : "");
    why->code = reply->code;
    why->reason = reply->reason;
    why->phase = WD_PHASE_REMOTE;
    why->alert = 0;
    why->retry_after_ms = reply->retry_after_ms;
    why->may_have_run = wd_failure_may_have_run(why);
    return WD_INTERNAL; /* only that it is not WD_OK counts: code may be any number */
}

void wd_asked_name(const wd_asked *asked, wd_failure *why)
{
    if (asked->dated)
        wd_uuid_format(asked->call_id, why->call_id);
}
