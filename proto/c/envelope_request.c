/* Reading in two passes: the first takes fields apart and keeps spans of the frame; then
 * they are checked; only then is one block allocated that holds the envelope, its
 * metadata and its text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/envelope.h"
#include "proto/c/envelope_parts.h"
#include "proto/c/sha256.h"
#include "proto/c/uuid.h"

typedef struct raw_request {
    uint32_t version, attempt;
    uint64_t timeout_ms, kind;
    wd_span call_id, method, token, payload;
    wd_envelope_map metadata;
} raw_request;

static wd_status take_request_field(raw_request *raw, const wd_wire_field *field,
                                    wd_error *err)
{
    switch (field->number) {
    case WD_FIELD_REQUEST_VERSION:
        return wd_envelope_take_u32(field, "version", &raw->version, err);
    case WD_FIELD_REQUEST_CALL_ID:
        return wd_envelope_take_bytes(field, "call_id", &raw->call_id, err);
    case WD_FIELD_REQUEST_ATTEMPT:
        return wd_envelope_take_u32(field, "attempt", &raw->attempt, err);
    case WD_FIELD_REQUEST_METHOD:
        return wd_envelope_take_text(field, "method", &raw->method, err);
    case WD_FIELD_REQUEST_TIMEOUT_MS:
        return wd_envelope_take_u64(field, "timeout_ms", &raw->timeout_ms, err);
    case WD_FIELD_REQUEST_TOKEN:
        return wd_envelope_take_text(field, "token", &raw->token, err);
    case WD_FIELD_REQUEST_KIND:
        return wd_envelope_take_u64(field, "kind", &raw->kind, err);
    case WD_FIELD_REQUEST_METADATA:
        return wd_envelope_take_entry(field, &raw->metadata, err);
    case WD_FIELD_REQUEST_PAYLOAD:
        return wd_envelope_take_bytes(field, "payload", &raw->payload, err);
    default:
        return WD_OK; /* of a later version: skipped */
    }
}

static wd_status read_request(wd_span frame, raw_request *raw, wd_error *err)
{
    WD_TRY(wd_envelope_check_frame(frame, err));
    wd_wire_reader in = wd_wire_read(frame);
    wd_wire_field field;
    while (wd_wire_next(&in, &field))
        WD_TRY(take_request_field(raw, &field, err));
    if (in.bad)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: not protobuf from byte %zu of %zu on",
                         frame.size - in.rest.size, frame.size);
    return WD_OK;
}

static wd_status check_call(const raw_request *raw, wd_error *err)
{
    if (raw->method.size > WD_METHOD_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: method of %zu bytes: at most %u", raw->method.size,
                         WD_METHOD_BYTES);
    if (raw->method.size == 0 && raw->kind == WD_REQUEST_CALL)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: a call without a method");
    if (raw->token.size > WD_TOKEN_BYTES)
        return wd_refuse(err, WD_REASON_TOKEN_MALFORMED,
                         "envelope: token of %zu bytes: tokens have 64",
                         raw->token.size);
    return WD_OK;
}

static const wd_request_kind kinds[] = {
    [WD_REQUEST_CALL] = WD_REQUEST_CALL,
    [WD_REQUEST_CANCEL] = WD_REQUEST_CANCEL,
    [WD_REQUEST_NEXT] = WD_REQUEST_NEXT,
};

static wd_status check_request(const raw_request *raw, wd_error *err)
{
    if (raw->version != WD_ENVELOPE_VERSION)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: version %" PRIu32 ", this gate speaks %u",
                         raw->version, WD_ENVELOPE_VERSION);
    if (!wd_uuid7_valid(raw->call_id))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: call_id (%zu bytes) is not a UUIDv7",
                         raw->call_id.size);
    if (raw->kind >= sizeof(kinds) / sizeof(kinds[0]))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: kind %" PRIu64 " is unknown", raw->kind);
    return check_call(raw, err);
}

typedef struct request_block {
    wd_request request; /* first: what the caller holds */
    size_t size;        /* of the whole block, for wiping */
    wd_metadata metadata[];
} request_block;

static request_block *keep_request(const raw_request *raw)
{
    size_t entries = raw->metadata.n * sizeof(wd_metadata);
    size_t size = sizeof(request_block) + entries +
                  wd_envelope_map_bytes(&raw->metadata) + raw->method.size + 1 +
                  raw->token.size + 1;
    request_block *block = malloc(size);
    if (block == NULL)
        return NULL;
    char *at = (char *)block->metadata + entries;
    wd_envelope_keep_map(block->metadata, &at, &raw->metadata);
    block->size = size;
    block->request = (wd_request){
        .version = raw->version,
        .attempt = raw->attempt,
        .method = wd_envelope_keep_text(&at, raw->method),
        .timeout_ms = raw->timeout_ms,
        .token = wd_envelope_keep_text(&at, raw->token),
        .kind = kinds[raw->kind],
        .n_metadata = raw->metadata.n,
        .metadata = block->metadata,
        .payload = raw->payload,
    };
    WD_ASSERT(raw->call_id.data != NULL); /* check_request saw all of it */
    memcpy(block->request.call_id, raw->call_id.data, WD_CALL_ID_BYTES);
    return block;
}

wd_status wd_request_decode(wd_span frame, wd_request **ret_request, wd_error *err)
{
    raw_request raw = {.version = 0};
    WD_TRY(read_request(frame, &raw, err));
    WD_TRY(check_request(&raw, err));
    request_block *block = keep_request(&raw);
    if (block == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a request");
    *ret_request = &block->request;
    return WD_OK;
}

void wd_request_free(wd_request *request)
{
    request_block *block = (request_block *)request;
    if (block == NULL)
        return;
    wd_wipe(block, block->size);
    free(block);
}

bool wd_request_peek_call_id(wd_span frame, uint8_t ret_call_id[WD_CALL_ID_BYTES])
{
    bool found = false;
    wd_wire_reader in = wd_wire_read(frame);
    wd_wire_field field;
    while (wd_wire_next(&in, &field)) {
        if (field.number != WD_FIELD_REQUEST_CALL_ID || field.type != WD_WIRE_BYTES)
            continue;
        found = field.bytes.size == WD_CALL_ID_BYTES;
        if (found)
            memcpy(ret_call_id, field.bytes.data, WD_CALL_ID_BYTES);
    }
    return found;
}

const char *wd_request_metadata(const wd_request *request, const char *key)
{
    for (size_t i = 0; i < request->n_metadata; i++)
        if (strcmp(request->metadata[i].key, key) == 0)
            return request->metadata[i].value;
    return NULL;
}
