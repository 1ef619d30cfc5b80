/* half_open.h - connections that have not greeted yet, by address, oldest first: their
 * handshake is not over, or the SP greeting behind it has not come.
 *
 * One address may have so many, and all addresses together; who comes beyond takes the
 * place of another, of his own address or of the one that has most: of those that have
 * said nothing (no whole ClientHello), or of those that have, whichever are more, the
 * oldest. So those who only connect never displace one of their address who goes on, those
 * who say a ClientHello and no more never one who has just come, and whoever has few never
 * yields to one who has many.
 *
 * A half-open connection costs about 95 KiB, of NNG's buffers and mbedTLS's: the limit
 * on all is what bounds the memory of strangers without a certificate. In a flood 2,048
 * and those about to go took 350 MiB with what malloc keeps of freed memory.
 *
 * Private to proto/tls.  Threads: the binding's lock is held.
 * Owns:    an entry for each address that has connections here. */
#ifndef WD_HALF_OPEN_H
#define WD_HALF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_HALF_OPEN_BUCKETS 256U  /* a power of two */
#define WD_HALF_OPEN_HOST    1024U /* of one address: a busy node's workers */
#define WD_HALF_OPEN_ALL     2048U /* of all: of two such nodes */
#define WD_HALF_OPEN_LEAVING 256U  /* beyond it, about to go: then accepting waits */

struct wd_half_open_host;

/* Within a connection; zeroed: on no list. */
typedef struct wd_half_open_link {
    struct wd_half_open_link *prev, *next;
    struct wd_half_open_host *host; /* NULL: on no list */
    bool spoken;
} wd_half_open_link;

/* Addresses with equally many, the one that has had so many for longest first. */
typedef struct wd_half_open_rank {
    struct wd_half_open_host *first, *last;
} wd_half_open_rank;

/* Zeroed: nobody. */
typedef struct wd_half_open {
    struct wd_half_open_host *buckets[WD_HALF_OPEN_BUCKETS];
    wd_half_open_rank ranks[WD_HALF_OPEN_HOST + 1]; /* the last: so many, or more */
    size_t top;                                     /* no rank above it has anyone */
    size_t n;
} wd_half_open;

typedef struct wd_half_open_most {
    size_t host, all;
} wd_half_open_most;

/* The newest of its address. False: no memory. */
bool wd_half_open_add(wd_half_open *all, wd_half_open_link *link,
                      const uint8_t address[16]);

/* It has said something; no matter if it is on no list. */
void wd_half_open_spoke(wd_half_open_link *link);

/* Off its list; no matter if it is on none. */
void wd_half_open_remove(wd_half_open *all, wd_half_open_link *link);

/* The one that has to go, still on its list, because with `newest` there are more than
 * `most` of its address, or of all; NULL: none. Never `newest` itself. */
wd_half_open_link *wd_half_open_excess(wd_half_open *all,
                                       const wd_half_open_link *newest,
                                       wd_half_open_most most);

#endif
