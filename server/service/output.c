#include "server/service/output.h"

#include <string.h>

#include "proto/c/utf8.h"

#define GROWTH 3U /* one bad byte becomes the three of U+FFFD */

/* The head of a stream that was cut: without the character that the cut split. */
static wd_span whole_end(wd_span head)
{
    for (size_t back = 1; back <= 3 && back <= head.size; back++) {
        uint8_t byte = head.data[head.size - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        if (length > back)
            head.size -= back;
        break;
    }
    return head;
}

static wd_span whole_start(wd_span tail)
{
    return wd_span_skip(tail, wd_utf8_skip(tail));
}

/* Append as text. NULs are replaced first, since UTF-8 allows them. */
static bool append(wd_buffer *out, wd_span bytes)
{
    static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};

    while (bytes.size > 0) {
        const uint8_t *nul = memchr(bytes.data, 0, bytes.size);
        size_t n = nul != NULL ? (size_t)(nul - bytes.data) : bytes.size;
        if (n > 0 && !wd_utf8_append_lossy(out, (wd_span){bytes.data, n}))
            return false;
        if (nul == NULL)
            return true;
        if (!wd_buffer_append(out, replacement, sizeof(replacement)))
            return false;
        bytes = wd_span_skip(bytes, n + 1);
    }
    return true;
}

/* Cut a text that is too long for us: the first and the last half of `keep`. */
static void shorten(wd_buffer *text, size_t keep, wd_output *ret)
{
    wd_span all = wd_buffer_span(text);
    size_t half = keep / 2;
    size_t head = wd_utf8_cut(all, half);
    wd_span tail = whole_start(wd_span_skip(all, all.size - half));

    memmove(text->data + head, tail.data, tail.size);
    text->size = head + tail.size;
    ret->head_bytes = head;
    ret->tail_bytes = tail.size;
    ret->cut = ret->shortened = true;
}

static bool convert(const Warded__Exec__V1__Output *from, wd_buffer *text,
                    wd_output *ret)
{
    wd_span head = {from->data.data, from->data.len};
    wd_span tail = {NULL, 0};

    ret->cut =
        from->head_bytes < from->data.len || from->original_bytes > from->data.len;
    if (ret->cut && from->head_bytes <= from->data.len) {
        tail = whole_start(wd_span_skip(head, (size_t)from->head_bytes));
        head.size = (size_t)from->head_bytes;
        head = whole_end(head);
    }
    if (!append(text, head))
        return false;
    ret->head_bytes = text->size;
    if (!append(text, tail))
        return false;
    ret->tail_bytes = text->size - ret->head_bytes;
    ret->original_bytes = from->original_bytes + (text->size - head.size - tail.size);
    return true;
}

wd_status wd_output_make(const Warded__Exec__V1__Output *from, size_t keep,
                         wd_budget *budget, wd_output *ret, wd_error *err)
{
    WD_AUTO_BUFFER text = WD_BUFFER_INIT;

    *ret = (wd_output){.text = ""};
    if (from == NULL || (from->data.len == 0 && from->original_bytes == 0))
        return WD_OK;
    if (!convert(from, &text, ret))
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for an action's output");
    if (text.size > keep)
        shorten(&text, keep, ret);
    ret->text = wd_budget_text(budget, text.data, text.size);
    if (ret->text == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for an action's output");
    return WD_OK;
}

size_t wd_output_bound(const Warded__Exec__V1__Output *from)
{
    return from == NULL ? 0 : GROWTH * from->data.len + 1;
}
