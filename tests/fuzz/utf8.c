/* UTF-8 judged, mended and cut, against the same rules written as numbers. */
#include "proto/c/utf8.h"
#include "proto/c/buffer.h"
#include "tests/fuzz/fuzz.h"

/* Bytes of the character at the front; 0: it is none. */
static size_t character(wd_span text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = text.data[0];
    size_t size = lead < 0x80   ? 1
                  : lead < 0xC0 ? 0
                  : lead < 0xE0 ? 2
                  : lead < 0xF0 ? 3
                                : 4;
    uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);

    if (size == 0 || lead > 0xF7 || size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((text.data[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text.data[i] & 0x3FU);
    }
    bool lawful =
        code >= least[size] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return lawful ? size : 0;
}

static bool is_text(wd_span text, size_t *ret_bad_at)
{
    size_t whole = text.size;

    for (*ret_bad_at = 0; text.size > 0; *ret_bad_at = whole - text.size) {
        size_t size = character(text);
        if (size == 0)
            return false;
        (void)fuzz_bytes(&text, size);
    }
    return true;
}

static void check_cut(wd_span text, size_t most)
{
    size_t unused = 0;
    size_t at = wd_utf8_cut(text, most);

    FUZZ_CHECK(at <= most && at <= text.size);
    if (is_text(text, &unused)) {
        size_t full = most < text.size ? most : text.size;
        wd_span tail = {text.data + at, text.size - at};
        FUZZ_CHECK(is_text((wd_span){text.data, at}, &unused));
        FUZZ_CHECK(is_text(tail, &unused));
        FUZZ_CHECK(full - at <= 3);
    }
}

static void check_skip(wd_span text, size_t from)
{
    size_t unused = 0;
    wd_span tail = {text.data + from, text.size - from};
    size_t skip = wd_utf8_skip(tail);

    FUZZ_CHECK(skip <= 3 && skip <= tail.size);
    if (is_text(text, &unused))
        FUZZ_CHECK(is_text((wd_span){tail.data + skip, tail.size - skip}, &unused));
}

static void check_lossy(wd_span text, bool valid)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    size_t unused = 0;

    FUZZ_CHECK(wd_utf8_append_lossy(&out, text));
    FUZZ_CHECK(is_text(wd_buffer_span(&out), &unused));
    FUZZ_CHECK(out.size <= 3 * text.size);
    FUZZ_CHECK(!valid || fuzz_equal(wd_buffer_span(&out), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    size_t place = fuzz_byte(&in);
    size_t expected_at = 0;
    size_t bad_at = 0;
    bool expected = is_text(in, &expected_at);
    bool valid = wd_utf8_valid(in, &bad_at);

    FUZZ_CHECK(valid == expected);
    FUZZ_CHECK(valid || bad_at == expected_at);
    check_lossy(in, valid);
    if (in.size == 0)
        return 0;
    check_cut(in, place % (in.size + 2));
    check_skip(in, place % in.size);
    return 0;
}
