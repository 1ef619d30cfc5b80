#include "server/port_try.h"

#include "proto/c/cleanup.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CURE_HOST "name an address of this host, such as tls+tcp://127.0.0.1:7443"
#define CURE_PORT "choose another port, or stop what has it: ss -ltnp"

const char *wd_port_cure(int error)
{
    if (error == EADDRINUSE)
        return CURE_PORT;
    return error == EACCES ? "choose a port that its account may take" : CURE_HOST;
}

/* As the gate does: past what of earlier connections still waits. */
static wd_status try_one(const struct addrinfo *at, wd_error *err)
{
    const int on = 1;
    WD_AUTO_FD int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, 1) != 0) {
        int error = errno;
        if (error == EADDRINUSE)
            return wd_refuse(err, WD_REASON_CONFLICT, "%s; %s", strerror(error),
                             wd_port_cure(error));
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s; %s", strerror(error),
                       wd_port_cure(error));
    }
    return WD_OK;
}

wd_status wd_port_try(const char *host, uint16_t port, wd_error *err)
{
    const struct addrinfo wanted = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];

    (void)snprintf(service, sizeof(service), "%u", port);
    int code =
        getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, service, &wanted, &found);
    if (code != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s; " CURE_HOST,
                       gai_strerror(code));
    wd_status status = try_one(found, err);
    freeaddrinfo(found);
    return status;
}
