/* utf8.h - whether bytes are text, and making them so.
 *
 * Threads: any.  Owns: nothing.
 * Source:  Unicode 15, table 3-7 (well-formed sequences), section 3.9 (one U+FFFD for each
 *          maximal part of an ill-formed sequence), section 23.2 (layout controls). */
#ifndef WD_UTF8_H
#define WD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/buffer.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

/* Whether all of `text` is well-formed UTF-8 (NUL is well-formed). Otherwise
 * *ret_bad_at, which may be NULL, is the offset of the first byte that is not. */
bool wd_utf8_valid(wd_span text, size_t *ret_bad_at);

/* The character that stands at the start of `text`, which is not empty; *ret_size: its
 * bytes. Of bytes that are no UTF-8: WD_UTF8_NONE, and how many they are. */
#define WD_UTF8_NONE UINT32_MAX
uint32_t wd_utf8_next(wd_span text, size_t *ret_size);

/* Whether a character does no more than stand where it is: no control (C0, DEL, C1), no
 * separator of lines, nothing that turns the direction or that nobody sees. What a
 * terminal or a reader of a log may be fooled by is not printable. */
bool wd_utf8_printable_char(uint32_t point);

/* Whether all of `text` is UTF-8 and printable. Otherwise *ret_bad_at, which may be NULL,
 * is the offset of the first character that is not. */
bool wd_utf8_printable(wd_span text, size_t *ret_bad_at);

/* Appends `text` with U+FFFD in place of what is not UTF-8. false: out of memory. */
WD_MUST_USE bool wd_utf8_append_lossy(wd_buffer *out, wd_span text);

/* Appends `text` with \n, \t, \xNN, \uNNNN or \UNNNNNNNN in place of what is not
 * printable or not UTF-8: for a terminal. false: out of memory. */
WD_MUST_USE bool wd_utf8_append_escaped(wd_buffer *out, wd_span text);

/* Makes a text UTF-8 where it stands: each byte that is not becomes '?'. For what was
 * written with a bound, which may cut inside a character, and may go to a peer: in a
 * message even the half of a letter makes all of it unreadable. */
void wd_utf8_mend(char *text);

/* The longest prefix of at most `max` bytes that splits no well-formed sequence; in
 * bytes. For cutting text to fit. */
size_t wd_utf8_cut(wd_span text, size_t max);

/* How many leading bytes only continue a sequence that was cut off before them (at
 * most 3). For keeping the tail of a text. */
size_t wd_utf8_skip(wd_span text);

#endif
