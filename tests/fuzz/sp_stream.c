/* The TLS engine follows an SP stream and gathers it into records: whatever the bytes and
 * however NNG cuts them, the same bytes come out, in the same records. And it follows what
 * it reads: the same lengths, backtraces and ends, however TLS cuts them. */
#include <stdlib.h>
#include <string.h>

#include "proto/c/buffer.h"
#include "proto/tls/coalesce.h"
#include "proto/tls/frames.h"
#include "tests/fuzz/fuzz.h"

#define GREETING 8U
#define HEAD     8U
#define MOST     (1U << 16) /* of a stream made of lengths */

typedef struct run {
    wd_coalesce c;
    wd_buffer bytes;   /* what was written */
    wd_buffer records; /* the size of each, 4 bytes */
} run;

static void add(wd_buffer *buffer, const void *data, size_t size)
{
    FUZZ_CHECK(wd_buffer_append(buffer, data, size));
}

/* As conn_io.c writes: a record may go out in parts. */
static void flush(run *r, uint32_t *cuts, bool partly)
{
    while (wd_coalesce_ready(&r->c)) {
        size_t n = r->c.size;
        uint32_t size = 0;
        if (partly && n > 1)
            n = 1 + fuzz_next(cuts) % n;
        size = (uint32_t)n;
        add(&r->bytes, r->c.bytes, n);
        add(&r->records, &size, sizeof(size));
        wd_coalesce_drop(&r->c, n);
    }
}

static void feed(run *r, wd_span in, uint32_t cuts, bool partly)
{
    while (in.size > 0) {
        wd_span chunk =
            fuzz_bytes(&in, cuts == 0 ? in.size : 1 + fuzz_next(&cuts) % 97);
        while (chunk.size > 0) {
            size_t n = wd_coalesce_take(&r->c, chunk.data, chunk.size);
            FUZZ_CHECK(n > 0 && n <= chunk.size);
            FUZZ_CHECK(r->c.size <= WD_RECORD_BYTES);
            (void)fuzz_bytes(&chunk, n);
            flush(r, &cuts, partly);
        }
    }
    add(&r->bytes, r->c.bytes, r->c.size); /* the start of a message */
}

static void done(run *r)
{
    wd_buffer_done(&r->bytes);
    wd_buffer_done(&r->records);
    free(r);
}

static run *new_run(void)
{
    run *r = calloc(1, sizeof(*r));
    FUZZ_CHECK(r != NULL);
    return r;
}

/* The same rules written down once more: the records of a stream that comes whole. */
static void expect_records(wd_span in, wd_buffer *records)
{
    uint32_t size = GREETING;

    if (in.size < GREETING)
        return;
    add(records, &size, sizeof(size));
    (void)fuzz_bytes(&in, GREETING);
    while (in.size >= HEAD) {
        uint64_t left = 0;
        for (size_t i = 0; i < HEAD; i++)
            left = left << 8 | in.data[i];
        wd_span message = fuzz_bytes(&in, left > in.size ? in.size : HEAD + left);
        bool whole = message.size - HEAD == left;
        while (message.size >= WD_RECORD_BYTES || (whole && message.size > 0)) {
            size = (uint32_t)fuzz_bytes(&message, WD_RECORD_BYTES).size;
            add(records, &size, sizeof(size));
        }
        if (!whole)
            return;
    }
}

/* Each event with its number, in the order they came. */
static void follow(wd_span in, uint32_t cuts, wd_buffer *events)
{
    wd_frames f = {0};
    wd_frame_event event = WD_FRAME_MORE;

    while (in.size > 0) {
        wd_span chunk =
            fuzz_bytes(&in, cuts == 0 ? in.size : 1 + fuzz_next(&cuts) % 23);
        do {
            size_t n = wd_frames_take(&f, chunk.data, chunk.size, &event);
            const uint64_t seen[2] = {event,
                                      event == WD_FRAME_TRACED ? f.words : f.length};
            FUZZ_CHECK(n <= chunk.size && f.left <= f.length);
            FUZZ_CHECK(f.words <= WD_FRAME_WORDS && 4U * f.words <= f.length);
            (void)fuzz_bytes(&chunk, n);
            if (event != WD_FRAME_MORE)
                add(events, seen, sizeof(seen));
        } while (event != WD_FRAME_MORE);
        FUZZ_CHECK(chunk.size == 0);
    }
}

static void check_followed(wd_span in, uint32_t cuts)
{
    WD_AUTO_BUFFER whole = WD_BUFFER_INIT;
    WD_AUTO_BUFFER cut = WD_BUFFER_INIT;

    follow(in, 0, &whole);
    follow(in, cuts | 1, &cut);
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&whole), wd_buffer_span(&cut)));
}

static void check(wd_span in, uint32_t cuts)
{
    WD_AUTO_BUFFER expected = WD_BUFFER_INIT;
    run *whole = new_run();
    run *cut = new_run();
    run *parts = new_run();

    expect_records(in, &expected);
    feed(whole, in, 0, false);
    feed(cut, in, cuts | 1, false);
    feed(parts, in, cuts | 1, true);
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&whole->bytes), in));
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&cut->bytes), in));
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&parts->bytes), in));
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&whole->records), wd_buffer_span(&expected)));
    FUZZ_CHECK(fuzz_equal(wd_buffer_span(&cut->records), wd_buffer_span(&expected)));
    check_followed(in, cuts);
    done(whole);
    done(cut);
    done(parts);
}

/* Messages of lengths that the input names, so that short inputs make long records. */
static void check_lengths(wd_span in, uint32_t cuts)
{
    WD_AUTO_BUFFER stream = WD_BUFFER_INIT;

    add(&stream, "\0SP\0\0\x30\0\0", GREETING);
    while (in.size > 0 && stream.size < MOST) {
        uint32_t length = fuzz_u32(&in) % (MOST / 4);
        uint8_t head[HEAD] = {0,
                              0,
                              0,
                              0,
                              0,
                              (uint8_t)(length >> 16),
                              (uint8_t)(length >> 8),
                              (uint8_t)length};
        add(&stream, head, sizeof(head));
        FUZZ_CHECK(wd_buffer_reserve(&stream, length));
        memset(stream.data + stream.size, (int)(length & 0xff), length);
        stream.size += length;
    }
    check(wd_buffer_span(&stream), cuts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    uint8_t how = fuzz_byte(&in);
    uint32_t cuts = fuzz_u32(&in);

    if ((how & 1) != 0)
        check_lengths(in, cuts);
    else
        check(in, cuts);
    return 0;
}
