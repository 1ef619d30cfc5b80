#include "store/audit_address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define PORT_DIGITS 5U
#define PORT_MOST   65535

static bool read_port(const char *text, int *ret)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > PORT_DIGITS || text[digits] != '\0')
        return false;
    *ret = (int)strtol(text, NULL, 10);
    return *ret <= PORT_MOST;
}

bool wd_address_part(const char *text, wd_address *ret)
{
    struct in6_addr parsed;
    const bool v6 = text[0] == '[';
    const char *host = text + (v6 ? 1 : 0);
    const char *end = v6 ? strchr(host, ']') : strchr(host, ':');
    const char *colon = end != NULL && v6 ? end + 1 : end;
    if (end == NULL || *colon != ':' || (size_t)(end - host) >= sizeof(ret->ip))
        return false;
    memcpy(ret->ip, host, (size_t)(end - host));
    ret->ip[end - host] = '\0';
    ret->v6 = v6;
    return read_port(colon + 1, &ret->port) &&
           inet_pton(v6 ? AF_INET6 : AF_INET, ret->ip, &parsed) == 1;
}
