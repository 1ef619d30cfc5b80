/* Freed memory that was large goes back to the system. Without sanitizers, whose
 * allocators are not glibc's. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/c/heap.h"

static const size_t most = 16U << 20; /* the largest message */

static size_t mapped(void)
{
    return mallinfo2().hblkhd;
}

/* How many bytes a block of `size` adds to what is mapped by itself. */
static size_t mapped_by(size_t size)
{
    size_t before = mapped();
    void *block = malloc(size);

    assert_non_null(block);
    size_t during = mapped();
    free(block);
    assert_int_equal(mapped(), before);
    return during - before;
}

static void claim_03_what_is_large_goes_back_however_often(void **state)
{
    (void)state;
    wd_heap_set_up();
    for (int turn = 0; turn < 3; turn++)
        assert_true(mapped_by(most) >= most);
    assert_true(mapped_by(WD_HEAP_LARGE) >= WD_HEAP_LARGE);
}

static void what_is_small_does_not_cost_a_mapping(void **state)
{
    (void)state;
    wd_heap_set_up();
    assert_int_equal(mapped_by(WD_HEAP_LARGE / 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_03_what_is_large_goes_back_however_often),
        cmocka_unit_test(what_is_small_does_not_cost_a_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
