/* The other half of message_json.h: from JSON. */
#include <ctype.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "store/tokctl/message_json.h"

/* What is being read, for messages and memory. */
typedef struct parse {
    wd_budget *budget;
    const ProtobufCFieldDescriptor *field;
    wd_error *err;
} parse;

static wd_status wrong(const parse *p, const char *what)
{
    return wd_fail(p->err, WD_INVALID_ARGUMENT, "\"%s\" must be %s", p->field->name,
                   what);
}

static wd_status no_room(const parse *p)
{
    return wd_fail(p->err, WD_RESOURCE_EXHAUSTED, "no memory for the request");
}

/* Digits, after a '-' or none: what protobuf's JSON has for 64 bits. */
static bool read_digits(const json_t *value, bool *ret_negative, uint64_t *ret)
{
    const char *at = json_string_value(value);
    if (at == NULL || strlen(at) != json_string_length(value))
        return false;
    *ret_negative = *at == '-';
    at += *ret_negative;
    *ret = 0;
    if (*at == '\0' || strspn(at, "0123456789") != strlen(at))
        return false;
    for (; *at != '\0'; at++)
        if (__builtin_mul_overflow(*ret, 10U, ret) ||
            __builtin_add_overflow(*ret, (uint64_t)(*at - '0'), ret))
            return false;
    return true;
}

/* A whole number of -`below` to `most`, in two's complement: a number of JSON, or a text
 * of digits. */
static bool number_of(const json_t *value, uint64_t below, uint64_t most, uint64_t *ret)
{
    const json_int_t number = json_integer_value(value);
    bool negative = number < 0;
    uint64_t size = negative ? 0 - (uint64_t)number : (uint64_t)number;
    if (!json_is_integer(value) && !read_digits(value, &negative, &size))
        return false;
    *ret = negative ? 0 - size : size;
    return size <= (negative ? below : most);
}

static wd_status out_of_range(const parse *p, bool positive, uint64_t most)
{
    return wd_fail(p->err, WD_INVALID_ARGUMENT,
                   "\"%s\" must be a whole number of %s%llu to %llu", p->field->name,
                   positive ? "" : "-", positive ? 0ULL : (unsigned long long)most + 1,
                   (unsigned long long)most);
}

static wd_status take_number(const parse *p, const json_t *value, void *at)
{
    const bool wide = p->field->type == PROTOBUF_C_TYPE_INT64 ||
                      p->field->type == PROTOBUF_C_TYPE_SINT64 ||
                      p->field->type == PROTOBUF_C_TYPE_SFIXED64 ||
                      p->field->type == PROTOBUF_C_TYPE_UINT64 ||
                      p->field->type == PROTOBUF_C_TYPE_FIXED64;
    const bool positive = p->field->type == PROTOBUF_C_TYPE_UINT32 ||
                          p->field->type == PROTOBUF_C_TYPE_FIXED32 ||
                          p->field->type == PROTOBUF_C_TYPE_UINT64 ||
                          p->field->type == PROTOBUF_C_TYPE_FIXED64;
    uint64_t number = 0;
    uint64_t most = wide ? UINT64_MAX : UINT32_MAX;
    if (!positive)
        most /= 2;
    if (!number_of(value, positive ? 0 : most + 1, most, &number))
        return out_of_range(p, positive, most);
    if (wide)
        *(uint64_t *)at = number;
    else
        *(uint32_t *)at = (uint32_t)number;
    return WD_OK;
}

static wd_status take_real(const parse *p, const json_t *value, void *at)
{
    if (!json_is_number(value))
        return wrong(p, "a number");
    if (p->field->type == PROTOBUF_C_TYPE_FLOAT)
        *(float *)at = (float)json_number_value(value);
    else
        *(double *)at = json_number_value(value);
    return WD_OK;
}

static wd_status take_enum(const parse *p, const json_t *value, void *at)
{
    const ProtobufCEnumDescriptor *type = p->field->descriptor;
    uint64_t number = 0;
    if (json_is_integer(value)) {
        if (!number_of(value, (uint64_t)INT32_MAX + 1, INT32_MAX, &number))
            return out_of_range(p, false, INT32_MAX);
        *(int *)at = (int)(int64_t)number;
        return WD_OK;
    }
    const ProtobufCEnumValue *known =
        json_is_string(value) ? protobuf_c_enum_descriptor_get_value_by_name(
                                    type, json_string_value(value))
                              : NULL;
    if (known == NULL)
        return wrong(p, "one of the names that `tokctl describe` shows");
    *(int *)at = known->value;
    return WD_OK;
}

