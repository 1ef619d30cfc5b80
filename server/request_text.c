#include "server/request_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/c/message.h"
#include "proto/c/utf8.h"

/* A text is written with the first bounds under which the whole fits into a row. */
static const struct bounds {
    size_t text;   /* bytes of one text */
    size_t number; /* elements of one list */
} bounds[] = {{3072, 64}, {512, 32}, {64, 16}, {16, 4}};

typedef struct writing {
    const struct bounds *bounds;
    const wd_secret_names *names;
    wd_buffer out;
    bool failed; /* no memory */
} writing;

static void put(writing *w, const char *text, size_t size)
{
    if (!wd_buffer_append(&w->out, text, size))
        w->failed = true;
}

static void put_word(writing *w, const char *text)
{
    put(w, text, strlen(text));
}

/* --- text --------------------------------------------------------------------------------- */

static void put_char(writing *w, unsigned char c)
{
    char piece[8] = {(char)c};
    size_t size = 1;
    if (c == '"' || c == '\\')
        size = (size_t)snprintf(piece, sizeof(piece), "\\%c", c);
    else if (c < 0x20 || c == 0x7F)
        size = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", c);
    put(w, piece, size);
}

/* Without its secrets first, then cut: half a token is one no more. */
static void put_text(writing *w, const char *text)
{
    WD_AUTO_BUFFER clean = WD_BUFFER_INIT;
    wd_span bytes = {(const uint8_t *)text, strlen(text)};
    if (!wd_redact(bytes, w->names, &clean)) {
        w->failed = true;
        return;
    }
    bytes = wd_buffer_span(&clean);
    size_t size = wd_utf8_cut(bytes, w->bounds->text);
    put_word(w, "\"");
    for (size_t i = 0; i < size; i++)
        put_char(w, bytes.data[i]);
    if (size < bytes.size) {
        char rest[48];
        (void)snprintf(rest, sizeof(rest), "...(%zu bytes more)", bytes.size - size);
        put_word(w, rest);
    }
    put_word(w, "\"");
}

/* --- values ------------------------------------------------------------------------------- */

static void put_message(writing *w, const ProtobufCMessage *message);

static void put_enum(writing *w, const ProtobufCFieldDescriptor *field, int value)
{
    const ProtobufCEnumValue *known =
        protobuf_c_enum_descriptor_get_value(field->descriptor, value);
    char text[96];
    if (known != NULL)
        (void)snprintf(text, sizeof(text), "\"%s\"", known->name);
    else
        (void)snprintf(text, sizeof(text), "%d", value);
    put_word(w, text);
}

static void put_number(writing *w, ProtobufCType type, const void *at)
{
    char text[40];
    if (type == PROTOBUF_C_TYPE_UINT32 || type == PROTOBUF_C_TYPE_FIXED32)
        (void)snprintf(text, sizeof(text), "%" PRIu32, *(const uint32_t *)at);
    else if (type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_FIXED64)
        (void)snprintf(text, sizeof(text), "%" PRIu64, *(const uint64_t *)at);
    else if (type == PROTOBUF_C_TYPE_DOUBLE)
        (void)snprintf(text, sizeof(text), "\"%.17g\"", *(const double *)at);
    else if (type == PROTOBUF_C_TYPE_FLOAT)
        (void)snprintf(text, sizeof(text), "\"%.9g\"", (double)*(const float *)at);
    else if (type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_SINT64 ||
             type == PROTOBUF_C_TYPE_SFIXED64)
        (void)snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)at);
    else
        (void)snprintf(text, sizeof(text), "%" PRId32, *(const int32_t *)at);
    put_word(w, text);
}

static void put_bytes(writing *w, const ProtobufCBinaryData *bytes)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "\"(%zu bytes)\"", bytes->len);
    put_word(w, text);
}

static void put_value(writing *w, const ProtobufCFieldDescriptor *field, const void *at)
{
    if (field->type == PROTOBUF_C_TYPE_STRING)
        put_text(w, *(const char *const *)at);
    else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        put_message(w, *(const ProtobufCMessage *const *)at);
    else if (field->type == PROTOBUF_C_TYPE_BYTES)
        put_bytes(w, at);
    else if (field->type == PROTOBUF_C_TYPE_BOOL)
        put_word(w, *(const protobuf_c_boolean *)at ? "true" : "false");
    else if (field->type == PROTOBUF_C_TYPE_ENUM)
        put_enum(w, field, *(const int *)at);
    else
        put_number(w, field->type, at);
}

