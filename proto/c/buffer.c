#include "proto/c/buffer.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256U

/* Growing moves the bytes: what is left behind is overwritten, because a buffer may
 * hold a token. realloc could not do that. */
static bool grow(wd_buffer *buffer, size_t capacity)
{
    uint8_t *moved = malloc(capacity);
    if (moved == NULL)
        return false;
    if (buffer->size > 0)
        memcpy(moved, buffer->data, buffer->size);
    if (buffer->data != NULL)
        explicit_bzero(buffer->data, buffer->size);
    free(buffer->data);
    buffer->data = moved;
    buffer->capacity = capacity;
    return true;
}

void wd_buffer_done(wd_buffer *buffer)
{
    if (buffer == NULL)
        return;
    free(buffer->data);
    *buffer = (wd_buffer)WD_BUFFER_INIT;
}

void wd_buffer_wipe(wd_buffer *buffer)
{
    if (buffer != NULL && buffer->data != NULL)
        explicit_bzero(buffer->data, buffer->capacity);
    wd_buffer_done(buffer);
}

void wd_buffer_clear(wd_buffer *buffer)
{
    buffer->size = 0;
}

bool wd_buffer_reserve(wd_buffer *buffer, size_t extra)
{
    size_t needed = 0;
    if (__builtin_add_overflow(buffer->size, extra, &needed) || needed > PTRDIFF_MAX)
        return false;
    if (needed <= buffer->capacity)
        return true;

    size_t capacity = 2 * buffer->capacity; /* both are below PTRDIFF_MAX */
    if (capacity < FIRST_CAPACITY)
        capacity = FIRST_CAPACITY;
    return grow(buffer, capacity < needed ? needed : capacity);
}

bool wd_buffer_append(wd_buffer *buffer, const void *data, size_t size)
{
    if (size == 0)
        return true;
    if (!wd_buffer_reserve(buffer, size))
        return false;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return true;
}

void wd_buffer_drop(wd_buffer *buffer, size_t size)
{
    if (size >= buffer->size) {
        buffer->size = 0;
        return;
    }
    if (size > 0)
        memmove(buffer->data, buffer->data + size, buffer->size - size);
    buffer->size -= size;
}

wd_span wd_buffer_span(const wd_buffer *buffer)
{
    return (wd_span){.data = buffer->data, .size = buffer->size};
}
