#include "server/call_ids.h"

#include <string.h>

#include "proto/c/sha256.h"
#include "proto/c/siphash.h"
#include "proto/c/uuid.h"
#include "server/kept.h"

#define FIRST_BITS   6U  /* 64 places */
#define EXPIRE_BATCH 16U /* dropped by one claim at most; one claim adds one */

typedef enum state { FREE = 0, RUNNING, ENDED, CUT } state;

typedef struct entry {
    uint8_t id[WD_CALL_ID_BYTES];
    uint8_t digest[WD_SHA256_BYTES];
    bool has_digest;
    uint8_t state;
    wd_kept *kept; /* counted; NULL: from before the start */
} entry;

/* Entries: a hash with linear probing, at most half full. Callers choose their ids, so
 * where one falls depends on a key that they do not know: runs stay short whatever they
 * send. What may be evicted is also in `heap`, the oldest id on top. */
struct wd_call_ids {
    uint8_t key[WD_SIPHASH_KEY_BYTES];
    uint64_t probes;
    entry *places;
    size_t bits; /* 2^bits places */
    size_t count, capacity;
    uint8_t (*heap)[WD_CALL_ID_BYTES];
    size_t heap_count, heap_room;
    int64_t evicted_ms; /* newest that is not kept any more */
    atomic_size_t *total;
};

wd_call_ids *wd_call_ids_new(size_t capacity, int64_t floor_ms, atomic_size_t *total)
{
    wd_call_ids *ids = calloc(1, sizeof(*ids));

    if (ids == NULL)
        return NULL;
    ids->places = calloc((size_t)1 << FIRST_BITS, sizeof(entry));
    if (ids->places == NULL) {
        free(ids);
        return NULL;
    }
    wd_random(ids->key, sizeof(ids->key));
    ids->bits = FIRST_BITS;
    ids->capacity = capacity;
    ids->evicted_ms = floor_ms - 1;
    ids->total = total;
    return ids;
}

void wd_call_ids_free(wd_call_ids *ids)
{
    if (ids == NULL)
        return;
    if (ids->total != NULL)
        (void)atomic_fetch_sub(ids->total, ids->count);
    for (size_t i = 0; i < (size_t)1 << ids->bits; i++)
        wd_kept_unref(ids->places[i].kept);
    free(ids->places);
    free(ids->heap);
    free(ids);
}

size_t wd_call_ids_count(const wd_call_ids *ids)
{
    return ids->count;
}

uint64_t wd_call_ids_probes(const wd_call_ids *ids)
{
    return ids->probes;
}

static size_t mask_of(const wd_call_ids *ids)
{
    return ((size_t)1 << ids->bits) - 1;
}

/* Where the id belongs. */
static size_t home_of(const wd_call_ids *ids, const uint8_t *id)
{
    return (size_t)(wd_siphash(ids->key, (wd_span){id, WD_CALL_ID_BYTES}) >>
                    (64 - ids->bits));
}

/* Where the id is, or the free place where it would be. */
static size_t place_of(wd_call_ids *ids, const uint8_t *id)
{
    size_t mask = mask_of(ids);
    size_t at = home_of(ids, id);

    ids->probes++;
    while (ids->places[at].state != FREE &&
           memcmp(ids->places[at].id, id, WD_CALL_ID_BYTES) != 0) {
        at = (at + 1) & mask;
        ids->probes++;
    }
    return at;
}

static bool grow(wd_call_ids *ids)
{
    if (2 * (ids->count + 1) <= (size_t)1 << ids->bits)
        return true;

    entry *old = ids->places;
    size_t n_old = (size_t)1 << ids->bits;
    entry *places = calloc(2 * n_old, sizeof(entry));
    if (places == NULL)
        return false;
    ids->places = places;
    ids->bits++;
    for (size_t i = 0; i < n_old; i++) {
        if (old[i].state != FREE)
            places[place_of(ids, old[i].id)] = old[i];
    }
    free(old);
    return true;
}

/* Take an entry out: later ones of its run move up into the gap, each at most once, and
 * none past the place where it belongs. */
static void erase(wd_call_ids *ids, size_t at)
{
    size_t mask = mask_of(ids);
    size_t gap = at;

    wd_kept_unref(ids->places[at].kept);
    ids->count--;
    if (ids->total != NULL)
        (void)atomic_fetch_sub(ids->total, 1);
    for (size_t next = (at + 1) & mask; ids->places[next].state != FREE;
         next = (next + 1) & mask) {
        size_t home = home_of(ids, ids->places[next].id);
        ids->probes++;
        if (((next - home) & mask) < ((next - gap) & mask))
            continue; /* it belongs between the gap and here */
        ids->places[gap] = ids->places[next];
        gap = next;
    }
    ids->places[gap] = (entry){.state = FREE};
}

static bool older(const wd_call_ids *ids, size_t a, size_t b)
{
    return memcmp(ids->heap[a], ids->heap[b], WD_CALL_ID_BYTES) < 0;
}

static void swap(wd_call_ids *ids, size_t a, size_t b)
{
    uint8_t kept[WD_CALL_ID_BYTES];

    memcpy(kept, ids->heap[a], sizeof(kept));
    memcpy(ids->heap[a], ids->heap[b], sizeof(kept));
    memcpy(ids->heap[b], kept, sizeof(kept));
}

