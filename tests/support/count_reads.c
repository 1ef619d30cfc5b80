#include "tests/support/count_reads.h"

#include <mbedtls/ssl.h>

/* The names are the linker's (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
int __real_mbedtls_ssl_read(mbedtls_ssl_context *ssl, unsigned char *data, size_t size);
__attribute__((visibility("default"))) /* ld asks for it where a DSO reads too */
int __wrap_mbedtls_ssl_read(mbedtls_ssl_context *ssl, unsigned char *data, size_t size);

static atomic_size_t **counter(void)
{
    static atomic_size_t *bytes;
    return &bytes;
}

void count_reads(atomic_size_t *bytes)
{
    *counter() = bytes;
}

int __wrap_mbedtls_ssl_read(mbedtls_ssl_context *ssl, unsigned char *data, size_t size)
{
    int got = __real_mbedtls_ssl_read(ssl, data, size);
    atomic_size_t *bytes = *counter();

    if (got > 0 && bytes != NULL)
        (void)atomic_fetch_add(bytes, (size_t)got);
    return got;
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
