#include "proto/c/wire.h"

#include <string.h>

#define MAX_VARINT_BYTES 10U
#define MAX_FIELD_NUMBER ((1U << 29) - 1U)

wd_wire_reader wd_wire_read(wd_span bytes)
{
    return (wd_wire_reader){.rest = bytes, .bad = false};
}

static void advance(wd_span *rest, size_t size)
{
    rest->data += size;
    rest->size -= size;
}

/* Refuses what would not fit in 64 bits instead of cutting it, as protobuf may. */
bool wd_wire_take_number(wd_span *rest, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < MAX_VARINT_BYTES && i < rest->size; i++) {
        uint64_t bits = rest->data[i] & 0x7FU;
        if (i == MAX_VARINT_BYTES - 1 && bits > 1)
            return false;
        value |= bits << (7 * i);
        if ((rest->data[i] & 0x80U) == 0) {
            advance(rest, i + 1);
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool take_fixed(wd_span *rest, size_t size, uint64_t *ret)
{
    if (rest->size < size)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)rest->data[i] << (8 * i);
    advance(rest, size);
    *ret = value;
    return true;
}

static bool take_bytes(wd_span *rest, wd_span *ret)
{
    uint64_t size = 0;
    if (!wd_wire_take_number(rest, &size) || size > rest->size)
        return false;
    *ret = (wd_span){.data = rest->data, .size = (size_t)size};
    advance(rest, (size_t)size);
    return true;
}

static bool take_content(wd_span *rest, uint64_t wire_type, wd_wire_field *field)
{
    switch (wire_type) {
    case WD_WIRE_VARINT:
        field->type = WD_WIRE_VARINT;
        return wd_wire_take_number(rest, &field->value);
    case WD_WIRE_FIXED64:
        field->type = WD_WIRE_FIXED64;
        return take_fixed(rest, 8, &field->value);
    case WD_WIRE_BYTES:
        field->type = WD_WIRE_BYTES;
        return take_bytes(rest, &field->bytes);
    case WD_WIRE_FIXED32:
        field->type = WD_WIRE_FIXED32;
        return take_fixed(rest, 4, &field->value);
    default:
        return false;
    }
}

static bool take_field(wd_span *rest, wd_wire_field *field)
{
    uint64_t tag = 0;
    if (!wd_wire_take_number(rest, &tag))
        return false;
    uint64_t number = tag >> 3;
    if (number == 0 || number > MAX_FIELD_NUMBER)
        return false;
    field->number = (uint32_t)number;
    return take_content(rest, tag & 7U, field);
}

bool wd_wire_next(wd_wire_reader *reader, wd_wire_field *ret_field)
{
    if (reader->bad || reader->rest.size == 0)
        return false;
    *ret_field = (wd_wire_field){.bytes = {.data = (const uint8_t *)"", .size = 0}};
    reader->bad = !take_field(&reader->rest, ret_field);
    return !reader->bad;
}

static bool put_varint(wd_buffer *out, uint64_t value)
{
    uint8_t bytes[MAX_VARINT_BYTES];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)((value & 0x7FU) | (value > 0x7FU ? 0x80U : 0U));
        value >>= 7;
        n++;
    } while (value != 0);
    return wd_buffer_append(out, bytes, n);
}

static bool put_tag(wd_buffer *out, uint32_t field, wd_wire_type type)
{
    return put_varint(out, ((uint64_t)field << 3) | (uint64_t)type);
}

bool wd_wire_put_number(wd_buffer *out, uint32_t field, uint64_t value)
{
    if (value == 0)
        return true;
    return put_tag(out, field, WD_WIRE_VARINT) && put_varint(out, value);
}

bool wd_wire_put_part(wd_buffer *out, uint32_t field, wd_span bytes)
{
    return put_tag(out, field, WD_WIRE_BYTES) && put_varint(out, bytes.size) &&
           wd_buffer_append(out, bytes.data, bytes.size);
}

bool wd_wire_put_bytes(wd_buffer *out, uint32_t field, wd_span bytes)
{
    return bytes.size == 0 || wd_wire_put_part(out, field, bytes);
}
