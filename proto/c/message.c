#include "proto/c/message.h"

#include <inttypes.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "proto/c/wire.h"

typedef struct scan_level {
    wd_wire_reader in;
    const ProtobufCMessageDescriptor *type;
} scan_level;

static wd_status check_text(const scan_level *at, const ProtobufCFieldDescriptor *field,
                            wd_span text, wd_error *err)
{
    size_t bad_at = 0;
    if (!wd_utf8_valid(text, &bad_at))
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "%s.%s is not UTF-8: byte %zu of %zu", at->type->name,
                         field->name, bad_at, text.size);
    if (memchr(text.data, '\0', text.size) != NULL)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s.%s has a NUL inside",
                         at->type->name, field->name);
    return WD_OK;
}

static wd_status enter(scan_level *levels, size_t *depth,
                       const ProtobufCFieldDescriptor *field, wd_span bytes,
                       wd_error *err)
{
    if (*depth + 1 == WD_MESSAGE_DEPTH)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "messages within messages, deeper than %u", WD_MESSAGE_DEPTH);
    *depth += 1;
    levels[*depth] = (scan_level){.in = wd_wire_read(bytes), .type = field->descriptor};
    return WD_OK;
}

/* Looks at one field of the innermost level; may enter another level. */
static wd_status scan_field(scan_level *levels, size_t *depth,
                            const wd_wire_field *read, wd_error *err)
{
    const scan_level *at = &levels[*depth];
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(at->type, read->number);
    if (field == NULL || read->type != WD_WIRE_BYTES)
        return WD_OK; /* unpacking judges wire types */
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return check_text(at, field, read->bytes, err);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return enter(levels, depth, field, read->bytes, err);
    return WD_OK;
}

/* Over the encoded bytes, because in the decoded message a NUL has already cut its
 * string short. Goes no deeper than WD_MESSAGE_DEPTH, and so neither will unpacking. */
static wd_status scan(const ProtobufCMessageDescriptor *type, wd_span bytes,
                      wd_error *err)
{
    scan_level levels[WD_MESSAGE_DEPTH];
    size_t depth = 0;
    levels[0] = (scan_level){.in = wd_wire_read(bytes), .type = type};
    for (;;) {
        wd_wire_field field;
        if (wd_wire_next(&levels[depth].in, &field)) {
            WD_TRY(scan_field(levels, &depth, &field, err));
            continue;
        }
        if (levels[depth].in.bad)
            return wd_refuse(err, WD_REASON_MALFORMED, "%s is not protobuf",
                             levels[depth].type->name);
        if (depth == 0)
            return WD_OK;
        depth--;
    }
}

wd_status wd_message_decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                            wd_budget *budget, ProtobufCMessage **ret_message,
                            wd_error *err)
{
    WD_TRY(scan(type, bytes, err));
    ProtobufCMessage *message = protobuf_c_message_unpack(
        type, wd_budget_allocator(budget), bytes.size, bytes.data);
    if (message != NULL) {
        *ret_message = message;
        return WD_OK;
    }
    if (wd_budget_spent(budget))
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "decoding %s of %zu bytes would take more than its budget of "
                         "%zu bytes of memory",
                         type->name, bytes.size, wd_budget_limit(budget));
    return wd_refuse(err, WD_REASON_MALFORMED, "%s has a field of another type",
                     type->name);
}

wd_status wd_message_encode(const ProtobufCMessage *message, wd_buffer *out,
                            wd_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (!wd_buffer_reserve(out, size))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory: %s of %zu bytes",
                         message->descriptor->name, size);
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return WD_OK;
}
