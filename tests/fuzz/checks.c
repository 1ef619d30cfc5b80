#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/utf8.h"

void fuzz_broken(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, cond);
    abort();
}

wd_span fuzz_bytes(wd_span *in, size_t size)
{
    wd_span out = {in->data, size < in->size ? size : in->size};

    if (out.size > 0)
        *in = (wd_span){in->data + out.size, in->size - out.size};
    return out;
}

uint8_t fuzz_byte(wd_span *in)
{
    wd_span one = fuzz_bytes(in, 1);
    return one.size == 1 ? one.data[0] : 0;
}

uint32_t fuzz_u32(wd_span *in)
{
    uint32_t value = 0;

    for (size_t i = 0; i < sizeof(value); i++)
        value = value << 8 | fuzz_byte(in);
    return value;
}

wd_span fuzz_line(wd_span *in)
{
    const uint8_t *end = in->size > 0 ? memchr(in->data, '\n', in->size) : NULL;
    wd_span line = fuzz_bytes(in, end != NULL ? (size_t)(end - in->data) : in->size);

    (void)fuzz_byte(in);
    return line;
}

char *fuzz_text(wd_span bytes)
{
    char *text = malloc(bytes.size + 1);

    FUZZ_CHECK(text != NULL);
    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return text;
}

uint32_t fuzz_next(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

bool fuzz_equal(wd_span a, wd_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void check_text(const char *text)
{
    FUZZ_CHECK(text != NULL);
    FUZZ_CHECK(wd_utf8_valid((wd_span){(const uint8_t *)text, strlen(text)}, NULL));
}

void fuzz_check_error(wd_status status, const wd_error *err)
{
    FUZZ_CHECK(status != WD_OK);
    FUZZ_CHECK(err->status == status);
    FUZZ_CHECK(err->msg[0] != '\0');
    FUZZ_CHECK(memchr(err->msg, '\0', sizeof(err->msg)) != NULL);
    check_text(err->msg);
    if (err->reason != WD_REASON_NONE)
        FUZZ_CHECK(wd_reason_status(err->reason) == status);
}

void fuzz_check_refusal(wd_status status, const wd_error *err)
{
    fuzz_check_error(status, err);
    FUZZ_CHECK(err->reason != WD_REASON_NONE);
}

/* The member of a message that holds a field's value, as the descriptor says. */
static const void *member_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

static bool is_set(const ProtobufCMessage *message,
                   const ProtobufCFieldDescriptor *field)
{
    uint32_t which = 0;

    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0)
        return true;
    memcpy(&which, member_at(message, field->quantifier_offset), sizeof(which));
    return which == field->id;
}

static void check_value(const ProtobufCFieldDescriptor *field, const void *value)
{
    if (field->type == PROTOBUF_C_TYPE_STRING)
        check_text(value);
    else if (value != NULL)
        fuzz_check_texts(value);
}

static void check_field(const ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field)
{
    void *value = NULL;
    size_t n = 0;

    memcpy(&value, member_at(message, field->offset), sizeof(value));
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        check_value(field, value);
        return;
    }
    memcpy(&n, member_at(message, field->quantifier_offset), sizeof(n));
    for (size_t i = 0; i < n; i++)
        check_value(field, ((void *const *)value)[i]);
}

void fuzz_check_texts(const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool looked_at = field->type == PROTOBUF_C_TYPE_STRING ||
                         field->type == PROTOBUF_C_TYPE_MESSAGE;
        if (looked_at && is_set(message, field))
            check_field(message, field);
    }
}
