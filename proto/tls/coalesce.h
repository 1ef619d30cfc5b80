/* coalesce.h - which bytes of an SP stream go into which TLS record.
 *
 * NNG hands a message down in pieces: 8 bytes of length, header, body. Each piece would
 * become a record. This follows the framing and gathers a whole message, or 16,320 bytes
 * of a long one, before anything is encrypted; several, if the caller lets them wait for
 * each other. It does no I/O.
 *
 * Private to proto/tls.  Threads: one at a time (NNG's lock of the connection).
 * Owns:    its buffer.  Source: docs/protocol.md for the framing. */
#ifndef WD_COALESCE_H
#define WD_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One record of at most 16,384 bytes with TLS's own fits NNG's ring of as many. */
#define WD_RECORD_BYTES 16320U

typedef struct wd_coalesce {
    bool greeted; /* the 8 bytes that open an SP stream have passed */
    uint8_t length_seen;
    uint64_t length; /* of the message, while it is being read */
    uint64_t left;   /* bytes of the message that are still to come */
    size_t size;     /* gathered */
    size_t whole;    /* of these, up to the end of the last message that is whole */
    uint8_t bytes[WD_RECORD_BYTES];
} wd_coalesce;

/* Take bytes, at least one if size > 0 and there is room; none while the greeting has
 * not been written. Stops at the end of a message. Returns how many. */
size_t wd_coalesce_take(wd_coalesce *c, const uint8_t *data, size_t size);

/* How many of c->bytes may be written: whole messages, or a full buffer. 0: none yet. */
size_t wd_coalesce_ready(const wd_coalesce *c);

/* `n` bytes of the buffer have been written. */
void wd_coalesce_drop(wd_coalesce *c, size_t n);

#endif
