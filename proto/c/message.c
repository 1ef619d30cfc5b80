#include "proto/c/message.h"

#include <inttypes.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "proto/c/wire.h"

/* What a scan collects of a list whose elements stand for themselves. */
typedef struct list_scan {
    const ProtobufCFieldDescriptor *list;
    wd_span bytes; /* of the whole message */
    wd_budget *budget;
    uint8_t *copy;     /* of `bytes`, with '?' in the faults; NULL: there is none yet */
    size_t n_elements; /* begun */
    const char *field; /* of the element, where the scan stands; NULL: in no element */
    wd_text_fault *first;
    wd_text_fault **next; /* where the next fault goes */
} list_scan;

/* Where the scan stands: in the message of levels[depth], inside that of depth - 1. */
typedef struct scanner {
    struct {
        wd_wire_reader in;
        const ProtobufCMessageDescriptor *type;
    } levels[WD_MESSAGE_DEPTH];
    size_t depth;
    bool done;
    bool asked;         /* a request: each enum has one of its values */
    list_scan *of_list; /* NULL: a fault is the whole message's */
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

static wd_status spent(wd_span bytes, const wd_budget *budget, const char *name,
                       wd_error *err)
{
    return wd_refuse(err, WD_REASON_TOO_LARGE,
                     "decoding %s of %zu bytes would take more than its budget of %zu "
                     "bytes of memory",
                     name, bytes.size, wd_budget_limit(budget));
}

/* The element has a text that is none: why, is in *why. false: the budget is spent. */
static bool note_fault(list_scan *in, wd_span text, const wd_error *why)
{
    wd_text_fault *fault = wd_budget_take(in->budget, sizeof(*fault));
    const char *message = wd_budget_text(in->budget, why->msg, strlen(why->msg));
    if (in->copy == NULL) {
        in->copy = wd_budget_take(in->budget, in->bytes.size);
        if (in->copy != NULL)
            memcpy(in->copy, in->bytes.data, in->bytes.size);
    }
    if (fault == NULL || message == NULL || in->copy == NULL)
        return false;
    memset(in->copy + (text.data - in->bytes.data), '?', text.size);
    *fault = (wd_text_fault){.element = in->n_elements - 1,
                             .field = in->field,
                             .text = text,
                             .reason = why->reason,
                             .message = message};
    *in->next = fault;
    in->next = &fault->next;
    return true;
}

/* A text of the innermost message. */
static wd_status scan_text(scanner *scan, const ProtobufCFieldDescriptor *field,
                           wd_span text, wd_error *err)
{
    const ProtobufCMessageDescriptor *type = scan->levels[scan->depth].type;
    list_scan *in = scan->of_list;
    if (in == NULL || in->field == NULL)
        return check_text(type, field, text, err);
    wd_error why;
    if (check_text(type, field, text, &why) == WD_OK || note_fault(in, text, &why))
        return WD_OK;
    return spent(in->bytes, in->budget, type->name, err);
}

/* Keep up with which field of which element the scan comes to. */
static void follow_list(const scanner *scan, const ProtobufCFieldDescriptor *field)
{
    list_scan *in = scan->of_list;
    if (in == NULL)
        return;
    if (scan->depth == 0) {
        in->n_elements += field == in->list;
        in->field = field == in->list ? field->name : NULL;
    } else if (scan->depth == 1 && in->field != NULL) {
        in->field = field->name;
    }
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

static wd_wire_type wire_type(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WD_WIRE_FIXED32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WD_WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WD_WIRE_BYTES;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    return WD_WIRE_VARINT;
}

/* Judged here, because unpacking takes a bool of any wire type. A list of numbers may
 * come packed. */
static bool fits(const ProtobufCFieldDescriptor *field, wd_wire_type type)
{
    bool packed = field->label == PROTOBUF_C_LABEL_REPEATED && type == WD_WIRE_BYTES;
    return packed || type == wire_type(field->type);
}

static wd_status another_type(const ProtobufCMessageDescriptor *type, wd_error *err)
{
    return wd_refuse(err, WD_REASON_MALFORMED, "%s has a field of another type",
                     type->name);
}

/* Whether a number is one of the field's type. Unpacking would cut it to 32 bits: 2^32
 * would be 0. A negative one comes in 5 bytes or, sign-extended to 64 bits, in 10. */
static bool in_range(ProtobufCType type, uint64_t value)
{
    if (type == PROTOBUF_C_TYPE_INT32 || type == PROTOBUF_C_TYPE_ENUM)
        return value <= UINT32_MAX || value >= (uint64_t)INT32_MIN;
    if (type == PROTOBUF_C_TYPE_UINT32 || type == PROTOBUF_C_TYPE_SINT32)
        return value <= UINT32_MAX;
    return true;
}

/* A number of the innermost message. */
static wd_status check_number(const scanner *scan,
                              const ProtobufCFieldDescriptor *field, uint64_t value,
                              wd_error *err)
{
    const char *type = scan->levels[scan->depth].type->name;
    if (!in_range(field->type, value))
        return wd_refuse(err, WD_REASON_MALFORMED,
                         "%s.%s is %" PRIu64 ", which is no number of 32 bits", type,
                         field->name, value);
    if (!scan->asked || field->type != PROTOBUF_C_TYPE_ENUM ||
        protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value) != NULL)
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID,
                     "%s.%s is %d, which is none of its values", type, field->name,
                     (int)value);
}

