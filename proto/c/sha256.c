#include "proto/c/sha256.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <mbedtls/base64.h>
#include <mbedtls/constant_time.h>
#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/sha256.h>

_Static_assert(sizeof(mbedtls_sha256_context) <= sizeof(((wd_sha256 *)0)->state),
               "mbedTLS's context outgrew wd_sha256");

/* The context travels by copy: no pointer into `state` is ever of another type. */
static mbedtls_sha256_context load(const wd_sha256 *sha)
{
    mbedtls_sha256_context context;
    memcpy(&context, sha->state, sizeof(context));
    return context;
}

static void save(wd_sha256 *sha, mbedtls_sha256_context *context)
{
    memcpy(sha->state, context, sizeof(*context));
    mbedtls_platform_zeroize(context, sizeof(*context));
}

void wd_sha256_init(wd_sha256 *sha)
{
    mbedtls_sha256_context context;
    mbedtls_sha256_init(&context);
    int failed = mbedtls_sha256_starts(&context, 0);
    WD_ASSERT(failed == 0);
    save(sha, &context);
}

void wd_sha256_add(wd_sha256 *sha, const void *data, size_t size)
{
    mbedtls_sha256_context context = load(sha);
    int failed = mbedtls_sha256_update(&context, data, size);
    WD_ASSERT(failed == 0);
    save(sha, &context);
}

void wd_sha256_end(wd_sha256 *sha, uint8_t ret_digest[WD_SHA256_BYTES])
{
    mbedtls_sha256_context context = load(sha);
    int failed = mbedtls_sha256_finish(&context, ret_digest);
    WD_ASSERT(failed == 0);
    mbedtls_sha256_free(&context);
    wd_wipe(sha, sizeof(*sha));
}

void wd_sha256_of(wd_span data, uint8_t ret_digest[WD_SHA256_BYTES])
{
    int failed = mbedtls_sha256(data.data, data.size, ret_digest, 0);
    WD_ASSERT(failed == 0);
}

void wd_hmac_sha256(wd_span key, wd_span data, uint8_t ret_mac[WD_SHA256_BYTES])
{
    const mbedtls_md_info_t *sha = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    WD_ASSERT(sha != NULL);
    int failed =
        mbedtls_md_hmac(sha, key.data, key.size, data.data, data.size, ret_mac);
    WD_ASSERT(failed == 0);
}

bool wd_equal_ct(const void *a, const void *b, size_t size)
{
    return mbedtls_ct_memcmp(a, b, size) == 0;
}

void wd_random(void *ret_data, size_t size)
{
    uint8_t *at = ret_data;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        WD_ASSERT(got > 0); /* Linux has had it since 3.17 */
        at += got;
        size -= (size_t)got;
    }
}

void wd_wipe(void *data, size_t size)
{
    if (size > 0)
        mbedtls_platform_zeroize(data, size);
}

void wd_hex(wd_span data, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < data.size; i++) {
        ret_text[2 * i] = digits[data.data[i] >> 4];
        ret_text[2 * i + 1] = digits[data.data[i] & 0x0F];
    }
    ret_text[2 * data.size] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool wd_hex_parse(const char *text, uint8_t *ret_data, size_t size)
{
    if (text == NULL || strlen(text) != 2 * size)
        return false;
    for (size_t i = 0; i < 2 * size; i++)
        if (digit_value(text[i]) < 0)
            return false;
    for (size_t i = 0; i < size; i++)
        ret_data[i] =
            (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return true;
}

void wd_base64(wd_span data, char *ret_text)
{
    size_t size = 0;
    int failed =
        mbedtls_base64_encode((unsigned char *)ret_text, WD_BASE64_BYTES(data.size),
                              &size, data.data, data.size);
    WD_ASSERT(failed == 0);
    ret_text[size] = '\0';
}

bool wd_base64_parse(const char *text, uint8_t *ret_data, size_t room, size_t *ret_size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/=";
    size_t length = strlen(text);
    if (strspn(text, digits) != length) /* mbedTLS passes line ends over */
        return false;
    return mbedtls_base64_decode(ret_data, room, ret_size, (const unsigned char *)text,
                                 length) == 0;
}
