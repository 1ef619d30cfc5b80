/* Reading in two passes: the first takes fields apart and keeps spans of the frame; then
 * they are checked; only then is one block allocated that holds the envelope, its
 * metadata and its text. */
#include "proto/c/envelope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/envelope_fields.h"
#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "proto/c/uuid.h"
#include "proto/c/wire.h"

/* --- one field ------------------------------------------------------------------- */

static wd_status wrong_type(const char *name, wd_error *err)
{
    return wd_refuse(err, WD_REASON_MALFORMED, "envelope: %s has another type", name);
}

static wd_status take_u64(const wd_wire_field *field, const char *name, uint64_t *ret,
                          wd_error *err)
{
    if (field->type != WD_WIRE_VARINT)
        return wrong_type(name, err);
    *ret = field->value;
    return WD_OK;
}

static wd_status take_u32(const wd_wire_field *field, const char *name, uint32_t *ret,
                          wd_error *err)
{
    if (field->type != WD_WIRE_VARINT)
        return wrong_type(name, err);
    if (field->value > UINT32_MAX)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: %s is %" PRIu64 ", more than 32 bits", name,
                         field->value);
    *ret = (uint32_t)field->value;
    return WD_OK;
}

static wd_status take_bytes(const wd_wire_field *field, const char *name, wd_span *ret,
                            wd_error *err)
{
    if (field->type != WD_WIRE_BYTES)
        return wrong_type(name, err);
    *ret = field->bytes;
    return WD_OK;
}

static wd_status take_text(const wd_wire_field *field, const char *name, wd_span *ret,
                           wd_error *err)
{
    if (field->type != WD_WIRE_BYTES)
        return wrong_type(name, err);
    size_t bad_at = 0;
    if (!wd_utf8_valid(field->bytes, &bad_at))
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: %s is not UTF-8: byte %zu of %zu", name, bad_at,
                         field->bytes.size);
    if (memchr(field->bytes.data, '\0', field->bytes.size) != NULL)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "envelope: %s has a NUL inside",
                         name);
    *ret = field->bytes;
    return WD_OK;
}

/* --- metadata --------------------------------------------------------------------- */

typedef struct raw_map {
    size_t n;
    size_t bytes; /* keys and values together */
    struct {
        wd_span key, value;
    } entries[WD_METADATA_ENTRIES];
} raw_map;

static wd_status read_entry(wd_span bytes, wd_span *key, wd_span *value, wd_error *err)
{
    wd_wire_reader in = wd_wire_read(bytes);
    wd_wire_field field;
    while (wd_wire_next(&in, &field)) {
        if (field.number == WD_FIELD_MAP_KEY)
            WD_TRY(take_text(&field, "a metadata key", key, err));
        else if (field.number == WD_FIELD_MAP_VALUE)
            WD_TRY(take_text(&field, "a metadata value", value, err));
    }
    if (in.bad)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "envelope: metadata is not protobuf");
    return WD_OK;
}

static bool key_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static wd_status check_key(const raw_map *map, wd_span key, wd_error *err)
{
    bool good = key.size >= 1 && key.size <= WD_METADATA_KEY_BYTES;
    for (size_t i = 0; good && i < key.size; i++)
        good = key_char(key.data[i]);
    if (!good)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "envelope: a metadata key is not [a-z0-9._-]{1,%u}",
                         WD_METADATA_KEY_BYTES);
    for (size_t i = 0; i < map->n; i++) {
        wd_span other = map->entries[i].key;
        if (other.size == key.size && memcmp(other.data, key.data, key.size) == 0)
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "envelope: metadata key %.*s comes twice", (int)key.size,
                             (const char *)key.data);
    }
    return WD_OK;
}

static wd_status take_entry(const wd_wire_field *field, raw_map *map, wd_error *err)
{
    if (field->type != WD_WIRE_BYTES)
        return wrong_type("metadata", err);
    if (map->n == WD_METADATA_ENTRIES)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "envelope: more than %u metadata entries",
                         WD_METADATA_ENTRIES);
    wd_span key = {.data = (const uint8_t *)"", .size = 0};
    wd_span value = key;
    WD_TRY(read_entry(field->bytes, &key, &value, err));
    WD_TRY(check_key(map, key, err));
    map->bytes += key.size + value.size;
    if (map->bytes > WD_METADATA_BYTES)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "envelope: metadata of %zu bytes and more: at most %u",
                         map->bytes, WD_METADATA_BYTES);
    map->entries[map->n].key = key;
    map->entries[map->n].value = value;
    map->n++;
    return WD_OK;
}

static size_t text_bytes(const raw_map *map)
{
    return map->bytes + 2 * map->n; /* each with its NUL */
}

static const char *keep_text(char **at, wd_span text)
{
    char *kept = *at;
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    kept[text.size] = '\0';
    *at += text.size + 1;
    return kept;
}

static void keep_map(wd_metadata *ret, char **at, const raw_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        ret[i].key = keep_text(at, map->entries[i].key);
        ret[i].value = keep_text(at, map->entries[i].value);
    }
}

/* --- the request -------------------------------------------------------------------- */

typedef struct raw_request {
    uint32_t version, attempt;
    uint64_t timeout_ms, kind;
    wd_span call_id, method, token, payload;
    raw_map metadata;
} raw_request;

