/* capture.h - one output stream of an action: its first and its last bytes are kept.
 *
 * Memory is the limit at most, and grows with what came: an action that prints nothing
 * costs nothing.
 *
 * Threads: one owner at a time.  Owns: its bytes. */
#ifndef WD_EXECUTOR_CAPTURE_H
#define WD_EXECUTOR_CAPTURE_H

#include "proto/c/buffer.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wd_capture {
    size_t limit; /* bytes kept: the first half, rounded up, and the last */
    size_t head_limit;
    uint64_t original; /* bytes seen */
    wd_buffer kept;    /* head, then the tail as a ring */
    size_t ring_start; /* where the tail's oldest byte is, counted from head_limit */
} wd_capture;

void wd_capture_init(wd_capture *capture, size_t limit);
void wd_capture_done(wd_capture *capture);

/* Take in what was read. false: out of memory. */
WD_MUST_USE bool wd_capture_add(wd_capture *capture, wd_span bytes);

typedef struct wd_captured {
    wd_span data; /* head and tail; in the capture */
    uint64_t original_bytes;
    size_t head_bytes; /* all of data when nothing was cut */
    size_t tail_bytes;
} wd_captured;

/* What is kept, in order. Call once, at the end: the ring is straightened. */
wd_captured wd_capture_end(wd_capture *capture);

#endif
