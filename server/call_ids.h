/* call_ids.h - the call ids that one principal has used: never twice.
 *
 * Ids are UUIDv7 and so sort by time. A known id is answered from its entry. An unknown
 * one must be newer than the floor: 15 minutes back, or the newest entry that was dropped;
 * a clock that is set back does not lower it. Running calls are never evicted.
 *
 * Callers choose their ids; no choice makes a call dear. A claim looks at a few places,
 * and drops at most a few old entries. Only growing takes longer, 18 times in all.
 *
 * Threads: one at a time; server/peer.h keeps the lock.
 * Owns:    its memory, about 150 bytes an id, grown as it fills; a count of each wd_kept.
 * Source:  docs/protocol.md, section 4. */
#ifndef WD_SERVER_CALL_IDS_H
#define WD_SERVER_CALL_IDS_H

#include "proto/c/cleanup.h"
#include "proto/c/limits.h"
#include "proto/c/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_CALL_IDS_EACH 262144U  /* of one principal */
#define WD_CALL_IDS_ALL  1048576U /* of all principals */
#define WD_CALL_IDS_OWN  4096U    /* of one, also when all together have that many */

typedef enum wd_claim {
    WD_CLAIM_OK,      /* new: it is the caller's now */
    WD_CLAIM_RUNNING, /* the call is under way: *ret_kept will have its answer */
    WD_CLAIM_ENDED,   /* it has ended: *ret_kept may have its answer still */
    WD_CLAIM_CUT,     /* a crash cut it off */
    WD_CLAIM_REUSED,  /* known with another digest */
    WD_CLAIM_EXPIRED, /* unknown, and older than the floor */
    WD_CLAIM_AHEAD,   /* unknown, and more than WD_CALL_AHEAD_MS ahead */
    WD_CLAIM_FULL,    /* nothing can be evicted, or no memory */
} wd_claim;

struct wd_kept; /* server/kept.h */

typedef struct wd_call_ids wd_call_ids;

/* What is claimed, and when. */
typedef struct wd_call_claim {
    const uint8_t *id;     /* WD_CALL_ID_BYTES */
    const uint8_t *digest; /* WD_SHA256_BYTES: the same id must bring the same */
    int64_t now_ms;        /* wall clock */
} wd_call_claim;

/* `capacity` entries at most; nothing older than `floor_ms` is ever taken; `total` counts
 * the entries of all tables (may be NULL). NULL: no memory. */
wd_call_ids *wd_call_ids_new(size_t capacity, int64_t floor_ms, atomic_size_t *total);
void wd_call_ids_free(wd_call_ids *ids);
WD_DEFINE_AUTO(wd_call_ids, wd_call_ids_free)

/* Take an id for a call that begins. *ret_floor_ms is set in any case; *ret_kept has one
 * count more of the id's wd_kept with OK, RUNNING and ENDED, or is NULL: none is known of
 * an id from before the start. */
wd_claim wd_call_ids_claim(wd_call_ids *ids, const wd_call_claim *claim,
                           struct wd_kept **ret_kept, int64_t *ret_floor_ms);

/* The claimed call ended: from now on WD_CLAIM_ENDED. */
void wd_call_ids_end(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES]);

/* The claimed call never ran: the id may be used again. */
void wd_call_ids_forget(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES]);

/* At start, from the trail, newest first: an id that was used, ended or cut off. Its
 * digest is not known, so WD_CLAIM_REUSED is not told of it. The first report of an id
 * stays. What finds no room raises the floor: it is not run again either. */
void wd_call_ids_restore(wd_call_ids *ids, const uint8_t id[WD_CALL_ID_BYTES],
                         bool ended);

size_t wd_call_ids_count(const wd_call_ids *ids);

/* Places looked at since the table was made: what it has cost. */
uint64_t wd_call_ids_probes(const wd_call_ids *ids);

#endif