/* The id may be evicted from now on. Room was made when it was claimed. */
static void heap_push(wd_call_ids *ids, const uint8_t *id)
{
    size_t at = ids->heap_count++;

    memcpy(ids->heap[at], id, WD_CALL_ID_BYTES);
    for (; at > 0 && older(ids, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(ids, at, (at - 1) / 2);
}

/* Evict the oldest entry that may be. */
static void heap_pop(wd_call_ids *ids)
{
    size_t found = place_of(ids, ids->heap[0]);

    WD_ASSERT(ids->places[found].state != FREE);
    erase(ids, found);
    memcpy(ids->heap[0], ids->heap[--ids->heap_count], WD_CALL_ID_BYTES);
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < ids->heap_count && older(ids, child, least))
                least = child;
        }
        if (least == at)
            return;
        swap(ids, at, least);
        at = least;
    }
}

/* Room in the heap for every entry there may be with one more. */
static bool grow_heap(wd_call_ids *ids)
{
    if (ids->count < ids->heap_room)
        return true;
    size_t room = ids->heap_room == 0 ? 64 : 2 * ids->heap_room;
    void *heap = reallocarray(ids->heap, room, WD_CALL_ID_BYTES);
    if (heap == NULL)
        return false;
    ids->heap = heap;
    ids->heap_room = room;
    return true;
}

/* Others that have many ids take no room from one who has few. */
static bool over(const wd_call_ids *ids)
{
    if (ids->count >= ids->capacity)
        return true;
    return ids->count >= WD_CALL_IDS_OWN && ids->total != NULL &&
           atomic_load(ids->total) >= WD_CALL_IDS_ALL;
}

/* From now on nothing that is as old as this one is taken. */
static void raise_floor(wd_call_ids *ids, const uint8_t *id)
{
    int64_t ms = wd_uuid7_ms(id);

    if (ms > ids->evicted_ms)
        ids->evicted_ms = ms;
}

/* One is evicted at a time: who adds one needs no more. */
static bool make_room(wd_call_ids *ids)
{
    if (over(ids) && ids->heap_count > 0) {
        raise_floor(ids, ids->heap[0]);
        heap_pop(ids);
    }
    return !over(ids) && grow(ids) && grow_heap(ids);
}

/* Ids below the floor need no entry any more. A few at a time: the lock of the principal
 * is held. */
static void expire(wd_call_ids *ids, int64_t floor_ms)
{
    for (size_t i = 0; i < EXPIRE_BATCH && ids->heap_count > 0 &&
                       wd_uuid7_ms(ids->heap[0]) < floor_ms;
         i++) {
        raise_floor(ids, ids->heap[0]); /* the clock may be set back */
        heap_pop(ids);
    }
}

static entry *insert(wd_call_ids *ids, const uint8_t *id, state first)
{
    entry *place = &ids->places[place_of(ids, id)];

    memcpy(place->id, id, WD_CALL_ID_BYTES);
    place->has_digest = false;
    place->kept = NULL;
    place->state = (uint8_t)first;
    ids->count++;
    if (ids->total != NULL)
        (void)atomic_fetch_add(ids->total, 1);
    return place;
}

static wd_claim known(const entry *at, const uint8_t *digest, wd_kept **ret_kept)
{
    if (at->has_digest && memcmp(at->digest, digest, WD_SHA256_BYTES) != 0)
        return WD_CLAIM_REUSED;
    if (at->kept != NULL)
        *ret_kept = wd_kept_ref(at->kept);
    if (at->state == RUNNING)
        return WD_CLAIM_RUNNING;
    return at->state == ENDED ? WD_CLAIM_ENDED : WD_CLAIM_CUT;
}

static int64_t floor_at(const wd_call_ids *ids, int64_t now_ms)
{
    int64_t floor = now_ms - WD_CALL_FLOOR_MS;
    return floor > ids->evicted_ms ? floor : ids->evicted_ms + 1;
}

wd_claim wd_call_ids_claim(wd_call_ids *ids, const wd_call_claim *claim,
                           wd_kept **ret_kept, int64_t *ret_floor_ms)
{
    int64_t id_ms = wd_uuid7_ms(claim->id);
    const entry *found = &ids->places[place_of(ids, claim->id)];

    *ret_kept = NULL;
    *ret_floor_ms = floor_at(ids, claim->now_ms);
    if (found->state != FREE)
        return known(found, claim->digest, ret_kept);
    if (id_ms < *ret_floor_ms)
        return WD_CLAIM_EXPIRED;
    if (id_ms > claim->now_ms + WD_CALL_AHEAD_MS)
        return WD_CLAIM_AHEAD;

    expire(ids, *ret_floor_ms);
    if (!make_room(ids))
        return WD_CLAIM_FULL;
    WD_AUTO(wd_kept) *kept = wd_kept_new();
    if (kept == NULL)
        return WD_CLAIM_FULL;
    entry *taken = insert(ids, claim->id, RUNNING);
    memcpy(taken->digest, claim->digest, WD_SHA256_BYTES);
    taken->has_digest = true;
    taken->kept = wd_kept_ref(kept);
    *ret_kept = WD_STEAL(kept);
    return WD_CLAIM_OK;
}

void wd_call_ids_end(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES])
{
    entry *found = &ids->places[place_of(ids, id)];

    WD_ASSERT(found->state == RUNNING);
    found->state = ENDED;
    heap_push(ids, id);
}

void wd_call_ids_forget(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES])
{
    size_t at = place_of(ids, id);

    WD_ASSERT(ids->places[at].state == RUNNING);
    erase(ids, at);
}

/* Newest first: when the table is full, what comes is as good as evicted. */
void wd_call_ids_restore(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES],
                         bool ended)
{
    if (ids->places[place_of(ids, id)].state != FREE)
        return;
    if (over(ids) || !make_room(ids)) {
        raise_floor(ids, id);
        return;
    }
    (void)insert(ids, id, ended ? ENDED : CUT);
    heap_push(ids, id);
}
