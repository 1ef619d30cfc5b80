/* count_reads.h - what TLS gave the program that is linked with it, counted from outside.
 *
 * Linked with --wrap=mbedtls_ssl_read, every read of application data comes by here: the
 * count is not the engine's own word.
 *
 * Threads: any.  Owns: nothing. */
#ifndef WD_TEST_COUNT_READS_H
#define WD_TEST_COUNT_READS_H

#include <stdatomic.h>

/* Add to `bytes`, which outlives every read, each byte that is returned from now on. */
void count_reads(atomic_size_t *bytes);

#endif
