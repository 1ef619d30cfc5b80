/* alloc.h - the memory that decoding one payload may take, and an end to it.
 *
 * protobuf-c turns 1 MiB of empty submessages into 88 MB. A budget is an arena behind
 * its allocator interface: each allocation is counted, freeing one is free, and what
 * would pass the budget answers NULL, which protobuf-c honours. Everything decoded
 * under a budget lives until wd_budget_free: never call ..._free_unpacked on it.
 *
 * What it hands out is less than what it takes: it takes chunks, and rounds up. A purse
 * is charged for what it takes.
 *
 * Threads: one owner at a time.  Owns: all memory it handed out.
 * Source:  docs/protocol.md, "limits": 1 MiB + 8 x the input. */
#ifndef WD_ALLOC_H
#define WD_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/c/cleanup.h"
#include "proto/c/status.h"

typedef struct wd_budget wd_budget;

/* A budget for decoding `input_bytes`. NULL only when memory is out. Allocates little
 * at first: an idle budget costs a few hundred bytes. */
WD_MUST_USE wd_budget *wd_budget_new(size_t input_bytes);

/* Who is asked before a budget takes memory, and told when it gives all of it back. */
typedef struct wd_budget_purse {
    int (*charge)(void *arg, size_t bytes); /* 0; or no, and why, in its own numbers */
    void (*release)(void *arg, size_t bytes);
    void *arg; /* outlives the budget */
} wd_budget_purse;

/* From now on what the budget takes, all that it keeps with it, is charged there first.
 * Once, before anything was taken. */
void wd_budget_charge_to(wd_budget *budget, const wd_budget_purse *purse);

/* Frees everything that was allocated under it. Accepts NULL. */
void wd_budget_free(wd_budget *budget);
WD_DEFINE_AUTO(wd_budget, wd_budget_free)

/* For protobuf_c_message_unpack; lives as long as the budget. */
ProtobufCAllocator *wd_budget_allocator(wd_budget *budget);

/* `size` bytes, aligned for any type, not zeroed. NULL: the budget, its purse or memory
 * is spent. */
WD_MUST_USE void *wd_budget_take(wd_budget *budget, size_t size);

/* A copy of `size` bytes and a NUL. NULL as above. */
WD_MUST_USE char *wd_budget_text(wd_budget *budget, const void *text, size_t size);

size_t wd_budget_limit(const wd_budget *budget); /* bytes in all */
size_t wd_budget_used(const wd_budget *budget);  /* bytes handed out */

/* What the purse said when it refused; 0: it has not. */
int wd_budget_refused(const wd_budget *budget);

/* What it would have kept then, had the purse not refused; 0: it has not. */
size_t wd_budget_wanted(const wd_budget *budget);

/* Whether an allocation was refused: how to tell "too large" from "malformed". */
bool wd_budget_spent(const wd_budget *budget);

#endif