static wd_status take_request_field(raw_request *raw, const wd_wire_field *field,
                                    wd_error *err)
{
    switch (field->number) {
    case WD_FIELD_REQUEST_VERSION:
        return take_u32(field, "version", &raw->version, err);
    case WD_FIELD_REQUEST_CALL_ID:
        return take_bytes(field, "call_id", &raw->call_id, err);
    case WD_FIELD_REQUEST_ATTEMPT:
        return take_u32(field, "attempt", &raw->attempt, err);
    case WD_FIELD_REQUEST_METHOD:
        return take_text(field, "method", &raw->method, err);
    case WD_FIELD_REQUEST_TIMEOUT_MS:
        return take_u64(field, "timeout_ms", &raw->timeout_ms, err);
    case WD_FIELD_REQUEST_TOKEN:
        return take_text(field, "token", &raw->token, err);
    case WD_FIELD_REQUEST_KIND:
        return take_u64(field, "kind", &raw->kind, err);
    case WD_FIELD_REQUEST_METADATA:
        return take_entry(field, &raw->metadata, err);
    case WD_FIELD_REQUEST_PAYLOAD:
        return take_bytes(field, "payload", &raw->payload, err);
    default:
        return WD_OK; /* of a later version: skipped */
    }
}

static wd_status check_frame(wd_span frame, wd_error *err)
{
    if (frame.size > WD_FRAME_BYTES)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "envelope of %zu bytes: at most %u (limits.frame_bytes)",
                         frame.size, WD_FRAME_BYTES);
    return WD_OK;
}

static wd_status read_request(wd_span frame, raw_request *raw, wd_error *err)
{
    WD_TRY(check_frame(frame, err));
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
    if (raw->kind > WD_REQUEST_NEXT)
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
    size_t size = sizeof(request_block) + entries + text_bytes(&raw->metadata) +
                  raw->method.size + 1 + raw->token.size + 1;
    request_block *block = malloc(size);
    if (block == NULL)
        return NULL;
    char *at = (char *)block->metadata + entries;
    keep_map(block->metadata, &at, &raw->metadata);
    block->size = size;
    block->request = (wd_request){
        .version = raw->version,
        .attempt = raw->attempt,
        .method = keep_text(&at, raw->method),
        .timeout_ms = raw->timeout_ms,
        .token = keep_text(&at, raw->token),
        .kind = (wd_request_kind)raw->kind,
        .n_metadata = raw->metadata.n,
        .metadata = block->metadata,
        .payload = raw->payload,
    };
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

/* --- the reply ---------------------------------------------------------------------- */

typedef struct raw_reply {
    wd_reply reply; /* without text and metadata */
    wd_span message;
    raw_map metadata;
} raw_reply;

static wd_status take_head(raw_reply *raw, wd_span bytes, wd_error *err)
{
    wd_wire_reader in = wd_wire_read(bytes);
    wd_wire_field field;
    wd_span hash = {.data = NULL, .size = 0};
    while (wd_wire_next(&in, &field)) {
        if (field.number == WD_FIELD_HEAD_SEQ)
            WD_TRY(take_u64(&field, "head.seq", &raw->reply.head_seq, err));
        else if (field.number == WD_FIELD_HEAD_HASH)
            WD_TRY(take_bytes(&field, "head.hash", &hash, err));
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
        return take_bytes(field, "call_id", &raw->reply.call_id, err);
    case WD_FIELD_REPLY_CODE:
        return take_u32(field, "code", &raw->reply.code, err);
    case WD_FIELD_REPLY_REASON:
        return take_u32(field, "reason", &raw->reply.reason, err);
    case WD_FIELD_REPLY_MESSAGE:
        return take_text(field, "message", &raw->message, err);
    case WD_FIELD_REPLY_RETRY_AFTER_MS:
        return take_u64(field, "retry_after_ms", &raw->reply.retry_after_ms, err);
    case WD_FIELD_REPLY_DETAIL:
        return take_bytes(field, "detail", &raw->reply.detail, err);
    case WD_FIELD_REPLY_METADATA:
        return take_entry(field, &raw->metadata, err);
    case WD_FIELD_REPLY_HEAD:
        WD_TRY(take_bytes(field, "head", &part, err));
        return take_head(raw, part, err);
    case WD_FIELD_REPLY_PAYLOAD:
        return take_bytes(field, "payload", &raw->reply.payload, err);
    case WD_FIELD_REPLY_NOW_MS:
        return take_u64(field, "now_ms", &raw->reply.now_ms, err);
    default:
        return WD_OK;
    }
}

static wd_status read_reply(wd_span frame, raw_reply *raw, wd_error *err)
{
    WD_TRY(check_frame(frame, err));
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
    reply_block *block = malloc(sizeof(*block) + entries + text_bytes(&raw.metadata) +
                                raw.message.size + 1);
    if (block == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a reply");
    char *at = (char *)block->metadata + entries;
    keep_map(block->metadata, &at, &raw.metadata);
    block->reply = raw.reply;
    block->reply.message = keep_text(&at, raw.message);
    block->reply.n_metadata = raw.metadata.n;
    block->reply.metadata = block->metadata;
    *ret_reply = &block->reply;
    return WD_OK;
}

void wd_reply_free(wd_reply *reply)
{
    free(reply);
}
