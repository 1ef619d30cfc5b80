#include "tests/unit/store/page_image.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

uint32_t wd_image_number(const wd_image *i, size_t at, unsigned bytes)
{
    uint32_t n = 0;
    for (unsigned b = 0; b < bytes; b++)
        n = n << 8U | i->bytes[at + b];
    return n;
}

/* Trunks, each with the next and its leaves. */
static void find_free(wd_image *i)
{
    for (uint32_t trunk = wd_image_number(i, WD_TRUNK_AT, 4); trunk != 0;) {
        size_t at = (trunk - 1) * (size_t)WD_PAGE_BYTES;
        uint32_t leaves = wd_image_number(i, at + 4, 4);
        i->free[trunk] = true;
        for (uint32_t k = 0; k < leaves; k++)
            i->free[wd_image_number(i, at + 8 + k * 4U, 4)] = true;
        trunk = wd_image_number(i, at, 4);
    }
}

void wd_image_open(wd_image *i, wd_fixture *f, const char *name)
{
    *i = (wd_image){.f = f};
    (void)snprintf(i->path, sizeof(i->path), "%s", wd_fixture_path(f, name));
    i->fd = open(i->path, O_RDWR | O_CLOEXEC);
    assert_true(i->fd >= 0);
    i->size = (size_t)lseek(i->fd, 0, SEEK_END);
    assert_in_range(i->size, 1, sizeof(i->bytes));
    assert_int_equal(pread(i->fd, i->bytes, i->size, 0), i->size);
    assert_int_equal(i->size % WD_PAGE_BYTES, 0);
    find_free(i);
}

void wd_image_close(wd_image *i)
{
    (void)close(i->fd);
}

void wd_image_put(const wd_image *i, size_t at, uint8_t byte)
{
    assert_int_equal(pwrite(i->fd, &byte, 1, (off_t)at), 1);
}
