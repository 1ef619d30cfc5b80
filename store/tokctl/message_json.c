#include "store/tokctl/message_json.h"

#include <ctype.h>
#include <string.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "store/tokctl/output.h"

/* Where a field's value stands in a message. */
static const void *member_of(const ProtobufCMessage *message, size_t offset)
{
    return (const char *)message + offset;
}

/* --- values ------------------------------------------------------------------------------ */

static json_t *bytes_json(const ProtobufCBinaryData *bytes, wd_json_style style)
{
    const wd_span span = {bytes->data, bytes->len};
    const bool proto = style == WD_JSON_PROTO;
    WD_AUTO(wd_text) *text =
        malloc(proto ? WD_BASE64_BYTES(bytes->len) : 2 * bytes->len + 1);
    if (text == NULL)
        return NULL;
    (proto ? wd_base64 : wd_hex)(span, text);
    return json_string(text);
}

static bool is_unspecified(const char *name)
{
    const char *end = strstr(name, "UNSPECIFIED");
    return end != NULL && strcmp(end, "UNSPECIFIED") == 0;
}

/* "TOKEN_EXPIRED" as "token_expired", "..._UNSPECIFIED" as ""; an unknown number as it
 * is. */
static json_t *enum_json(int value, const ProtobufCEnumDescriptor *type,
                         wd_json_style style)
{
    const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(type, value);
    char text[64];
    if (known == NULL)
        return json_integer(value);
    if (style == WD_JSON_PROTO)
        return json_string(known->name);
    if (is_unspecified(known->name))
        return json_string("");
    size_t n = 0;
    for (; known->name[n] != '\0' && n + 1 < sizeof(text); n++)
        text[n] = (char)tolower((unsigned char)known->name[n]);
    text[n] = '\0';
    return json_string(text);
}

static json_t *unsigned_json(uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return json_string(text);
}

static json_t *value_json(const ProtobufCFieldDescriptor *field, const void *at,
                          wd_json_style style)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return json_integer(*(const int32_t *)at);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return json_integer(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        return unsigned_json(*(const uint32_t *)at);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return unsigned_json(*(const uint64_t *)at);
    case PROTOBUF_C_TYPE_FLOAT:
        return json_real((double)*(const float *)at);
    case PROTOBUF_C_TYPE_DOUBLE:
        return json_real(*(const double *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_ENUM:
        return enum_json(*(const int *)at, field->descriptor, style);
    case PROTOBUF_C_TYPE_STRING:
        return wd_output_text(*(char *const *)at);
    case PROTOBUF_C_TYPE_BYTES:
        return bytes_json(at, style);
    case PROTOBUF_C_TYPE_MESSAGE:
        return wd_message_json(*(ProtobufCMessage *const *)at, style);
    }
    return json_null();
}

size_t wd_message_element_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    return 4;
}

static json_t *array_json(const ProtobufCMessage *message,
                          const ProtobufCFieldDescriptor *field, wd_json_style style)
{
    const size_t n = *(const size_t *)member_of(message, field->quantifier_offset);
    const char *at = *(char *const *)member_of(message, field->offset);
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < n; i++)
        (void)json_array_append_new(
            array,
            value_json(field, at + i * wd_message_element_size(field->type), style));
    return array;
}

/* --- a message ---------------------------------------------------------------------------- */

/* Is there anything to show? Of a oneof, the member that is set. */
static bool is_absent(const ProtobufCMessage *message,
                      const ProtobufCFieldDescriptor *field)
{
    const void *at = member_of(message, field->offset);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return *(const uint32_t *)member_of(message, field->quantifier_offset) !=
               field->id;
    return field->type == PROTOBUF_C_TYPE_MESSAGE &&
           *(ProtobufCMessage *const *)at == NULL;
}

static bool is_default(const json_t *value)
{
    return (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static json_t *field_json(const ProtobufCMessage *message,
                          const ProtobufCFieldDescriptor *field, wd_json_style style)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return array_json(message, field, style);
    if (is_absent(message, field))
        return NULL;
    return value_json(field, member_of(message, field->offset), style);
}

/* An enum's number 0 is no value either. */
static bool says_nothing(const ProtobufCMessage *message,
                         const ProtobufCFieldDescriptor *field, const json_t *value)
{
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return false;
    if (field->type == PROTOBUF_C_TYPE_ENUM &&
        field->label != PROTOBUF_C_LABEL_REPEATED)
        return *(const int *)member_of(message, field->offset) == 0;
    return is_default(value);
}

json_t *wd_message_json(const ProtobufCMessage *message, wd_json_style style)
{
    if (message == NULL)
        return NULL;
    json_t *object = json_object();
    for (unsigned i = 0; object != NULL && i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        json_t *value = field_json(message, field, style);
        if (value == NULL)
            continue;
        if (style == WD_JSON_PROTO && says_nothing(message, field, value))
            json_decref(value);
        else
            (void)json_object_set_new(object, field->name, value);
    }
    return object;
}

/* --- for people ------------------------------------------------------------------------------ */

static const char *type_name(const ProtobufCFieldDescriptor *field)
{
    static const char *const names[] = {
        "int32",  "int32",  "int32",  "int64",  "int64",  "int64",
        "uint32", "uint32", "uint64", "uint64", "number", "number",
        "bool",   "enum",   "string", "bytes",  "message"};
    if ((size_t)field->type < sizeof(names) / sizeof(names[0]))
        return names[field->type];
    return "?";
}

static void describe_enum(FILE *out, const ProtobufCEnumDescriptor *type)
{
    for (unsigned i = 0; i < type->n_values; i++)
        (void)fprintf(out, "%s%s", i > 0 ? "|" : " ", type->values[i].name);
}

static void describe(FILE *out, const ProtobufCMessageDescriptor *type, int depth)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const bool many = field->label == PROTOBUF_C_LABEL_REPEATED;
        (void)fprintf(out, "%*s%s: %s%s", 4 + 2 * depth, "", field->name,
                      many ? "list of " : "", type_name(field));
        if (field->type == PROTOBUF_C_TYPE_ENUM)
            describe_enum(out, field->descriptor);
        (void)fputc('\n', out);
        if (field->type ==
            PROTOBUF_C_TYPE_MESSAGE) /* never recursive: the plugin's rule */
            describe(out, field->descriptor, depth + 1);
    }
}

char *wd_message_describe(const ProtobufCMessageDescriptor *type)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    if (type->n_fields == 0)
        (void)fprintf(out, "    (nothing)\n");
    describe(out, type, 0);
    (void)fclose(out);
    return text;
}
