/* page_image.h - a file of the store, closed, whose bytes a test flips and puts back.
 *
 * Threads: the test's.  Owns: a descriptor, until wd_image_close.
 * Source:  sqlite.org/fileformat2.html. */
#ifndef WD_TESTS_PAGE_IMAGE_H
#define WD_TESTS_PAGE_IMAGE_H

#include "tests/support/store_fixture.h"

#define WD_PAGE_BYTES 4096U
#define WD_TRUNK_AT   32U /* in the header: the first page of the free list */

typedef struct wd_image {
    wd_fixture *f;
    char path[160];
    int fd;
    size_t size;
    uint8_t bytes[1U << 20]; /* as they were */
    bool free[256];          /* pages, numbered from 1 */
} wd_image;

/* "DIR/name" of the fixture's store; the test fails when that fails. */
void wd_image_open(wd_image *i, wd_fixture *f, const char *name);
void wd_image_close(wd_image *i);

void wd_image_put(const wd_image *i, size_t at, uint8_t byte);
/* Big-endian, as it was. */
uint32_t wd_image_number(const wd_image *i, size_t at, unsigned bytes);

#endif
