#include "proto/c/heap.h"

#include <malloc.h>

void wd_heap_set_up(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, WD_HEAP_LARGE);
}