/* A list of numbers that came packed. */
static wd_status check_packed(const scanner *scan,
                              const ProtobufCFieldDescriptor *field, wd_span rest,
                              wd_error *err)
{
    if (wire_type(field->type) != WD_WIRE_VARINT)
        return WD_OK;
    while (rest.size > 0) {
        uint64_t value = 0;
        if (!wd_wire_take_number(&rest, &value))
            return another_type(scan->levels[scan->depth].type, err);
        WD_TRY(check_number(scan, field, value, err));
    }
    return WD_OK;
}

static wd_status scan_field(scanner *scan, const wd_wire_field *read, wd_error *err)
{
    const ProtobufCMessageDescriptor *type = scan->levels[scan->depth].type;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(type, read->number);
    if (field == NULL)
        return WD_OK;
    if (!fits(field, read->type))
        return another_type(type, err);
    if (read->type != WD_WIRE_BYTES)
        return check_number(scan, field, read->value, err);
    follow_list(scan, field);
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return scan_text(scan, field, read->bytes, err);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return enter(scan, field->descriptor, read->bytes, err);
    return check_packed(scan, field, read->bytes, err);
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
static wd_status scan_all(const ProtobufCMessageDescriptor *type, wd_span bytes,
                          bool asked, list_scan *of_list, wd_error *err)
{
    scanner scan;
    scan.levels[0].in = wd_wire_read(bytes);
    scan.levels[0].type = type;
    scan.depth = 0;
    scan.done = false;
    scan.asked = asked;
    scan.of_list = of_list;
    while (!scan.done)
        WD_TRY(scan_step(&scan, err));
    return WD_OK;
}

static wd_status unpack(const ProtobufCMessageDescriptor *type, wd_span bytes,
                        wd_budget *budget, ProtobufCMessage **ret_message,
                        wd_error *err)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(
        type, wd_budget_allocator(budget), bytes.size, bytes.data);
    if (message != NULL) {
        *ret_message = message;
        return WD_OK;
    }
    if (wd_budget_spent(budget))
        return spent(bytes, budget, type->name, err);
    return another_type(type, err);
}

wd_status wd_message_check(const ProtobufCMessageDescriptor *type, wd_span bytes,
                           wd_error *err)
{
    return scan_all(type, bytes, false, NULL, err);
}

wd_status wd_message_decode(const ProtobufCMessageDescriptor *type, wd_span bytes,
                            wd_budget *budget, ProtobufCMessage **ret_message,
                            wd_error *err)
{
    WD_TRY(scan_all(type, bytes, false, NULL, err));
    return unpack(type, bytes, budget, ret_message, err);
}

wd_status wd_message_decode_request(const ProtobufCMessageDescriptor *type,
                                    wd_span bytes, wd_budget *budget,
                                    ProtobufCMessage **ret_message, wd_error *err)
{
    WD_TRY(scan_all(type, bytes, true, NULL, err));
    return unpack(type, bytes, budget, ret_message, err);
}

static const ProtobufCFieldDescriptor *find_list(const ProtobufCMessageDescriptor *type)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(type, WD_MESSAGE_LIST);
    return field != NULL && field->label == PROTOBUF_C_LABEL_REPEATED &&
                   field->type == PROTOBUF_C_TYPE_MESSAGE
               ? field
               : NULL;
}

wd_status wd_message_decode_list(const ProtobufCMessageDescriptor *type, wd_span bytes,
                                 wd_budget *budget, wd_listed *ret, wd_error *err)
{
    list_scan in = {.list = find_list(type), .bytes = bytes, .budget = budget};
    in.next = &in.first;
    WD_TRY(scan_all(type, bytes, true, &in, err));
    if (in.copy != NULL)
        bytes.data = in.copy;
    WD_TRY(unpack(type, bytes, budget, &ret->message, err));
    ret->faults = in.first;
    return WD_OK;
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