/* --- members ------------------------------------------------------------------------------ */

static const void *member(const ProtobufCMessage *message, size_t offset)
{
    return (const char *)message + offset;
}

static size_t value_size(ProtobufCType type)
{
    switch ((int)type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    default:
        return sizeof(uint32_t);
    }
}

/* How many elements a field has; of a single one, whether it is set: 0 or 1. */
static size_t count(const ProtobufCMessage *message,
                    const ProtobufCFieldDescriptor *field)
{
    static const char zero[sizeof(ProtobufCBinaryData)];
    const void *at = member(message, field->offset);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)member(message, field->quantifier_offset);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return *(const uint32_t *)member(message, field->quantifier_offset) ==
               field->id;
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(const char *const *)at;
        return text != NULL && text[0] != '\0';
    }
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)at)->len != 0;
    return memcmp(at, zero, value_size(field->type)) != 0;
}

static void put_list(writing *w, const ProtobufCFieldDescriptor *field,
                     const char *elements, size_t n)
{
    size_t most = n < w->bounds->number ? n : w->bounds->number;
    put_word(w, "[");
    for (size_t i = 0; i < most; i++) {
        put_word(w, i > 0 ? "," : "");
        put_value(w, field, elements + i * value_size(field->type));
    }
    if (most < n) {
        char rest[48];
        (void)snprintf(rest, sizeof(rest), ",\"...(%zu more)\"", n - most);
        put_word(w, rest);
    }
    put_word(w, "]");
}

static void put_member(writing *w, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field, size_t n)
{
    const wd_span name = {(const uint8_t *)field->name, strlen(field->name)};
    const void *at = member(message, field->offset);
    put_word(w, "\"");
    put_word(w, field->name);
    put_word(w, "\":");
    if (wd_secret_named(w->names, name))
        put_word(w, "\"" WD_REDACTED "\"");
    else if (field->label == PROTOBUF_C_LABEL_REPEATED)
        put_list(w, field, *(const char *const *)at, n);
    else
        put_value(w, field, at);
}

static void put_message(writing *w, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    bool first = true;
    put_word(w, "{");
    for (unsigned i = 0; i < type->n_fields; i++) {
        size_t n = count(message, &type->fields[i]);
        if (n == 0)
            continue;
        put_word(w, first ? "" : ",");
        put_member(w, message, &type->fields[i], n);
        first = false;
    }
    put_word(w, "}");
}

/* --- all of it ---------------------------------------------------------------------------- */

/* One pair of rows is of one item. */
static const ProtobufCMessage *part_of(const ProtobufCMessage *message, uint32_t item)
{
    const ProtobufCFieldDescriptor *items =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor,
                                                        WD_MESSAGE_LIST);
    if (items == NULL || items->label != PROTOBUF_C_LABEL_REPEATED ||
        items->type != PROTOBUF_C_TYPE_MESSAGE || item >= count(message, items))
        return message;
    return (*(ProtobufCMessage *const *const *)member(message, items->offset))[item];
}

static void put_all(writing *w, const char *opening, const ProtobufCMessage *message)
{
    wd_buffer_clear(&w->out);
    put_word(w, opening);
    put_word(w, "\"request\":");
    if (w->bounds != NULL)
        put_message(w, message);
    else
        put_word(w, "\"(too large)\"");
    put_word(w, "}");
}

const char *wd_request_text(const char *opening, const ProtobufCMessage *message,
                            uint32_t item, const wd_secret_names *names,
                            wd_budget *budget)
{
    const ProtobufCMessage *part = part_of(message, item);
    const char *text = NULL;
    writing w = {.bounds = bounds, .names = names, .out = WD_BUFFER_INIT};
    put_all(&w, opening, part);
    for (size_t i = 1; w.out.size > WD_REQUEST_TEXT_BYTES && !w.failed; i++) {
        w.bounds = i < sizeof(bounds) / sizeof(bounds[0]) ? &bounds[i] : NULL;
        put_all(&w, opening, part);
    }
    if (!w.failed)
        text = wd_budget_text(budget, w.out.data, w.out.size);
    wd_buffer_done(&w.out);
    return text;
}
