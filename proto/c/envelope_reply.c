/* In two passes, as envelope_request.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/envelope.h"
#include "proto/c/envelope_parts.h"

typedef struct raw_reply {
    wd_reply reply; /* without text and metadata */
    wd_span message;
    wd_envelope_map metadata;
} raw_reply;

static wd_status take_head(raw_reply *raw, wd_span bytes, wd_error *err)
{
    wd_wire_reader in = wd_wire_read(bytes);
    wd_wire_field field;
    wd_span hash = {.data = NULL, .size = 0};
    raw->reply.head_seq = 0; /* a head that comes twice counts as its last */
    memset(raw->reply.head_hash, 0, WD_SHA256_BYTES);
    while (wd_wire_next(&in, &field)) {
        if (field.number == WD_FIELD_HEAD_SEQ)
            WD_TRY(wd_envelope_take_u64(&field, "head.seq", &raw->reply.head_seq, err));
        else if (field.number == WD_FIELD_HEAD_HASH)
            WD_TRY(wd_envelope_take_bytes(&field, "head.hash", &hash, err));
    }
    if (in.bad)
        return wd_refuse(err, WD_REASON_MALFORMED, "envelope: head is not protobuf");
    if (hash.size != 0 && hash.size != WD_SHA256_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: head.hash of %zu bytes", hash.size);
    if (hash.size != 0)
        memcpy(raw->reply.head_hash, hash.data, WD_SHA256_BYTES);
    raw->reply.has_head = true;
    return WD_OK;
}

static wd_status take_reply_field(raw_reply *raw, const wd_wire_field *field,
                                  wd_error *err)
{
    wd_span part = {.data = NULL, .size = 0};
    switch (field->number) {
    case WD_FIELD_REPLY_CALL_ID:
        return wd_envelope_take_bytes(field, "call_id", &raw->reply.call_id, err);
    case WD_FIELD_REPLY_CODE:
        return wd_envelope_take_u32(field, "code", &raw->reply.code, err);
    case WD_FIELD_REPLY_REASON:
        return wd_envelope_take_u32(field, "reason", &raw->reply.reason, err);
    case WD_FIELD_REPLY_MESSAGE:
        return wd_envelope_take_text(field, "message", &raw->message, err);
    case WD_FIELD_REPLY_RETRY_AFTER_MS:
        return wd_envelope_take_u64(field, "retry_after_ms", &raw->reply.retry_after_ms,
                                    err);
    case WD_FIELD_REPLY_DETAIL:
        return wd_envelope_take_bytes(field, "detail", &raw->reply.detail, err);
    case WD_FIELD_REPLY_METADATA:
        return wd_envelope_take_entry(field, &raw->metadata, err);
    case WD_FIELD_REPLY_HEAD:
        WD_TRY(wd_envelope_take_bytes(field, "head", &part, err));
        return take_head(raw, part, err);
    case WD_FIELD_REPLY_PAYLOAD:
        return wd_envelope_take_bytes(field, "payload", &raw->reply.payload, err);
    case WD_FIELD_REPLY_NOW_MS:
        return wd_envelope_take_u64(field, "now_ms", &raw->reply.now_ms, err);
    default:
        return WD_OK;
    }
}

static wd_status read_reply(wd_span frame, raw_reply *raw, wd_error *err)
{
    WD_TRY(wd_envelope_check_frame(frame, err));
    wd_wire_reader in = wd_wire_read(frame);
    wd_wire_field field;
    while (wd_wire_next(&in, &field))
        WD_TRY(take_reply_field(raw, &field, err));
    if (in.bad)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: the reply is not protobuf");
    if ((raw->reply.code == 0) != (raw->reply.reason == 0))
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: code %" PRIu32 " with reason %" PRIu32,
                         raw->reply.code, raw->reply.reason);
    return WD_OK;
}

typedef struct reply_block {
    wd_reply reply; /* first: what the caller holds */
    wd_metadata metadata[];
} reply_block;

wd_status wd_reply_decode(wd_span frame, wd_reply **ret_reply, wd_error *err)
{
    raw_reply raw = {.message = {.data = NULL, .size = 0}};
    WD_TRY(read_reply(frame, &raw, err));
    size_t entries = raw.metadata.n * sizeof(wd_metadata);
    reply_block *block =
        malloc(sizeof(*block) + entries + wd_envelope_map_bytes(&raw.metadata) +
               raw.message.size + 1);
    if (block == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a reply");
    char *at = (char *)block->metadata + entries;
    wd_envelope_keep_map(block->metadata, &at, &raw.metadata);
    block->reply = raw.reply;
    block->reply.message = wd_envelope_keep_text(&at, raw.message);
    block->reply.n_metadata = raw.metadata.n;
    block->reply.metadata = block->metadata;
    *ret_reply = &block->reply;
    return WD_OK;
}

void wd_reply_free(wd_reply *reply)
{
    free(reply);
}
