#include "proto/c/alloc.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"

/* Under AddressSanitizer the unused parts of a chunk are forbidden ground, so that
 * reading past an allocation is found here as it is on the plain heap. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#endif
#ifdef UNDER_ASAN
#include <sanitizer/asan_interface.h>
#define REDZONE_BYTES        16U
#define FORBID(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#define ALLOW(memory, size)  ASAN_UNPOISON_MEMORY_REGION(memory, size)
#else
#define REDZONE_BYTES        0U
#define FORBID(memory, size) ((void)(memory), (void)(size))
#define ALLOW(memory, size)  ((void)(memory), (void)(size))
#endif

#define CHUNK_BYTES 4096U
#define ALIGNMENT   ((size_t)alignof(max_align_t))

typedef struct chunk {
    struct chunk *next;
    size_t size; /* of `bytes` */
    size_t used;
    alignas(max_align_t) uint8_t bytes[];
} chunk;

struct wd_budget {
    ProtobufCAllocator allocator;
    size_t limit;
    size_t used;
    size_t held; /* charged to the purse */
    bool spent;
    int refused;           /* by the purse, and why; 0: not */
    size_t wanted;         /* it would have held so much then */
    wd_budget_purse purse; /* zeroed: none */
    chunk *chunks;         /* the newest first; only that one is filled further */
};

static void *allocate(void *data, size_t size)
{
    return wd_budget_take(data, size);
}

/* The arena is freed as a whole. What protobuf-c gives back stays counted: a payload
 * that makes it allocate again and again runs out of budget all the same. */
static void release(void *data, void *memory)
{
    (void)data;
    (void)memory;
}

wd_budget *wd_budget_new(size_t input_bytes)
{
    wd_budget *budget = calloc(1, sizeof(*budget));
    if (budget == NULL)
        return NULL;
    budget->allocator = (ProtobufCAllocator){
        .alloc = allocate, .free = release, .allocator_data = budget};
    if (__builtin_mul_overflow(input_bytes, WD_DECODE_FACTOR, &budget->limit) ||
        __builtin_add_overflow(budget->limit, WD_DECODE_BASE_BYTES, &budget->limit))
        budget->limit = SIZE_MAX;
    return budget;
}

void wd_budget_charge_to(wd_budget *budget, const wd_budget_purse *purse)
{
    WD_ASSERT(budget->chunks == NULL);
    budget->purse = *purse;
}

static bool charge(wd_budget *budget, size_t bytes)
{
    if (budget->purse.charge == NULL)
        return true;
    int no = budget->purse.charge(budget->purse.arg, bytes);
    if (no == 0) {
        budget->held += bytes;
        return true;
    }
    budget->refused = no;
    budget->wanted = budget->held + bytes;
    return false;
}

void wd_budget_free(wd_budget *budget)
{
    if (budget == NULL)
        return;
    for (chunk *at = budget->chunks; at != NULL;) {
        chunk *next = at->next;
        ALLOW(at->bytes, at->size);
        free(at);
        at = next;
    }
    if (budget->held > 0)
        budget->purse.release(budget->purse.arg, budget->held);
    free(budget);
}

ProtobufCAllocator *wd_budget_allocator(wd_budget *budget)
{
    return &budget->allocator;
}

static bool add_chunk(wd_budget *budget, size_t needed)
{
    size_t size = needed > CHUNK_BYTES ? needed : CHUNK_BYTES;
    size_t total = 0;
    if (__builtin_add_overflow(sizeof(chunk), size, &total) || !charge(budget, total))
        return false;
    chunk *made = calloc(1, total);
    if (made == NULL)
        return false;
    *made = (chunk){.next = budget->chunks, .size = size, .used = 0};
    budget->chunks = made;
    FORBID(made->bytes, size);
    return true;
}

/* `size` rounded up, with its red zone; 0 when that overflows. */
static size_t footprint(size_t size)
{
    size_t sum = 0;
    if (__builtin_add_overflow(size, ALIGNMENT - 1 + REDZONE_BYTES, &sum))
        return 0;
    return sum / ALIGNMENT * ALIGNMENT;
}

void *wd_budget_take(wd_budget *budget, size_t size)
{
    size_t wanted = size == 0 ? 1 : size; /* NULL would mean refusal */
    size_t taken = footprint(wanted);
    if (taken == 0 || wanted > budget->limit - budget->used) {
        budget->spent = true;
        return NULL;
    }
    const chunk *top = budget->chunks;
    if ((top == NULL || taken > top->size - top->used) && !add_chunk(budget, taken)) {
        budget->spent = true;
        return NULL;
    }
    void *memory = budget->chunks->bytes + budget->chunks->used;
    budget->chunks->used += taken;
    budget->used += wanted;
    ALLOW(memory, wanted);
    return memory;
}

char *wd_budget_text(wd_budget *budget, const void *text, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    char *copy = wd_budget_take(budget, size + 1);
    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

size_t wd_budget_limit(const wd_budget *budget)
{
    return budget->limit;
}

size_t wd_budget_used(const wd_budget *budget)
{
    return budget->used;
}

bool wd_budget_spent(const wd_budget *budget)
{
    return budget->spent;
}

int wd_budget_refused(const wd_budget *budget)
{
    return budget->refused;
}

size_t wd_budget_wanted(const wd_budget *budget)
{
    return budget->wanted;
}
