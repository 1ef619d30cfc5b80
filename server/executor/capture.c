#include "server/executor/capture.h"

#include <string.h>

void wd_capture_init(wd_capture *capture, size_t limit)
{
    *capture = (wd_capture){.limit = limit, .head_limit = limit - limit / 2};
}

void wd_capture_done(wd_capture *capture)
{
    wd_buffer_done(&capture->kept);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Over the oldest bytes of the full ring. Only the last `ring` bytes can matter. */
static void overwrite(wd_capture *capture, wd_span bytes)
{
    const size_t ring = capture->limit - capture->head_limit;
    if (ring == 0)
        return;
    if (bytes.size > ring) {
        size_t skip = bytes.size - ring;
        capture->ring_start = (capture->ring_start + skip) % ring;
        bytes = wd_span_skip(bytes, skip);
    }
    while (bytes.size > 0) {
        size_t part = smaller(bytes.size, ring - capture->ring_start);
        memcpy(capture->kept.data + capture->head_limit + capture->ring_start,
               bytes.data, part);
        capture->ring_start = (capture->ring_start + part) % ring;
        bytes = wd_span_skip(bytes, part);
    }
}

bool wd_capture_add(wd_capture *capture, wd_span bytes)
{
    size_t fill = smaller(bytes.size, capture->limit - capture->kept.size);
    if (fill > 0 && !wd_buffer_append(&capture->kept, bytes.data, fill))
        return false;
    capture->original += bytes.size;
    if (bytes.size > fill)
        overwrite(capture, wd_span_skip(bytes, fill));
    return true;
}

static void reverse(uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        uint8_t byte = data[i];
        data[i] = data[size - 1 - i];
        data[size - 1 - i] = byte;
    }
}

/* Rotate left in place, by three reversals. */
static void rotate(uint8_t *data, size_t size, size_t by)
{
    reverse(data, by);
    reverse(data + by, size - by);
    reverse(data, size);
}

wd_captured wd_capture_end(wd_capture *capture)
{
    wd_captured end = {.data = wd_buffer_span(&capture->kept),
                       .original_bytes = capture->original,
                       .head_bytes = capture->kept.size};
    if (capture->original <= capture->limit)
        return end;
    end.head_bytes = capture->head_limit;
    end.tail_bytes = capture->limit - capture->head_limit;
    rotate(capture->kept.data + capture->head_limit, end.tail_bytes,
           capture->ring_start);
    capture->ring_start = 0;
    return end;
}
