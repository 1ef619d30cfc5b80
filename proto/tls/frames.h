/* frames.h - where an SP stream that is being read stands.
 *
 * Greeting, then messages: 8 bytes of length, a backtrace of 4-byte words of which the
 * last has its high bit set, the body. Bytes in, events out; it does no I/O.
 *
 * Private to proto/tls.  Threads: one at a time (NNG's lock of the connection).
 * Source:  docs/protocol.md for the framing; NNG 1.10 rep.c for the backtrace. */
#ifndef WD_FRAMES_H
#define WD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_FRAME_WORDS 8U /* REP's hop limit; it drops messages with more */

typedef enum wd_frame_event {
    WD_FRAME_MORE = 0, /* all bytes were taken, nothing happened */
    WD_FRAME_LENGTH,   /* a message of f->length bytes begins */
    WD_FRAME_TRACED,   /* f->words words precede its body */
    WD_FRAME_END,      /* it is whole; REP drops it unless f->traced */
} wd_frame_event;

typedef struct wd_frames {
    uint64_t length; /* of the message, as it says */
    uint64_t left;   /* bytes of it that are still to come */
    uint8_t greeting_seen, length_seen, word_seen;
    uint8_t words;
    bool last_word; /* the word that is being read has its high bit set */
    bool traced, ended;
} wd_frames;

/* Take bytes up to the next event; returns how many. Call again with the rest, be it
 * empty, until the answer is MORE. */
size_t wd_frames_take(wd_frames *f, const uint8_t *data, size_t size,
                      wd_frame_event *ret);

/* Has a message begun (its length, even) that is not yet whole? */
bool wd_frames_inside(const wd_frames *f);

#endif
