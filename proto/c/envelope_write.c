#include "proto/c/envelope.h"

#include <string.h>

#include "proto/c/envelope_parts.h"
#include "proto/c/utf8.h"
#include "proto/c/wire.h"

static wd_span text_span(const char *text)
{
    if (text == NULL)
        return (wd_span){.data = NULL, .size = 0};
    return (wd_span){.data = (const uint8_t *)text, .size = strlen(text)};
}

static bool put_entry(wd_buffer *out, uint32_t field, const wd_metadata *entry)
{
    WD_AUTO_BUFFER part = WD_BUFFER_INIT;
    return wd_wire_put_bytes(&part, WD_FIELD_MAP_KEY, text_span(entry->key)) &&
           wd_wire_put_bytes(&part, WD_FIELD_MAP_VALUE, text_span(entry->value)) &&
           wd_wire_put_part(out, field, wd_buffer_span(&part));
}

static bool put_map(wd_buffer *out, uint32_t field, const wd_metadata *entries,
                    size_t n)
{
    bool done = true;
    for (size_t i = 0; i < n && done; i++)
        done = put_entry(out, field, &entries[i]);
    return done;
}

static bool put_request(const wd_request *request, wd_buffer *out)
{
    wd_span call_id = {.data = request->call_id, .size = WD_CALL_ID_BYTES};
    return wd_wire_put_number(out, WD_FIELD_REQUEST_VERSION, request->version) &&
           wd_wire_put_bytes(out, WD_FIELD_REQUEST_CALL_ID, call_id) &&
           wd_wire_put_number(out, WD_FIELD_REQUEST_ATTEMPT, request->attempt) &&
           wd_wire_put_bytes(out, WD_FIELD_REQUEST_METHOD,
                             text_span(request->method)) &&
           wd_wire_put_number(out, WD_FIELD_REQUEST_TIMEOUT_MS, request->timeout_ms) &&
           wd_wire_put_bytes(out, WD_FIELD_REQUEST_TOKEN, text_span(request->token)) &&
           wd_wire_put_number(out, WD_FIELD_REQUEST_KIND, (uint64_t)request->kind) &&
           put_map(out, WD_FIELD_REQUEST_METADATA, request->metadata,
                   request->n_metadata) &&
           wd_wire_put_bytes(out, WD_FIELD_REQUEST_PAYLOAD, request->payload);
}

wd_status wd_request_encode(const wd_request *request, wd_buffer *out, wd_error *err)
{
    if (!put_request(request, out))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a request");
    return WD_OK;
}

/* An error text may have been cut in the middle of a character. */
static bool put_message(wd_buffer *out, const char *message)
{
    WD_AUTO_BUFFER text = WD_BUFFER_INIT;
    return wd_utf8_append_lossy(&text, text_span(message)) &&
           wd_wire_put_bytes(out, WD_FIELD_REPLY_MESSAGE, wd_buffer_span(&text));
}

static bool put_head(wd_buffer *out, const wd_reply *reply)
{
    if (!reply->has_head)
        return true;
    WD_AUTO_BUFFER part = WD_BUFFER_INIT;
    wd_span hash = {.data = reply->head_hash, .size = WD_SHA256_BYTES};
    return wd_wire_put_number(&part, WD_FIELD_HEAD_SEQ, reply->head_seq) &&
           wd_wire_put_bytes(&part, WD_FIELD_HEAD_HASH, hash) &&
           wd_wire_put_part(out, WD_FIELD_REPLY_HEAD, wd_buffer_span(&part));
}

static bool put_reply(const wd_reply *reply, wd_buffer *out)
{
    wd_span payload = reply->payload;
    if (reply->code != WD_OK)
        payload.size = 0;
    return wd_wire_put_bytes(out, WD_FIELD_REPLY_CALL_ID, reply->call_id) &&
           wd_wire_put_number(out, WD_FIELD_REPLY_CODE, reply->code) &&
           wd_wire_put_number(out, WD_FIELD_REPLY_REASON, reply->reason) &&
           put_message(out, reply->message) &&
           wd_wire_put_number(out, WD_FIELD_REPLY_RETRY_AFTER_MS,
                              reply->retry_after_ms) &&
           wd_wire_put_bytes(out, WD_FIELD_REPLY_DETAIL, reply->detail) &&
           put_map(out, WD_FIELD_REPLY_METADATA, reply->metadata, reply->n_metadata) &&
           put_head(out, reply) &&
           wd_wire_put_bytes(out, WD_FIELD_REPLY_PAYLOAD, payload) &&
           wd_wire_put_number(out, WD_FIELD_REPLY_NOW_MS, reply->now_ms);
}

wd_status wd_reply_encode(const wd_reply *reply, wd_buffer *out, wd_error *err)
{
    if (!put_reply(reply, out))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a reply");
    return WD_OK;
}
