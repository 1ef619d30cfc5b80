#include "proto/c/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */

typedef struct lead {
    uint8_t first, last; /* range of the leading byte */
    uint8_t size;        /* of the whole sequence */
    uint8_t low, high;   /* range of the second byte; the others are 80..BF */
} lead;

/* Unicode 15, table 3-7. */
static const lead leads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F},
    {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

static const lead *find_lead(uint8_t byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

/* What stands at the start of a text that is not empty. */
typedef struct sequence {
    size_t size; /* bytes: of the character, or of the ill-formed part; at least 1 */
    bool good;
    bool cut; /* not good only because the text ends */
} sequence;

static sequence first_sequence(wd_span text)
{
    if (text.data[0] < 0x80)
        return (sequence){.size = 1, .good = true};
    const lead *rule = find_lead(text.data[0]);
    if (rule == NULL)
        return (sequence){.size = 1};

    uint8_t low = rule->low;
    uint8_t high = rule->high;
    for (size_t i = 1; i < rule->size; i++) {
        if (i == text.size)
            return (sequence){.size = i, .cut = true};
        if (text.data[i] < low || text.data[i] > high)
            return (sequence){.size = i};
        low = 0x80;
        high = 0xBF;
    }
    return (sequence){.size = rule->size, .good = true};
}

bool wd_utf8_valid(wd_span text, size_t *ret_bad_at)
{
    for (size_t at = 0; at < text.size;) {
        sequence next = first_sequence(wd_span_skip(text, at));
        if (!next.good) {
            if (ret_bad_at != NULL)
                *ret_bad_at = at;
            return false;
        }
        at += next.size;
    }
    return true;
}

uint32_t wd_utf8_next(wd_span text, size_t *ret_size)
{
    sequence next = first_sequence(text);
    *ret_size = next.size;
    if (!next.good)
        return WD_UTF8_NONE;
    if (next.size == 1)
        return text.data[0];
    uint32_t point = text.data[0] & (0xFFU >> (next.size + 1));
    for (size_t i = 1; i < next.size; i++)
        point = point << 6 | (text.data[i] & 0x3FU);
    return point;
}

/* Zero-width joiners (U+200C, U+200D) belong to words and are not among them. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x00, 0x1F},
    {0x7F, 0x9F},
    {0xAD, 0xAD},
    {0x061C, 0x061C},
    {0x180E, 0x180E},
    {0x200B, 0x200B},
    {0x200E, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB},
    {0xE0000, 0xE007F},
    {WD_UTF8_NONE, WD_UTF8_NONE},
};

bool wd_utf8_printable_char(uint32_t point)
{
    for (size_t i = 0; i < sizeof(unprintable) / sizeof(unprintable[0]); i++)
        if (point >= unprintable[i].first && point <= unprintable[i].last)
            return false;
    return true;
}

bool wd_utf8_printable(wd_span text, size_t *ret_bad_at)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size; at += size) {
        if (wd_utf8_printable_char(wd_utf8_next(wd_span_skip(text, at), &size)))
            continue;
        if (ret_bad_at != NULL)
            *ret_bad_at = at;
        return false;
    }
    return true;
}

bool wd_utf8_append_lossy(wd_buffer *out, wd_span text)
{
    size_t start = 0; /* of the well-formed run that is not yet copied */
    for (size_t at = 0; at < text.size;) {
        sequence next = first_sequence(wd_span_skip(text, at));
        if (!next.good) {
            if (!wd_buffer_append(out, text.data + start, at - start) ||
                !wd_buffer_append(out, replacement, sizeof(replacement)))
                return false;
            start = at + next.size;
        }
        at += next.size;
    }
    return start == text.size ||
           wd_buffer_append(out, text.data + start, text.size - start);
}

static bool append_escape(wd_buffer *out, uint32_t point, uint8_t first)
{
    char text[16];
    int size = 0;
    if (point == '\n' || point == '\t')
        size = snprintf(text, sizeof(text), point == '\n' ? "\\n" : "\\t");
    else if (point < 0x80 || point == WD_UTF8_NONE)
        size = snprintf(text, sizeof(text), "\\x%02x", first);
    else
        size =
            snprintf(text, sizeof(text), point > 0xFFFF ? "\\U%08x" : "\\u%04x", point);
    return wd_buffer_append(out, text, (size_t)size);
}

bool wd_utf8_append_escaped(wd_buffer *out, wd_span text)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size; at += size) {
        wd_span rest = wd_span_skip(text, at);
        uint32_t point = wd_utf8_next(rest, &size);
        if (point == WD_UTF8_NONE)
            size = 1; /* each byte by itself */
        if (!(wd_utf8_printable_char(point) ? wd_buffer_append(out, rest.data, size)
                                            : append_escape(out, point, rest.data[0])))
            return false;
    }
    return true;
}

void wd_utf8_mend(char *text)
{
    wd_span rest = {(const uint8_t *)text, strlen(text)};
    size_t bad_at = 0;
    while (!wd_utf8_valid(rest, &bad_at)) {
        text += bad_at;
        *text++ = '?';
        rest = wd_span_skip(rest, bad_at + 1);
    }
}

size_t wd_utf8_cut(wd_span text, size_t max)
{
    if (text.size <= max)
        return text.size;
    size_t back = max < 3 ? max : 3;
    for (size_t i = 1; i <= back; i++) {
        sequence last = first_sequence(wd_span_skip(text, max - i));
        if (last.good && last.size > i)
            return max - i;
    }
    return max;
}

size_t wd_utf8_skip(wd_span text)
{
    size_t n = 0;
    while (n < text.size && n < 3 && text.data[n] >> 6 == 2)
        n++;
    return n;
}
