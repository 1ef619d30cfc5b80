/* envelope_parts.h - inside the envelope codec: field numbers, and what requests and
 * replies have in common. Nobody else includes it.
 *
 * A unit test compares the numbers with the descriptors that protoc-c made.
 * Threads: any.  Source: proto/warded/v1/rpc.proto. */
#ifndef WD_ENVELOPE_PARTS_H
#define WD_ENVELOPE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/c/envelope.h"
#include "proto/c/limits.h"
#include "proto/c/span.h"
#include "proto/c/status.h"
#include "proto/c/wire.h"

enum {
    WD_FIELD_REQUEST_VERSION = 1,
    WD_FIELD_REQUEST_CALL_ID = 2,
    WD_FIELD_REQUEST_ATTEMPT = 3,
    WD_FIELD_REQUEST_METHOD = 4,
    WD_FIELD_REQUEST_TIMEOUT_MS = 5,
    WD_FIELD_REQUEST_TOKEN = 6,
    WD_FIELD_REQUEST_KIND = 7,
    WD_FIELD_REQUEST_METADATA = 8,
    WD_FIELD_REQUEST_PAYLOAD = 9,
};

enum {
    WD_FIELD_REPLY_CALL_ID = 1,
    WD_FIELD_REPLY_CODE = 2,
    WD_FIELD_REPLY_REASON = 3,
    WD_FIELD_REPLY_MESSAGE = 4,
    WD_FIELD_REPLY_RETRY_AFTER_MS = 5,
    WD_FIELD_REPLY_DETAIL = 6,
    WD_FIELD_REPLY_METADATA = 7,
    WD_FIELD_REPLY_HEAD = 8,
    WD_FIELD_REPLY_PAYLOAD = 9,
    WD_FIELD_REPLY_NOW_MS = 10,
};

enum { WD_FIELD_HEAD_SEQ = 1, WD_FIELD_HEAD_HASH = 2 };
enum { WD_FIELD_MAP_KEY = 1, WD_FIELD_MAP_VALUE = 2 };

/* Metadata as spans of the frame, checked entry by entry. */
typedef struct wd_envelope_map {
    size_t n;
    size_t bytes; /* keys and values together */
    struct {
        wd_span key, value;
    } entries[WD_METADATA_ENTRIES];
} wd_envelope_map;

/* Errors: TOO_LARGE. */
WD_MUST_USE wd_status wd_envelope_check_frame(wd_span frame, wd_error *err);

/* The content of a field that must be of that type; `name` is for the message.
 * Errors: MALFORMED (another wire type, above 32 bits, not UTF-8);
 *         FIELD_INVALID (text with a NUL inside). */
WD_MUST_USE wd_status wd_envelope_take_u64(const wd_wire_field *field, const char *name,
                                           uint64_t *ret, wd_error *err);
WD_MUST_USE wd_status wd_envelope_take_u32(const wd_wire_field *field, const char *name,
                                           uint32_t *ret, wd_error *err);
WD_MUST_USE wd_status wd_envelope_take_bytes(const wd_wire_field *field,
                                             const char *name, wd_span *ret,
                                             wd_error *err);
WD_MUST_USE wd_status wd_envelope_take_text(const wd_wire_field *field,
                                            const char *name, wd_span *ret,
                                            wd_error *err);

/* One more metadata entry.
 * Errors: as above; FIELD_INVALID (key's form, key twice); TOO_LARGE. */
WD_MUST_USE wd_status wd_envelope_take_entry(const wd_wire_field *field,
                                             wd_envelope_map *map, wd_error *err);

/* Bytes that the text of `map` takes, each with its NUL. */
size_t wd_envelope_map_bytes(const wd_envelope_map *map);

/* Copy text to *at, with a NUL, and move *at behind it. */
const char *wd_envelope_keep_text(char **at, wd_span text);
void wd_envelope_keep_map(wd_metadata *ret, char **at, const wd_envelope_map *map);

#endif
