/* hostname.h - what can be a host: an address, or a name that there can be.
 *
 * Threads: any; pure.  Owns: nothing.
 * Source:  RFC 1035 section 2.3.4 (lengths), RFC 3986 section 3.2.2 (addresses). */
#ifndef WD_HOSTNAME_H
#define WD_HOSTNAME_H

#include <stdbool.h>

/* What a refusal says may stand there. */
#define WD_HOSTNAME_ALLOWED                                                            \
    "an IPv4 address of four numbers, an IPv6 address, or a name of labels of 1 to "   \
    "63 "                                                                              \
    "characters, 253 in all, that does not end in a number"

/* Whether `text` is an IPv4 or IPv6 address, without brackets, or such a name. What ends
 * in a number is an address or nothing, though resolvers guess: 127.1 is 127.0.0.1. */
bool wd_hostname_ok(const char *text);

#endif
