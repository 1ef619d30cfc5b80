#include "store/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/c/clock.h"
#include "proto/c/sha256.h"

#define FIRST_WORD   "warded-audit "
#define DASH         "\xE2\x80\x94 " /* an em dash and a space, as signed notes have */
#define HASH_BASE64  44U             /* digits of 32 bytes */
#define SEQ_DIGITS   18U
#define TIME_PATTERN "dddd-dd-ddTdd:dd:dd.dddZ"

/* --- writing ---------------------------------------------------------------------- */

wd_status wd_checkpoint_make(const wd_signer *signer, const wd_checkpoint *what,
                             char ret_text[WD_CHECKPOINT_BYTES], wd_error *err)
{
    char hash[WD_BASE64_BYTES(WD_AUDIT_HASH_BYTES)];
    char signature[WD_BASE64_BYTES(WD_CHECKPOINT_SIGNATURE)];
    uint8_t bytes[WD_CHECKPOINT_SIGNATURE];
    char when[WD_UTC_BYTES];
    size_t size = 0;
    wd_base64((wd_span){what->head.hash, WD_AUDIT_HASH_BYTES}, hash);
    (void)wd_clock_format(what->signed_ms, when);
    int body = snprintf(ret_text, WD_CHECKPOINT_BYTES, FIRST_WORD "%s\n%llu\n%s\n%s\n",
                        what->chain_id, (unsigned long long)what->head.seq, hash, when);
    WD_TRY(signer->sign(signer->arg, (wd_span){(uint8_t *)ret_text, (size_t)body},
                        bytes, &size, err));
    wd_base64((wd_span){bytes, size}, signature);
    size_t room = WD_CHECKPOINT_BYTES - (size_t)body;
    int rest = snprintf(ret_text + body, room, "\n" DASH "%s %s %s\n", signer->gate,
                        signer->key_id, signature);
    if ((size_t)rest >= room)
        return wd_fail(err, WD_INTERNAL, "a checkpoint of %s is too long",
                       signer->gate);
    return WD_OK;
}

/* --- reading ---------------------------------------------------------------------- */

/* Moves *at behind the line that begins there and copies it. */
static bool take(const char **at, char end, char *out, size_t size)
{
    const char *stop = strchr(*at, end);
    size_t length = stop != NULL ? (size_t)(stop - *at) : size;
    if (length >= size)
        return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at = stop + 1;
    return true;
}

static bool take_word(const char **at, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool take_seq(const char **at, uint64_t *ret_seq)
{
    char line[SEQ_DIGITS + 1];
    if (!take(at, '\n', line, sizeof(line)))
        return false;
    size_t digits = strspn(line, "0123456789");
    *ret_seq = strtoull(line, NULL, 10);
    return digits > 0 && line[digits] == '\0' && line[0] != '0';
}

static bool take_hash(const char **at, uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    char line[HASH_BASE64 + 1];
    size_t size = 0;
    return take(at, '\n', line, sizeof(line)) &&
           wd_base64_parse(line, ret_hash, WD_AUDIT_HASH_BYTES, &size) &&
           size == WD_AUDIT_HASH_BYTES;
}

static bool take_time(const char **at, int64_t *ret_ms)
{
    char line[sizeof(TIME_PATTERN)];
    struct tm utc = {0};
    if (!take(at, '\n', line, sizeof(line)) || strlen(line) != sizeof(TIME_PATTERN) - 1)
        return false;
    for (size_t i = 0; i < sizeof(TIME_PATTERN) - 1; i++) {
        bool digit = line[i] >= '0' && line[i] <= '9';
        if (TIME_PATTERN[i] == 'd' ? !digit : line[i] != TIME_PATTERN[i])
            return false;
    }
    (void)strptime(line, "%Y-%m-%dT%H:%M:%S", &utc);
    *ret_ms = (int64_t)timegm(&utc) * 1000 + strtol(line + 20, NULL, 10);
    return true;
}

static bool take_signature(const char **at, wd_checkpoint *ret)
{
    char line[WD_BASE64_BYTES(WD_CHECKPOINT_SIGNATURE)];
    return take_word(at, DASH) && take(at, ' ', ret->gate, sizeof(ret->gate)) &&
           take(at, ' ', ret->key_id, sizeof(ret->key_id)) &&
           strspn(ret->key_id, "0123456789abcdef") == WD_CHECKPOINT_KEY_ID - 1 &&
           take(at, '\n', line, sizeof(line)) &&
           wd_base64_parse(line, ret->signature, sizeof(ret->signature),
                           &ret->signature_size) &&
           **at == '\0';
}

static wd_status refuse(const char *line, wd_error *err)
{
    return wd_refuse(err, WD_REASON_FIELD_INVALID,
                     "not a checkpoint: %s is not what it must be: docs/audit.md, "
                     "\"Checkpoints\"",
                     line);
}

wd_status wd_checkpoint_parse(const char *text, wd_checkpoint *ret, wd_error *err)
{
    const char *at = text;
    *ret = (wd_checkpoint){0};
    if (!take_word(&at, FIRST_WORD) ||
        !take(&at, '\n', ret->chain_id, sizeof(ret->chain_id)))
        return refuse("line 1 (\"warded-audit CHAIN\")", err);
    if (!take_seq(&at, &ret->head.seq))
        return refuse("line 2 (a row's number)", err);
    if (!take_hash(&at, ret->head.hash))
        return refuse("line 3 (a hash in base64)", err);
    if (!take_time(&at, &ret->signed_ms))
        return refuse("line 4 (a time, " TIME_PATTERN ")", err);
    ret->signed_size = (size_t)(at - text);
    if (*at++ != '\n')
        return refuse("line 5 (empty)", err);
    return take_signature(&at, ret) ? WD_OK : refuse("line 6 (the signature)", err);
}
