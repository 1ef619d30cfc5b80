/* crowd.h - how many of the gate's places one principal may have: a rule, without state.
 *
 * A place is for a call from its arrival until its reply was taken: limits.in_flight there
 * are. A context holds it, and there are WD_GATE_RESERVED more of those, for calls that
 * never wait and for refusals: these have no place, however many of them nobody reads.
 * One principal has at most a quarter, and never more than are free beside it: so n of
 * them, each as greedy as can be, leave one part in n + 1. Of the last sixteenth nobody
 * has more than WD_GATE_FEW.
 *
 * Threads: any.  Owns: nothing.  Source: docs/architecture.md, "Admission". */
#ifndef WD_SERVER_CROWD_H
#define WD_SERVER_CROWD_H

#include <stdint.h>

#define WD_GATE_RESERVED 256U /* contexts above limits.in_flight: for the lane */
#define WD_GATE_LAST     16U  /* of these the last: they only answer QUEUE_FULL */
#define WD_GATE_FEW      16U  /* contexts and places that each may have in any crowd */
#define WD_CROWD_KEPT    16U  /* such a part of all is for who has few */

/* With the call that is judged, as if it had a place. */
typedef struct wd_crowd {
    uint64_t in_flight;  /* limits.in_flight, as it is now */
    uint64_t contexts;   /* that there are; more, when it was lowered since */
    uint64_t busy;       /* of these, by all */
    uint64_t placed;     /* places taken by all */
    uint64_t own_busy;   /* contexts of the call's principal */
    uint64_t own_placed; /* and its places */
} wd_crowd;

/* What becomes of a call; the first that holds. */
typedef enum wd_room {
    WD_ROOM = 0,   /* it may run */
    WD_ROOM_LAST,  /* in one of the last contexts: QUEUE_FULL, and no record */
    WD_ROOM_FULL,  /* limits.in_flight are taken */
    WD_ROOM_QUOTA, /* its principal has a quarter of all contexts */
    WD_ROOM_SHARE, /* its principal has as many places as are free */
} wd_room;

wd_room wd_crowd_judge(const wd_crowd *crowd);

/* The rule, for whatever is counted and shared out: of `all`, of which `taken` are taken, a
 * principal may have as many as are free, less the part kept for who has no more than
 * `few`. */
uint64_t wd_crowd_free(uint64_t all, uint64_t taken, uint64_t few);

/* How many places a principal may have now. */
uint64_t wd_crowd_share(const wd_crowd *crowd);

/* A quarter of all contexts. */
uint64_t wd_crowd_quarter(uint64_t in_flight);

#endif
