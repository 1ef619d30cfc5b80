/* buffer.h - bytes that grow at their end.
 *
 *     wd_buffer out __attribute__((cleanup(wd_buffer_done))) = WD_BUFFER_INIT;
 *     if (!wd_buffer_append(&out, text, size)) ...        out of memory
 *
 * Threads: one owner at a time.  Owns: `data`; wd_buffer_done frees it. */
#ifndef WD_BUFFER_H
#define WD_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/span.h"
#include "proto/c/status.h"

typedef struct wd_buffer {
    uint8_t *data;   /* owned; NULL until something was appended */
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
} wd_buffer;

#define WD_BUFFER_INIT {NULL, 0, 0}
#define WD_AUTO_BUFFER __attribute__((cleanup(wd_buffer_done))) wd_buffer

/* Frees and empties. Accepts NULL and a buffer that is all zero. */
void wd_buffer_done(wd_buffer *buffer);

/* As wd_buffer_done, and overwrites the bytes first: for secrets. Note that growing
 * also overwrites what it leaves behind. */
void wd_buffer_wipe(wd_buffer *buffer);

/* Empties; keeps the memory for the next use. */
void wd_buffer_clear(wd_buffer *buffer);

/* Makes room for `extra` bytes more. false: out of memory, or size_t overflows; the
 * buffer is then unchanged. */
WD_MUST_USE bool wd_buffer_reserve(wd_buffer *buffer, size_t extra);

/* Appends a copy. `data` must not point into the buffer. false as above. */
WD_MUST_USE bool wd_buffer_append(wd_buffer *buffer, const void *data, size_t size);

/* Removes the first `size` bytes (at most all of them) and moves the rest forward. */
void wd_buffer_drop(wd_buffer *buffer, size_t size);

/* What is in it; valid until the buffer changes. */
wd_span wd_buffer_span(const wd_buffer *buffer);

#endif
