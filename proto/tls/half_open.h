/* half_open.h - connections whose handshake is not over, by address, oldest first.
 *
 * One address may have so many; who comes beyond takes the place of another. The first
 * to go is the oldest that has said nothing (no whole ClientHello); when all have, the
 * oldest. So those who only connect never displace one who goes on.
 *
 * Private to proto/tls.  Threads: the binding's lock is held.
 * Owns:    an entry for each address that has connections here. */
#ifndef WD_HALF_OPEN_H
#define WD_HALF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WD_HALF_OPEN_BUCKETS 256U /* a power of two */

struct wd_half_open_host;

/* Within a connection; zeroed: on no list. */
typedef struct wd_half_open_link {
    struct wd_half_open_link *prev, *next;
    struct wd_half_open_host *host; /* NULL: on no list */
    bool spoken;
} wd_half_open_link;

typedef struct wd_half_open {
    struct wd_half_open_host *buckets[WD_HALF_OPEN_BUCKETS];
} wd_half_open;

/* The newest of its address. False: no memory. */
bool wd_half_open_add(wd_half_open *all, wd_half_open_link *link,
                      const uint8_t address[16]);

/* It has said something; no matter if it is on no list. */
void wd_half_open_spoke(wd_half_open_link *link);

/* Off its list; no matter if it is on none. */
void wd_half_open_remove(wd_half_open *all, wd_half_open_link *link);

/* The one that has to go, still on its list, because `newest`'s address has more than
 * `most`; NULL: none. Never `newest` itself. */
wd_half_open_link *wd_half_open_excess(const wd_half_open_link *newest, size_t most);

#endif
