#include "server/keepalive.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/c/limits.h"

#define SEARCHED_FDS 65536 /* at a start a few dozen are open, the lowest numbers */

static const wd_keepalive limits = {
    WD_KEEPALIVE_IDLE_S,
    WD_KEEPALIVE_INTERVAL_S,
    WD_KEEPALIVE_PROBES,
};

static int option_of(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/* The local port of a TCP socket; -1: it is something else. */
static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    if (option_of(fd, SO_PROTOCOL) != IPPROTO_TCP ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)&address)->sin_port);
}

static int find_listening(int port)
{
    for (int fd = 0; fd < SEARCHED_FDS; fd++) {
        if (option_of(fd, SO_ACCEPTCONN) == 1 && port_of(fd) == port)
            return fd;
    }
    return -1;
}

static bool set_one(int fd, const wd_keepalive *k)
{
    const unsigned gone_ms =
        ((unsigned)k->idle_s + (unsigned)(k->interval_s * k->probes)) * 1000U;
    const int unsent = WD_UNSENT_BYTES;
    const struct {
        int name;
        const void *value;
    } options[] = {
        {TCP_KEEPIDLE, &k->idle_s},   {TCP_KEEPINTVL, &k->interval_s},
        {TCP_KEEPCNT, &k->probes},    {TCP_USER_TIMEOUT, &gone_ms},
        {TCP_NOTSENT_LOWAT, &unsent},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (setsockopt(fd, IPPROTO_TCP, options[i].name, options[i].value,
                       sizeof(int)) != 0)
            return false;
    }
    return true;
}

wd_status wd_keepalive_set(int port, const wd_keepalive *keepalive, wd_error *err)
{
    const wd_keepalive *k = keepalive != NULL ? keepalive : &limits;
    int listening = find_listening(port);

    if (listening < 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "no socket of this process listens on port %d: peers that are "
                       "gone without a word would not be noticed",
                       port);
    if (!set_one(listening, k))
        return wd_fail(
            err, WD_FAILED_PRECONDITION,
            "the kernel refuses TCP's keepalive, or TCP_NOTSENT_LOWAT, on port %d: %s",
            port, strerrordesc_np(errno));
    for (int fd = 0; fd < SEARCHED_FDS; fd++) {
        if (port_of(fd) == port)
            (void)set_one(fd, k); /* came before; it may be gone already */
    }
    return WD_OK;
}
