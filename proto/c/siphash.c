#include "proto/c/siphash.h"

#include <stddef.h>

typedef struct sip {
    uint64_t v0, v1, v2, v3;
} sip;

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t read_le(const uint8_t *bytes, size_t n)
{
    uint64_t x = 0;

    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)bytes[i] << (8 * i);
    return x;
}

static void rounds(sip *s, int n)
{
    for (int i = 0; i < n; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static void take(sip *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t wd_siphash(const uint8_t key[WD_SIPHASH_KEY_BYTES], wd_span data)
{
    uint64_t k0 = read_le(key, 8);
    uint64_t k1 = read_le(key + 8, 8);
    size_t whole = data.size & ~(size_t)7;
    wd_span rest = wd_span_skip(data, whole);
    sip s = {
        .v0 = k0 ^ 0x736f6d6570736575U, /* "somepseudorandomlygeneratedbytes" */
        .v1 = k1 ^ 0x646f72616e646f6dU,
        .v2 = k0 ^ 0x6c7967656e657261U,
        .v3 = k1 ^ 0x7465646279746573U,
    };

    for (size_t at = 0; at < whole; at += 8)
        take(&s, read_le(data.data + at, 8));
    take(&s, (uint64_t)data.size << 56 | read_le(rest.data, rest.size));
    s.v2 ^= 0xff;
    rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
