/* checkpoint.h - a signed head of the chain, as text that anybody may keep.
 *
 *     warded-audit 0192f3c4-...      the chain
 *     1234                           a row's number
 *     kq8...=                        its hash, base64
 *     2026-11-30T02:00:00.123Z       when it was signed
 *
 *     — spiffe://.../gate/g1 0011223344556677 MEUC...=
 *
 * The last line: whose key, which one (the first 8 bytes of the SHA-256 of its public
 * half, hex), and its ECDSA P-256 signature over the first four lines with their line
 * ends, DER in base64.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  docs/audit.md, "Checkpoints"; after C2SP's signed note. */
#ifndef WD_STORE_CHECKPOINT_H
#define WD_STORE_CHECKPOINT_H

#include "proto/c/span.h"
#include "store/audit.h"

#define WD_CHECKPOINT_BYTES     1024U /* of the text, with its NUL */
#define WD_CHECKPOINT_GATE      512U
#define WD_CHECKPOINT_SIGNATURE 80U /* DER of two numbers of 256 bits takes 72 */
#define WD_CHECKPOINT_KEY_ID    17U /* 16 digits and the NUL */

typedef struct wd_checkpoint {
    char chain_id[64];
    wd_head head;
    int64_t signed_ms;
    char gate[WD_CHECKPOINT_GATE];
    char key_id[WD_CHECKPOINT_KEY_ID];
    uint8_t signature[WD_CHECKPOINT_SIGNATURE];
    size_t signature_size;
    size_t signed_size; /* so many bytes of the text are signed */
} wd_checkpoint;

/* Who signs. `sign` fills at most WD_CHECKPOINT_SIGNATURE bytes; any thread. */
typedef struct wd_signer {
    const char *gate;
    const char *key_id;
    const char *certificate; /* PEM: what others check the signature with */
    wd_status (*sign)(void *arg, wd_span text, uint8_t *ret_signature, size_t *ret_size,
                      wd_error *err);
    void *arg;
} wd_signer;

/* Who checks. `certificate`: PEM, of the key that the text names, or NULL when the store
 * does not have it.
 * Errors: DATA_LOSS it is not that key's signature */
typedef struct wd_checker {
    wd_status (*check)(const void *arg, const wd_checkpoint *checkpoint, wd_span text,
                       const char *certificate, wd_error *err);
    const void *arg;
} wd_checker;

/* The text of what chain_id, head and signed_ms say, signed. Errors: the signer's. */
WD_MUST_USE wd_status wd_checkpoint_make(const wd_signer *signer,
                                         const wd_checkpoint *what,
                                         char ret_text[WD_CHECKPOINT_BYTES],
                                         wd_error *err);

/* Reads a text, every byte of it; checks no signature.
 * Errors: INVALID_ARGUMENT which line is not what it must be */
WD_MUST_USE wd_status wd_checkpoint_parse(const char *text, wd_checkpoint *ret,
                                          wd_error *err);

#endif
