#include "proto/tls/frames.h"

enum { GREETING_BYTES = 8, LENGTH_BYTES = 8, WORD_BYTES = 4 };

static size_t at_most(size_t size, uint64_t most)
{
    return size < most ? size : (size_t)most;
}

static size_t take_length(wd_frames *f, const uint8_t *data, size_t size,
                          wd_frame_event *ret)
{
    size_t n = at_most(size, (uint64_t)(LENGTH_BYTES - f->length_seen));

    for (size_t i = 0; i < n; i++)
        f->length = f->length << 8 | data[i];
    f->length_seen = (uint8_t)(f->length_seen + n);
    if (f->length_seen == LENGTH_BYTES) {
        f->left = f->length;
        *ret = WD_FRAME_LENGTH;
    }
    return n;
}

/* At most to the end of a word. */
static size_t take_word(wd_frames *f, const uint8_t *data, size_t size,
                        wd_frame_event *ret)
{
    size_t n = at_most(at_most(size, f->left), (uint64_t)(WORD_BYTES - f->word_seen));

    if (f->word_seen == 0 && n > 0)
        f->last_word = (data[0] & 0x80) != 0;
    f->word_seen = (uint8_t)(f->word_seen + n);
    f->left -= n;
    if (f->word_seen < WORD_BYTES)
        return n;
    f->word_seen = 0;
    f->words++;
    f->traced = f->last_word;
    if (f->traced)
        *ret = WD_FRAME_TRACED;
    return n;
}

static void begin_next(wd_frames *f)
{
    f->length_seen = f->word_seen = f->words = 0;
    f->length = 0;
    f->traced = f->ended = false;
}

static size_t take_message(wd_frames *f, const uint8_t *data, size_t size,
                           wd_frame_event *ret)
{
    size_t n = 0;

    while (n < size && f->left > 0 && !f->traced && f->words < WD_FRAME_WORDS) {
        n += take_word(f, data + n, size - n, ret);
        if (*ret == WD_FRAME_TRACED)
            return n;
    }
    size_t body = at_most(size - n, f->left);
    f->left -= body;
    f->ended = f->left == 0;
    if (f->ended)
        *ret = WD_FRAME_END;
    return n + body;
}

size_t wd_frames_take(wd_frames *f, const uint8_t *data, size_t size,
                      wd_frame_event *ret)
{
    size_t skipped = at_most(size, (uint64_t)(GREETING_BYTES - f->greeting_seen));

    *ret = WD_FRAME_MORE;
    f->greeting_seen = (uint8_t)(f->greeting_seen + skipped);
    data += skipped;
    size -= skipped;
    if (f->ended)
        begin_next(f);
    if (f->length_seen < LENGTH_BYTES)
        return skipped + take_length(f, data, size, ret);
    return skipped + take_message(f, data, size, ret);
}

bool wd_frames_inside(const wd_frames *f)
{
    return f->length_seen > 0 && !f->ended;
}
