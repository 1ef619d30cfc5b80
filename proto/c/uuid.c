#include "proto/c/uuid.h"

#include <stddef.h>
#include <string.h>

#include "proto/c/sha256.h"

#define TEXT_CHARS (WD_UUID_TEXT_BYTES - 1U)

void wd_uuid7_make(int64_t wall_ms, uint8_t ret_id[WD_UUID_BYTES])
{
    WD_ASSERT(wall_ms >= 0 && wall_ms < (INT64_C(1) << 48));
    wd_random(ret_id, WD_UUID_BYTES);
    for (size_t i = 0; i < 6; i++)
        ret_id[i] = (uint8_t)(wall_ms >> (40 - 8 * i));
    ret_id[6] = (uint8_t)((ret_id[6] & 0x0FU) | 0x70U);
    ret_id[8] = (uint8_t)((ret_id[8] & 0x3FU) | 0x80U);
}

bool wd_uuid7_valid(wd_span id)
{
    return id.size == WD_UUID_BYTES && id.data[6] >> 4 == 7 && id.data[8] >> 6 == 2;
}

int64_t wd_uuid7_ms(const uint8_t id[WD_UUID_BYTES])
{
    int64_t ms = 0;
    for (size_t i = 0; i < 6; i++)
        ms = (ms << 8) | id[i];
    return ms;
}

static bool dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void wd_uuid_format(const uint8_t id[WD_UUID_BYTES], char ret_text[WD_UUID_TEXT_BYTES])
{
    char digits[2 * WD_UUID_BYTES + 1];
    wd_hex((wd_span){.data = id, .size = WD_UUID_BYTES}, digits);
    const char *next = digits;
    for (size_t i = 0; i < TEXT_CHARS; i++) {
        if (dash_at(i))
            ret_text[i] = '-';
        else
            ret_text[i] = *next++;
    }
    ret_text[TEXT_CHARS] = '\0';
}

bool wd_uuid_parse(const char *text, uint8_t ret_id[WD_UUID_BYTES])
{
    if (text == NULL || strlen(text) != TEXT_CHARS)
        return false;
    char digits[2 * WD_UUID_BYTES + 1];
    size_t n = 0;
    for (size_t i = 0; i < TEXT_CHARS; i++) {
        if (!dash_at(i))
            digits[n++] = text[i];
        else if (text[i] != '-')
            return false;
    }
    digits[n] = '\0';
    return wd_hex_parse(digits, ret_id, WD_UUID_BYTES);
}
