/* token.h - the text of a token: minted, read, digested. Knows no store.
 *
 * Threads: any; pure but for the randomness it is given.
 * Source:  docs/protocol.md section 6. 64 characters of [0-9A-Za-z] and '_':
 *
 *     wdt1_ | 10 public id | 43 secret | 6 check
 *
 * 43 characters drawn uniformly from 62 are 256 bits. The check is the CRC-32 (zlib) of
 * everything before it, in base 62, padded with '0' at the left. At rest only the
 * digest is kept: SHA-256("warded-token-v1" || text). */
#ifndef WD_STORE_TOKEN_H
#define WD_STORE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_TOKEN_CHARS        64U /* a whole token, without its NUL */
#define WD_TOKEN_ID_CHARS     10U
#define WD_TOKEN_DIGEST_BYTES 32U

/* The third character of the text. */
typedef enum wd_token_kind {
    WD_TOKEN_DATA = 't',
    WD_TOKEN_ADMIN = 'a',
    WD_TOKEN_WRAP = 'w',
    WD_TOKEN_JOIN = 'j',
} wd_token_kind;

/* A secret: wipe it with wd_token_text_wipe() as soon as it has been handed over. */
typedef struct wd_token_text {
    char chars[WD_TOKEN_CHARS + 1];
} wd_token_text;

/* What the text of a token tells to anyone who reads it. */
typedef struct wd_token_name {
    wd_token_kind kind;
    char id[WD_TOKEN_ID_CHARS + 1];
} wd_token_name;

/* Where random bytes come from: fills bytes[0..size). */
typedef void wd_token_random(void *arg, void *bytes, size_t size);

/* Makes a new token. `random` NULL: the kernel's. Each character is drawn uniformly (a
 * byte of 248 or more is thrown away). */
void wd_token_mint(wd_token_kind kind, wd_token_random *random, void *arg,
                   wd_token_text *ret_text);

/* Reads a token: shape, alphabet and check digits. Says nothing of its being known.
 * False: `*ret_name` is untouched. NULL is no token. */
bool wd_token_parse(const char *text, wd_token_name *ret_name);

/* True for ten characters of [0-9A-Za-z]. */
bool wd_token_id_valid(const char *id);

/* What is kept of a token. `text` must have parsed. */
void wd_token_digest(const char *text, uint8_t ret_digest[WD_TOKEN_DIGEST_BYTES]);

/* "data", "admin", "wrap" or "join". And back: false for any other word. */
const char *wd_token_kind_name(wd_token_kind kind);
bool wd_token_kind_parse(const char *name, wd_token_kind *ret_kind);

void wd_token_text_wipe(wd_token_text *text);

#endif
