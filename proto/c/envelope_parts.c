#include "proto/c/envelope_parts.h"

#include <inttypes.h>
#include <string.h>

#include "proto/c/utf8.h"

static wd_status wrong_type(const char *name, wd_error *err)
{
    return wd_refuse(err, WD_REASON_MALFORMED, "envelope: %s has another type", name);
}

wd_status wd_envelope_take_u64(const wd_wire_field *field, const char *name,
                               uint64_t *ret, wd_error *err)
{
    if (field->type != WD_WIRE_VARINT)
        return wrong_type(name, err);
    *ret = field->value;
    return WD_OK;
}

wd_status wd_envelope_take_u32(const wd_wire_field *field, const char *name,
                               uint32_t *ret, wd_error *err)
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

wd_status wd_envelope_take_bytes(const wd_wire_field *field, const char *name,
                                 wd_span *ret, wd_error *err)
{
    if (field->type != WD_WIRE_BYTES)
        return wrong_type(name, err);
    *ret = field->bytes;
    return WD_OK;
}

wd_status wd_envelope_take_text(const wd_wire_field *field, const char *name,
                                wd_span *ret, wd_error *err)
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

static wd_status read_entry(wd_span bytes, wd_span *key, wd_span *value, wd_error *err)
{
    wd_wire_reader in = wd_wire_read(bytes);
    wd_wire_field field;
    while (wd_wire_next(&in, &field)) {
        if (field.number == WD_FIELD_MAP_KEY)
            WD_TRY(wd_envelope_take_text(&field, "a metadata key", key, err));
        else if (field.number == WD_FIELD_MAP_VALUE)
            WD_TRY(wd_envelope_take_text(&field, "a metadata value", value, err));
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

static wd_status check_key(const wd_envelope_map *map, wd_span key, wd_error *err)
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

wd_status wd_envelope_take_entry(const wd_wire_field *field, wd_envelope_map *map,
                                 wd_error *err)
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

size_t wd_envelope_map_bytes(const wd_envelope_map *map)
{
    return map->bytes + 2 * map->n; /* each with its NUL */
}

const char *wd_envelope_keep_text(char **at, wd_span text)
{
    char *kept = *at;
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    kept[text.size] = '\0';
    *at += text.size + 1;
    return kept;
}

void wd_envelope_keep_map(wd_metadata *ret, char **at, const wd_envelope_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        ret[i].key = wd_envelope_keep_text(at, map->entries[i].key);
        ret[i].value = wd_envelope_keep_text(at, map->entries[i].value);
    }
}

wd_status wd_envelope_check_frame(wd_span frame, wd_error *err)
{
    if (frame.size > WD_FRAME_BYTES)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "envelope of %zu bytes: at most %u (limits.frame_bytes)",
                         frame.size, WD_FRAME_BYTES);
    return WD_OK;
}
