#include "proto/tls/coalesce.h"

#include <string.h>

enum { GREETING_BYTES = 8, LENGTH_BYTES = 8 };

static size_t gather(wd_coalesce *c, const uint8_t *data, size_t size, uint64_t most)
{
    size_t n = WD_RECORD_BYTES - c->size;

    if (n > size)
        n = size;
    if (n > most)
        n = (size_t)most;
    memcpy(c->bytes + c->size, data, n);
    c->size += n;
    return n;
}

static size_t take_greeting(wd_coalesce *c, const uint8_t *data, size_t size)
{
    size_t n = gather(c, data, size, GREETING_BYTES - c->size);

    c->greeted = c->size == GREETING_BYTES;
    c->whole = c->greeted ? c->size : 0;
    return n;
}

static bool is_ended(const wd_coalesce *c)
{
    return c->length_seen == LENGTH_BYTES && c->left == 0;
}

/* NNG may hand it down in pieces, and the buffer may end inside it. */
static size_t take_length(wd_coalesce *c, const uint8_t *data, size_t size)
{
    size_t n = gather(c, data, size, (uint64_t)(LENGTH_BYTES - c->length_seen));

    for (size_t i = 0; i < n; i++)
        c->length = c->length << 8 | data[i];
    c->length_seen = (uint8_t)(c->length_seen + n);
    if (c->length_seen == LENGTH_BYTES)
        c->left = c->length;
    return n;
}

static size_t take_message(wd_coalesce *c, const uint8_t *data, size_t size)
{
    size_t n;

    if (c->length_seen < LENGTH_BYTES)
        return take_length(c, data, size);
    n = gather(c, data, size, c->left);
    c->left -= n;
    return n;
}

size_t wd_coalesce_take(wd_coalesce *c, const uint8_t *data, size_t size)
{
    size_t n;

    if (!c->greeted)
        return take_greeting(c, data, size);
    if (c->length_seen == 0 && c->whole > 0) /* the greeting: it goes alone */
        return 0;
    if (is_ended(c)) {
        c->length_seen = 0;
        c->length = 0;
    }
    n = take_message(c, data, size);
    if (is_ended(c))
        c->whole = c->size;
    return n;
}

size_t wd_coalesce_ready(const wd_coalesce *c)
{
    return c->size == WD_RECORD_BYTES ? c->size : c->whole;
}

void wd_coalesce_drop(wd_coalesce *c, size_t n)
{
    memmove(c->bytes, c->bytes + n, c->size - n);
    c->size -= n;
    c->whole -= n < c->whole ? n : c->whole;
}
