/* siphash.h - a short keyed hash, for tables whose keys strangers choose.
 *
 * Without the key nobody can tell which inputs fall together, so nobody can make a table
 * slow. It is no digest for a record: those are proto/c/sha256.h's.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012. */
#ifndef WD_SIPHASH_H
#define WD_SIPHASH_H

#include <stdint.h>

#include "proto/c/span.h"

#define WD_SIPHASH_KEY_BYTES 16U

/* SipHash-2-4 of `data`. Draw the key with wd_random(). */
uint64_t wd_siphash(const uint8_t key[WD_SIPHASH_KEY_BYTES], wd_span data);

#endif
