#include "proto/tls/peer_uid.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

#include "proto/c/cleanup.h"

enum {
    ANSWER_MS = 1000,   /* the kernel answers at once or not at all */
    STATE_TIME_WAIT = 6 /* net/tcp_states.h; linux/tcp.h clashes with netinet/tcp.h */
};

/* An address in the one form that both netlink families take. */
typedef struct endpoint {
    uint8_t family; /* AF_INET or AF_INET6 */
    size_t size;    /* bytes of `ip` */
    uint8_t ip[16];
    in_port_t port; /* network order */
} endpoint;

static bool read_endpoint(const struct sockaddr *sa, endpoint *ret)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    memset(ret, 0, sizeof *ret);
    if (sa->sa_family == AF_INET) {
        memcpy(&in4, sa, sizeof in4);
        *ret = (endpoint){.family = AF_INET, .size = 4, .port = in4.sin_port};
        memcpy(ret->ip, &in4.sin_addr, 4);
        return true;
    }
    if (sa->sa_family != AF_INET6)
        return false;
    memcpy(&in6, sa, sizeof in6);
    *ret = (endpoint){.family = AF_INET6, .size = 16, .port = in6.sin6_port};
    memcpy(ret->ip, &in6.sin6_addr, 16);
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
        *ret = (endpoint){.family = AF_INET, .size = 4, .port = in6.sin6_port};
        memcpy(ret->ip, in6.sin6_addr.s6_addr + 12, 4);
    }
    return true;
}

/* Send one request and read the first message of its answer into `room` bytes.
 * Returns its bytes, or -1 with errno. */
static ssize_t ask(int family, const void *request, size_t size, void *answer,
                   size_t room)
{
    WD_AUTO_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);
    const struct timeval limit = {.tv_sec = ANSWER_MS / 1000};
    const union {
        struct sockaddr_nl nl;
        struct sockaddr any;
    } kernel = {.nl = {.nl_family = AF_NETLINK}};
    ssize_t n;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        sendto(fd, request, size, 0, &kernel.any, sizeof kernel.nl) != (ssize_t)size)
        return -1;
    do
        n = recv(fd, answer, room, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

/* The payload of an answer of type `type`; NULL with *ret_errno when it is another. */
static const void *payload(const struct nlmsghdr *head, ssize_t size, uint16_t type,
                           size_t least, int *ret_errno)
{
    const void *data = (const uint8_t *)head + NLMSG_HDRLEN;
    const struct nlmsgerr *failure = data;

    *ret_errno = EBADMSG;
    if (size < (ssize_t)sizeof *head || head->nlmsg_len > (size_t)size)
        return NULL;
    if (head->nlmsg_type == NLMSG_ERROR &&
        head->nlmsg_len >= NLMSG_LENGTH(sizeof *failure)) {
        *ret_errno = -failure->error;
        return NULL;
    }
    if (head->nlmsg_type != type || head->nlmsg_len < NLMSG_LENGTH(least))
        return NULL;
    return data;
}

typedef union answer {
    struct nlmsghdr head;
    uint8_t bytes[4096];
} answer;

/* Is this address one of the host's? The routing table's "local" knows them all,
 * 127.0.0.0/8 included. */
static wd_status address_is_ours(const endpoint *at, bool *ret, wd_error *err)
{
    struct {
        struct nlmsghdr head;
        struct rtmsg route;
        struct rtattr attribute;
        uint8_t ip[16];
    } request = {
        .head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .route = {.rtm_family = at->family, .rtm_dst_len = (uint8_t)(at->size * 8)},
        .attribute = {.rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(at->size)},
    };
    answer reply;
    const struct rtmsg *route;
    ssize_t n;
    int why;

    memcpy(request.ip, at->ip, at->size);
    request.head.nlmsg_len =
        (uint32_t)(NLMSG_LENGTH(sizeof request.route) + RTA_LENGTH(at->size));
    n = ask(NETLINK_ROUTE, &request, request.head.nlmsg_len, &reply, sizeof reply);
    if (n < 0)
        return wd_fail(err, WD_UNAVAILABLE, "rtnetlink does not answer: %s",
                       strerrordesc_np(errno));
    route = payload(&reply.head, n, RTM_NEWROUTE, sizeof *route, &why);
    if (route == NULL && why != ENETUNREACH && why != EHOSTUNREACH)
        return wd_fail(err, WD_UNAVAILABLE, "rtnetlink refuses: %s",
                       strerrordesc_np(why));
    *ret = route != NULL && route->rtm_type == RTN_LOCAL;
    return WD_OK;
}

/* The socket at the other end, as its owner sees it: from `peer` to `own`. */
static wd_status find_owner(const endpoint *peer, const endpoint *own,
                            wd_peer_origin *ret, uint32_t *ret_uid, wd_error *err)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 query;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .query = {.sdiag_family = peer->family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = UINT32_MAX,
                  .id = {.idiag_sport = peer->port,
                         .idiag_dport = own->port,
                         .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    answer reply;
    const struct inet_diag_msg *socket_found;
    ssize_t n;
    int why;

    memcpy(request.query.id.idiag_src, peer->ip, peer->size);
    memcpy(request.query.id.idiag_dst, own->ip, own->size);
    n = ask(NETLINK_SOCK_DIAG, &request, sizeof request, &reply, sizeof reply);
    if (n < 0)
        return wd_fail(err, WD_UNAVAILABLE, "sock_diag does not answer: %s",
                       strerrordesc_np(errno));
    socket_found =
        payload(&reply.head, n, SOCK_DIAG_BY_FAMILY, sizeof *socket_found, &why);
    if (socket_found == NULL && why != ENOENT)
        return wd_fail(err, WD_UNAVAILABLE, "sock_diag refuses: %s",
                       strerrordesc_np(why));
    *ret = WD_PEER_NO_OWNER;
    if (socket_found == NULL || socket_found->idiag_inode == 0 ||
        socket_found->idiag_state == STATE_TIME_WAIT)
        return WD_OK;
    *ret = WD_PEER_LOCAL;
    *ret_uid = socket_found->idiag_uid;
    return WD_OK;
}

wd_status wd_peer_find(const struct sockaddr *peer, const struct sockaddr *own,
                       wd_peer_origin *ret, uint32_t *ret_uid, wd_error *err)
{
    endpoint theirs, ours;
    bool local = false;

    if (!read_endpoint(peer, &theirs) || !read_endpoint(own, &ours) ||
        theirs.family != ours.family)
        return wd_fail(err, WD_UNAVAILABLE, "the peer's address is no IP address");
    WD_TRY(address_is_ours(&theirs, &local, err));
    if (!local) {
        *ret = WD_PEER_REMOTE;
        return WD_OK;
    }
    return find_owner(&theirs, &ours, ret, ret_uid, err);
}

/* 127.0.0.1 is ours, and nothing is connected from its port 0. */
wd_status wd_peer_probe(wd_error *err)
{
    const union {
        struct sockaddr_in in4;
        struct sockaddr any;
    } nobody = {.in4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}};
    wd_peer_origin origin = WD_PEER_REMOTE;
    uint32_t uid;
    wd_error why;

    if (wd_peer_find(&nobody.any, &nobody.any, &origin, &uid, &why) != WD_OK)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "cannot tell sandboxed peers apart: %s. The gate needs netlink "
                       "(NETLINK_ROUTE and NETLINK_SOCK_DIAG; CONFIG_INET_TCP_DIAG)",
                       why.msg);
    if (origin != WD_PEER_NO_OWNER)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "cannot tell sandboxed peers apart: the kernel does not count "
                       "127.0.0.1 as its own");
    return WD_OK;
}