static wd_status take_text(const parse *p, const json_t *value, void *at)
{
    if (!json_is_string(value) ||
        strlen(json_string_value(value)) != json_string_length(value))
        return wrong(p, "a string");
    char *copy =
        wd_budget_text(p->budget, json_string_value(value), json_string_length(value));
    if (copy == NULL)
        return no_room(p);
    *(char **)at = copy;
    return WD_OK;
}

static wd_status take_bytes(const parse *p, const json_t *value, void *at)
{
    ProtobufCBinaryData *bytes = at;
    const char *text = json_string_value(value);
    if (text == NULL)
        return wrong(p, "a string in base64");
    bytes->data = wd_budget_take(p->budget, json_string_length(value) + 1);
    if (bytes->data == NULL)
        return no_room(p);
    if (!wd_base64_parse(text, bytes->data, json_string_length(value) + 1, &bytes->len))
        return wrong(p, "a string in base64");
    return WD_OK;
}

static wd_status take_value(const parse *p, const json_t *value, void *at)
{
    switch (p->field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        if (!json_is_boolean(value))
            return wrong(p, "true or false");
        *(protobuf_c_boolean *)at = json_is_true(value);
        return WD_OK;
    case PROTOBUF_C_TYPE_ENUM:
        return take_enum(p, value, at);
    case PROTOBUF_C_TYPE_STRING:
        return take_text(p, value, at);
    case PROTOBUF_C_TYPE_BYTES:
        return take_bytes(p, value, at);
    case PROTOBUF_C_TYPE_MESSAGE:
        return wd_message_of_json(value, p->field->descriptor, p->budget,
                                  (ProtobufCMessage **)at, p->err);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        return take_real(p, value, at);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        break;
    }
    return take_number(p, value, at);
}

static wd_status take_array(const parse *p, const json_t *value,
                            ProtobufCMessage *message)
{
    const size_t size = wd_message_element_size(p->field->type);
    const size_t n = json_array_size(value);
    if (!json_is_array(value))
        return wrong(p, "a list");
    char *elements = wd_budget_take(p->budget, n * size + 1);
    if (elements == NULL)
        return no_room(p);
    memset(elements, 0, n * size + 1);
    for (size_t i = 0; i < n; i++)
        WD_TRY(take_value(p, json_array_get(value, i), elements + i * size));
    memcpy((char *)message + p->field->quantifier_offset, &n, sizeof(n));
    memcpy((char *)message + p->field->offset, &elements, sizeof(elements));
    return WD_OK;
}

static wd_status take_field(const parse *p, const json_t *value,
                            ProtobufCMessage *message)
{
    if (p->field->label == PROTOBUF_C_LABEL_REPEATED)
        return take_array(p, value, message);
    if ((p->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        memcpy((char *)message + p->field->quantifier_offset, &p->field->id,
               sizeof(p->field->id));
    return take_value(p, value, (char *)message + p->field->offset);
}

/* camelCase as well as snake_case. */
static bool same_name(const char *proto, const char *json)
{
    while (*proto != '\0' && *json != '\0') {
        const bool hump = *proto == '_' && *json != '_';
        if (hump)
            proto++;
        if (*json != (hump ? (char)toupper((unsigned char)*proto) : *proto))
            return false;
        proto++;
        json++;
    }
    return *proto == '\0' && *json == '\0';
}

static const ProtobufCFieldDescriptor *
find_field(const ProtobufCMessageDescriptor *type, const char *name)
{
    for (unsigned i = 0; i < type->n_fields; i++)
        if (same_name(type->fields[i].name, name))
            return &type->fields[i];
    return NULL;
}

static wd_status take_members(const json_t *object, wd_budget *budget,
                              ProtobufCMessage *message, wd_error *err)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    const char *name = NULL;
    json_t *value = NULL;
    json_t *members = json_incref((json_t *)(uintptr_t)object); /* to be looped over */
    wd_status status = WD_OK;
    json_object_foreach(members, name, value)
    {
        const parse p = {budget, find_field(type, name), err};
        if (status != WD_OK || json_is_null(value))
            continue;
        if (p.field == NULL)
            status = wd_fail(err, WD_INVALID_ARGUMENT, "%s has no \"%.64s\"",
                             type->short_name, name);
        else
            status = take_field(&p, value, message);
    }
    json_decref(members);
    return status;
}

wd_status wd_message_of_json(const json_t *object,
                             const ProtobufCMessageDescriptor *type, wd_budget *budget,
                             ProtobufCMessage **ret, wd_error *err)
{
    if (!json_is_object(object))
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s must be a JSON object",
                       type->short_name);
    ProtobufCMessage *message = wd_budget_take(budget, type->sizeof_message);
    if (message == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the request");
    protobuf_c_message_init(type, message);
    WD_TRY(take_members(object, budget, message, err));
    *ret = message;
    return WD_OK;
}
