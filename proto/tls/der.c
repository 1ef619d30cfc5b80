#include "proto/tls/der.h"

#include <stddef.h>
#include <time.h>

#include "proto/c/utf8.h"

/* Bytes of the length field at `at`, and the length itself. */
static bool read_length(const uint8_t *at, size_t left, size_t *ret_field,
                        size_t *ret_length)
{
    size_t bytes, length = 0;

    if (left == 0)
        return false;
    if (at[0] < 0x80) {
        *ret_field = 1;
        *ret_length = at[0];
        return true;
    }
    bytes = at[0] & 0x7fU;
    if (bytes == 0 || bytes > 3 ||
        bytes >= left) /* 16 MiB is more than a certificate */
        return false;
    for (size_t i = 1; i <= bytes; i++)
        length = length << 8 | at[i];
    if (length < 0x80 || at[1] == 0) /* a shorter form exists */
        return false;
    *ret_field = bytes + 1;
    *ret_length = length;
    return true;
}

bool wd_der_take_any(wd_span *in, uint8_t *ret_tag, wd_span *ret_content)
{
    size_t field, length;

    if (in->size < 2 || (in->data[0] & 0x1f) == 0x1f) /* no multi-byte tags */
        return false;
    if (!read_length(in->data + 1, in->size - 1, &field, &length))
        return false;
    if (length > in->size - 1 - field)
        return false;
    *ret_tag = in->data[0];
    *ret_content = (wd_span){in->data + 1 + field, length};
    *in = (wd_span){in->data + 1 + field + length, in->size - 1 - field - length};
    return true;
}

bool wd_der_take(wd_span *in, uint8_t tag, wd_span *ret_content)
{
    uint8_t seen;

    if (in->size == 0 || in->data[0] != tag)
        return false;
    return wd_der_take_any(in, &seen, ret_content);
}

bool wd_der_take_optional(wd_span *in, uint8_t tag, wd_span *ret_content)
{
    *ret_content = (wd_span){NULL, 0};
    if (in->size == 0 || in->data[0] != tag)
        return true;
    return wd_der_take(in, tag, ret_content);
}

static bool two_digits(const uint8_t *at, int lowest, int highest, int *ret)
{
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return false;
    *ret = (at[0] - '0') * 10 + (at[1] - '0');
    return *ret >= lowest && *ret <= highest;
}

/* MMDDHHMMSSZ, 11 bytes, after a year of four digits. */
static bool read_moment(const uint8_t *at, int year, int64_t *ret_ms)
{
    struct tm tm = {.tm_year = year - 1900};

    if (!two_digits(at, 1, 12, &tm.tm_mon) || !two_digits(at + 2, 1, 31, &tm.tm_mday) ||
        !two_digits(at + 4, 0, 23, &tm.tm_hour) ||
        !two_digits(at + 6, 0, 59, &tm.tm_min) ||
        !two_digits(at + 8, 0, 59, &tm.tm_sec) || at[10] != 'Z')
        return false;
    tm.tm_mon -= 1;
    *ret_ms = (int64_t)timegm(&tm) * 1000;
    return true;
}

bool wd_der_take_time(wd_span *in, int64_t *ret_ms)
{
    wd_span text;
    int century = 20, year = 0;

    if (wd_der_take(in, WD_DER_UTC_TIME, &text)) {
        if (text.size != 13 || !two_digits(text.data, 0, 99, &year))
            return false;
        return read_moment(text.data + 2, year < 50 ? 2000 + year : 1900 + year,
                           ret_ms);
    }
    if (!wd_der_take(in, WD_DER_GENERALIZED_TIME, &text) || text.size != 15)
        return false;
    if (!two_digits(text.data, 0, 99, &century) ||
        !two_digits(text.data + 2, 0, 99, &year))
        return false;
    return read_moment(text.data + 4, century * 100 + year, ret_ms);
}

/* Nothing in front that could be left out. */
static bool integer_ok(wd_span content)
{
    if (content.size < 2)
        return content.size == 1;
    bool high = content.data[1] >= 0x80;
    return !(content.data[0] == 0 && !high) && !(content.data[0] == 0xff && high);
}

static bool bits_ok(wd_span content)
{
    uint8_t unused = content.size > 0 ? content.data[0] : 8;

    if (unused > 7 || (unused > 0 && content.size == 1))
        return false;
    return unused == 0 || (content.data[content.size - 1] & ((1U << unused) - 1U)) == 0;
}

/* Numbers of 7 bits a byte, each the shortest and at most 128 bits: a UUID, the longest
 * that every reader takes for the same number. */
static bool oid_ok(wd_span content)
{
    size_t length = 0; /* bytes seen of this number */

    for (size_t i = 0; i < content.size; i++) {
        uint8_t byte = content.data[i];
        if (length == 0 && byte == 0x80)
            return false;
        length++;
        if (length > 19 || (length == 19 && (content.data[i - 18] & 0x7f) > 3))
            return false;
        if (byte < 0x80)
            length = 0;
    }
    return content.size > 0 && length == 0;
}

/* Characters of `width` bytes each, big-endian. */
static bool wide_ok(wd_span content, size_t width)
{
    if (content.size % width != 0)
        return false;
    for (size_t at = 0; at < content.size; at += width) {
        uint32_t point = 0;
        for (size_t i = 0; i < width; i++)
            point = point << 8 | content.data[at + i];
        if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return false;
    }
    return true;
}

static bool content_ok(uint8_t tag, wd_span content)
{
    switch (tag) {
    case WD_DER_BOOLEAN:
        return content.size == 1 && content.data[0] == 0xff;
    case WD_DER_INTEGER:
        return integer_ok(content);
    case WD_DER_BIT_STRING:
        return bits_ok(content);
    case WD_DER_NULL:
        return content.size == 0;
    case WD_DER_OID:
        return oid_ok(content);
    case WD_DER_UTF8_STRING:
        return wd_utf8_valid(content, NULL);
    case WD_DER_UNIVERSAL_STRING:
        return wide_ok(content, 4);
    case WD_DER_BMP_STRING:
        return wide_ok(content, 2);
    default: /* sequences and sets have the bit of constructed elements */
        return tag != 0 && (tag | 0x20) != WD_DER_SEQUENCE &&
               (tag | 0x20) != WD_DER_SET;
    }
}

bool wd_der_valid(wd_span in)
{
    wd_span levels[WD_DER_DEPTH] = {in};
    size_t depth = 1;

    while (depth > 0) {
        wd_span content;
        uint8_t tag;
        if (levels[depth - 1].size == 0) {
            depth--;
            continue;
        }
        if (!wd_der_take_any(&levels[depth - 1], &tag, &content))
            return false;
        bool nested = (tag & 0x20) != 0;
        if (nested && tag < 0x40 && tag != WD_DER_SEQUENCE && tag != WD_DER_SET)
            return false;
        if (nested && depth == WD_DER_DEPTH)
            return false;
        if (nested)
            levels[depth++] = content;
        else if (!content_ok(tag, content))
            return false;
    }
    return true;
}
