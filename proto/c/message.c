#include "proto/c/message.h"

#include <inttypes.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "proto/c/wire.h"

/* Where the scan stands: in the message of levels[depth], inside that of depth - 1. */
typedef struct scanner {
    struct {
        wd_wire_reader in;
        const ProtobufCMessageDescriptor *type;
    } levels[WD_MESSAGE_DEPTH];
    size_t depth;
    bool done;
} scanner;

static wd_status check_text(const ProtobufCMessageDescriptor *type,
                            const ProtobufCFieldDescriptor *field, wd_span text,
                            wd_error *err)
{
    size_t bad_at = 0;
    if (!wd_utf8_valid(text, &bad_at))
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "%s.%s is not UTF-8: byte %zu of %zu", type->name, field->name,
                         bad_at, text.size);
    if (memchr(text.data, '\0', text.size) != NULL)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s.%s has a NUL inside",
                         type->name, field->name);
    return WD_OK;
}

static wd_status enter(scanner *scan, const ProtobufCMessageDescriptor *type,
                       wd_span bytes, wd_error *err)
{
    if (scan->depth + 1 == WD_MESSAGE_DEPTH)
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "messages within messages, deeper than %u", WD_MESSAGE_DEPTH);
    scan->depth++;
    scan->levels[scan->depth].in = wd_wire_read(bytes);
    scan->levels[scan->depth].type = type;
    return WD_OK;
}

static wd_status scan_field(scanner *scan, const wd_wire_field *read, wd_error *err)
{
    const ProtobufCMessageDescriptor *type = scan->levels[scan->depth].type;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(type, read->number);
    if (field == NULL || read->type != WD_WIRE_BYTES)
        return WD_OK; /* unpacking judges wire types */
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return check_text(type, field, read->bytes, err);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return enter(scan, field->descriptor, read->bytes, err);
    return WD_OK;
}

/* One field of the innermost message, or its end. */
static wd_status scan_step(scanner *scan, wd_error *err)
{
    wd_wire_reader *in = &scan->levels[scan->depth].in;
    wd_wire_field field;
    if (wd_wire_next(in, &field))
        return scan_field(scan, &field, err);
    if (in->bad)
        return wd_refuse(err, WD_REASON_MALFORMED, "%s is not protobuf",
                         scan->levels[scan->depth].type->name);
    scan->done = scan->depth == 0;
    if (scan->depth > 0)
        scan->depth--;
    return WD_OK;
}

/* Over the encoded bytes, because in the decoded message a NUL has already cut its
 * string short. Goes no deeper than WD_MESSAGE_DEPTH, and so neither will unpacking. */
wd_status wd_message_check(const ProtobufCMessageDescriptor *type, wd_span bytes,
                           wd_error *err)
{
    scanner scan;
    scan.levels[0].in = wd_wire_read(bytes);
    scan.levels[0].type = type;
    scan.depth = 0;
    scan.done = false;
    while (!scan.done)
        WD_TRY(scan_step(&scan, err));
    return WD_OK;
}

wd_status wd_message_decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                            wd_budget *budget, ProtobufCMessage **ret_message,
                            wd_error *err)
{
    WD_TRY(wd_message_check(type, bytes, err));
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
    if (size == 0)
        return WD_OK; /* and perhaps no memory to point into */
    if (!wd_buffer_reserve(out, size))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory: %s of %zu bytes",
                         message->descriptor->name, size);
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return WD_OK;
}
