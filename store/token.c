#include "store/token.h"

#include <string.h>
#include <zlib.h>

#include "proto/c/sha256.h"

#define PREFIX_CHARS 5U /* "wdt1_" */
#define CHECK_CHARS  6U /* 62^6 > 2^32 */
#define CHECK_AT     (WD_TOKEN_CHARS - CHECK_CHARS)
#define ALPHABET     62U
/* The largest multiple of 62 that a byte can hold: bytes from here on would favour the
 * first characters of the alphabet. */
#define FAIR_BYTES 248U
#define DRAW_BYTES 64U

static const char alphabet[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char digest_domain[] = "warded-token-v1";

static bool is_base62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool all_base62(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!is_base62(text[i]))
            return false;
    }
    return true;
}

static void kernel_random(void *arg, void *bytes, size_t size)
{
    (void)arg;
    wd_random(bytes, size);
}

static void draw(char *chars, size_t size, wd_token_random *random, void *arg)
{
    uint8_t bytes[DRAW_BYTES];
    size_t have = 0;
    for (size_t i = 0; i < size;) {
        if (have == 0) {
            random(arg, bytes, sizeof(bytes));
            have = sizeof(bytes);
        }
        uint8_t byte = bytes[--have];
        if (byte < FAIR_BYTES)
            chars[i++] = alphabet[byte % ALPHABET];
    }
    wd_wipe(bytes, sizeof(bytes));
}

static void write_check(const char *text, char check[CHECK_CHARS])
{
    uint32_t sum = (uint32_t)crc32(0L, (const Bytef *)text, CHECK_AT);
    for (size_t i = CHECK_CHARS; i-- > 0; sum /= ALPHABET)
        check[i] = alphabet[sum % ALPHABET];
}

void wd_token_mint(wd_token_kind kind, wd_token_random *random, void *arg,
                   wd_token_text *ret_text)
{
    char *chars = ret_text->chars;
    const char prefix[PREFIX_CHARS] = {'w', 'd', (char)kind, '1', '_'};
    memcpy(chars, prefix, PREFIX_CHARS);
    draw(chars + PREFIX_CHARS, CHECK_AT - PREFIX_CHARS,
         random != NULL ? random : kernel_random, arg);
    write_check(chars, chars + CHECK_AT);
    chars[WD_TOKEN_CHARS] = '\0';
}

static bool is_kind(char c)
{
    return c == WD_TOKEN_DATA || c == WD_TOKEN_ADMIN || c == WD_TOKEN_WRAP ||
           c == WD_TOKEN_JOIN;
}

static bool shape_valid(const char *text)
{
    return strnlen(text, WD_TOKEN_CHARS + 1) == WD_TOKEN_CHARS &&
           memcmp(text, "wd", 2) == 0 && is_kind(text[2]) &&
           memcmp(text + 3, "1_", 2) == 0 &&
           all_base62(text + PREFIX_CHARS, WD_TOKEN_CHARS - PREFIX_CHARS);
}

bool wd_token_parse(const char *text, wd_token_name *ret_name)
{
    if (text == NULL || !shape_valid(text))
        return false;
    char check[CHECK_CHARS];
    write_check(text, check);
    if (memcmp(check, text + CHECK_AT, CHECK_CHARS) != 0)
        return false;

    ret_name->kind = (wd_token_kind)text[2];
    memcpy(ret_name->id, text + PREFIX_CHARS, WD_TOKEN_ID_CHARS);
    ret_name->id[WD_TOKEN_ID_CHARS] = '\0';
    return true;
}

bool wd_token_id_valid(const char *id)
{
    return strnlen(id, WD_TOKEN_ID_CHARS + 1) == WD_TOKEN_ID_CHARS &&
           all_base62(id, WD_TOKEN_ID_CHARS);
}

void wd_token_digest(const char *text, uint8_t ret_digest[WD_TOKEN_DIGEST_BYTES])
{
    wd_sha256 sha;
    wd_sha256_init(&sha);
    wd_sha256_add(&sha, digest_domain, sizeof(digest_domain) - 1);
    wd_sha256_add(&sha, text, WD_TOKEN_CHARS);
    wd_sha256_end(&sha, ret_digest);
}

static const struct {
    wd_token_kind kind;
    const char *name;
} kinds[] = {
    {WD_TOKEN_DATA, "data"},
    {WD_TOKEN_ADMIN, "admin"},
    {WD_TOKEN_WRAP, "wrap"},
    {WD_TOKEN_JOIN, "join"},
};

const char *wd_token_kind_name(wd_token_kind kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].kind == kind)
            return kinds[i].name;
    }
    return "unknown";
}

bool wd_token_kind_parse(const char *name, wd_token_kind *ret_kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *ret_kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

void wd_token_text_wipe(wd_token_text *text)
{
    wd_wipe(text->chars, sizeof(text->chars));
}
