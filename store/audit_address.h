/* audit_address.h - a row's peer_addr in its parts, for formats that tell hosts and ports.
 *
 * Threads: any; pure.  Owns: nothing.  Internal to store/. */
#ifndef WD_STORE_AUDIT_ADDRESS_H
#define WD_STORE_AUDIT_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

typedef struct wd_address {
    char ip[INET6_ADDRSTRLEN]; /* without brackets */
    bool v6;
    int port;
} wd_address;

/* "192.0.2.7:40112", "[2001:db8::1]:40112". false: anything else. */
bool wd_address_part(const char *text, wd_address *ret);

#endif
