#include "proto/c/frame.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "proto/c/message.h"

struct wd_frame_reader {
    wd_buffer waiting; /* bytes that no frame was made of yet */
    size_t taken;      /* how many of them the last frame took */
    size_t max_bytes;
};

wd_frame_reader *wd_frame_reader_new(size_t max_bytes)
{
    wd_frame_reader *reader = calloc(1, sizeof(*reader));
    if (reader != NULL)
        reader->max_bytes = max_bytes;
    return reader;
}

void wd_frame_reader_free(wd_frame_reader *reader)
{
    if (reader == NULL)
        return;
    wd_buffer_done(&reader->waiting);
    free(reader);
}

static uint32_t read_length(const uint8_t *head)
{
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 |
           (uint32_t)head[3];
}

/* Every frame that begins in `waiting` from `at` on must announce a lawful length. */
static wd_status check_lengths(const wd_frame_reader *reader, size_t at, wd_error *err)
{
    while (reader->waiting.size - at >= WD_FRAME_HEAD_BYTES) {
        size_t length = read_length(reader->waiting.data + at);
        if (length > reader->max_bytes)
            return wd_refuse(err, WD_REASON_TOO_LARGE,
                             "a frame of %zu bytes was announced: at most %zu", length,
                             reader->max_bytes);
        if (reader->waiting.size - at - WD_FRAME_HEAD_BYTES < length)
            break;
        at += WD_FRAME_HEAD_BYTES + length;
    }
    return WD_OK;
}

static void drop_taken(wd_frame_reader *reader)
{
    wd_buffer_drop(&reader->waiting, reader->taken);
    reader->taken = 0;
}

wd_status wd_frame_feed(wd_frame_reader *reader, wd_span bytes, wd_error *err)
{
    drop_taken(reader);
    if (!wd_buffer_append(&reader->waiting, bytes.data, bytes.size))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a frame");
    return check_lengths(reader, 0, err);
}

bool wd_frame_next(wd_frame_reader *reader, wd_span *ret_frame)
{
    size_t left = reader->waiting.size - reader->taken;
    if (left < WD_FRAME_HEAD_BYTES)
        return false;
    const uint8_t *head = reader->waiting.data + reader->taken;
    size_t length = read_length(head);
    if (left - WD_FRAME_HEAD_BYTES < length)
        return false;
    *ret_frame = (wd_span){.data = head + WD_FRAME_HEAD_BYTES, .size = length};
    reader->taken += WD_FRAME_HEAD_BYTES + length;
    return true;
}

static void write_length(uint8_t head[WD_FRAME_HEAD_BYTES], size_t length)
{
    for (size_t i = 0; i < WD_FRAME_HEAD_BYTES; i++)
        head[i] = (uint8_t)(length >> (24 - 8 * i));
}

wd_status wd_frame_append(wd_buffer *out, const ProtobufCMessage *message,
                          size_t max_bytes, wd_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size > max_bytes || size > UINT32_MAX)
        return wd_refuse(err, WD_REASON_TOO_LARGE,
                         "a %s of %zu bytes does not fit a frame: at most %zu",
                         message->descriptor->name, size, max_bytes);
    if (!wd_buffer_reserve(out, WD_FRAME_HEAD_BYTES + size))
        return wd_refuse(err, WD_REASON_CAPACITY, "out of memory for a frame");
    write_length(out->data + out->size, size);
    out->size += WD_FRAME_HEAD_BYTES;
    return wd_message_encode(message, out, err);
}
