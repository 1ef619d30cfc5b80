/* sha256.h - the one door of the shared code to mbedTLS: digests, text forms, secrets.
 *
 * Threads: any; a wd_sha256 has one owner at a time.  Owns: nothing.
 * Source:  FIPS 180-4, RFC 2104. */
#ifndef WD_SHA256_H
#define WD_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/c/limits.h"
#include "proto/c/span.h"
#include "proto/c/status.h"

#define WD_SHA256_HEX_BYTES 65U /* 64 digits and the NUL */

/* A running digest: embed it, no clean-up needed. Holds no pointer, may be copied. */
typedef struct wd_sha256 {
    _Alignas(16) uint8_t state[128]; /* mbedTLS's context, opaque here */
} wd_sha256;

void wd_sha256_init(wd_sha256 *sha);
void wd_sha256_add(wd_sha256 *sha, const void *data, size_t size);
/* The digest of all that was added; the state is wiped: init it again to go on. */
void wd_sha256_end(wd_sha256 *sha, uint8_t ret_digest[WD_SHA256_BYTES]);

/* All in one. */
void wd_sha256_of(wd_span data, uint8_t ret_digest[WD_SHA256_BYTES]);

/* HMAC-SHA-256 of `data`. The key may have any length. */
void wd_hmac_sha256(wd_span key, wd_span data, uint8_t ret_mac[WD_SHA256_BYTES]);

/* Whether `size` bytes are equal, in a time that tells nothing of where they differ. */
bool wd_equal_ct(const void *a, const void *b, size_t size);

/* Fills with bytes of the kernel's generator. Ends the process if it has none. */
void wd_random(void *ret_data, size_t size);

/* Overwrites in a way that the compiler does not remove. Accepts NULL with size 0. */
void wd_wipe(void *data, size_t size);

/* Lower-case digits and a NUL: `ret_text` holds 2 * size + 1 bytes. */
void wd_hex(wd_span data, char *ret_text);
/* The reverse: `text` must be exactly 2 * size digits, either case. */
WD_MUST_USE bool wd_hex_parse(const char *text, uint8_t *ret_data, size_t size);

/* Base 64 (RFC 4648, padded), and a NUL: `ret_text` holds
 * WD_BASE64_BYTES(data.size). */
#define WD_BASE64_BYTES(size) (((size) + 2U) / 3U * 4U + 1U)
void wd_base64(wd_span data, char *ret_text);
/* The reverse: no space, no other character, at most `room` bytes. */
WD_MUST_USE bool wd_base64_parse(const char *text, uint8_t *ret_data, size_t room,
                                 size_t *ret_size);

#endif
