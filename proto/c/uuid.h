/* uuid.h - UUIDv7: the name of a call, which tells when it was made.
 *
 * Threads: any.  Owns: nothing.
 * Source:  RFC 9562, section 5.7: 48 bits Unix milliseconds, version 7, 12 random bits,
 *          variant 10, 62 random bits; big-endian. */
#ifndef WD_UUID_H
#define WD_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/c/span.h"
#include "proto/c/status.h"

#define WD_UUID_BYTES      16U
#define WD_UUID_TEXT_BYTES 37U /* 36 characters and the NUL */

/* A new one, dated `wall_ms` (Unix milliseconds, 0..2^48-1), random otherwise.
 * Ends the process when the kernel has no randomness to give. */
void wd_uuid7_make(int64_t wall_ms, uint8_t ret_id[WD_UUID_BYTES]);

/* Whether `id` is 16 bytes with version 7 and variant 10. */
bool wd_uuid7_valid(wd_span id);

/* The milliseconds that it carries. */
int64_t wd_uuid7_ms(const uint8_t id[WD_UUID_BYTES]);

/* "0190163d-8694-739b-aea5-966c26f8ad91": lower case, NUL at the end. Any UUID. */
void wd_uuid_format(const uint8_t id[WD_UUID_BYTES], char ret_text[WD_UUID_TEXT_BYTES]);

/* The reverse, of exactly 36 characters in either case. Any version.
 * false: not of that form; *ret_id is then unchanged. */
WD_MUST_USE bool wd_uuid_parse(const char *text, uint8_t ret_id[WD_UUID_BYTES]);

#endif
