/* heap.h - what a large message took goes back to the system when it is freed.
 *
 * glibc by itself stops doing so: once a large block was freed, blocks up to that size,
 * 32 MiB at most, come out of heaps that it keeps. A process whose messages are that
 * large then holds several times what its budgets allow.
 *
 * Threads: none beside it yet.  Owns: nothing.
 * Source:  mallopt(3), M_MMAP_THRESHOLD. */
#ifndef WD_HEAP_H
#define WD_HEAP_H

/* A block of so many bytes, or more, is mapped by itself. */
#define WD_HEAP_LARGE (256 << 10)

/* First thing in a program that takes in large messages; where the allocator is not
 * glibc's (a sanitizer's) nothing changes. */
void wd_heap_set_up(void);

#endif
