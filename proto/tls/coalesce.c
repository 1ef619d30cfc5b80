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
    return n;
}

/* A message begins in an empty buffer, so its length always fits; but NNG may hand it
 * down in pieces. */
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

size_t wd_coalesce_take(wd_coalesce *c, const uint8_t *data, size_t size)
{
    size_t n;

    if (wd_coalesce_ready(c))
        return 0;
    if (!c->greeted)
        return take_greeting(c, data, size);
    if (c->length_seen < LENGTH_BYTES)
        return take_length(c, data, size);
    n = gather(c, data, size, c->left);
    c->left -= n;
    return n;
}

bool wd_coalesce_ready(const wd_coalesce *c)
{
    if (c->size == 0)
        return false;
    if (c->size == WD_RECORD_BYTES)
        return true;
    if (c->length_seen == 0) /* between messages: only the greeting can be there */
        return c->greeted;
    return c->length_seen == LENGTH_BYTES && c->left == 0;
}

void wd_coalesce_drop(wd_coalesce *c, size_t n)
{
    memmove(c->bytes, c->bytes + n, c->size - n);
    c->size -= n;
    if (c->size == 0 && c->length_seen == LENGTH_BYTES && c->left == 0) {
        c->length_seen = 0;
        c->length = 0;
    }
}
