#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "proto/tls/peer_uid.h"

static int open_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        fail_msg("no socket");
    return fd;
}

static int accept_one(int listener, struct sockaddr_storage *peer)
{
    socklen_t size = sizeof *peer;
    int fd = accept(listener, (struct sockaddr *)peer, &size);

    if (fd < 0)
        fail_msg("nobody came");
    return fd;
}

/* A connected pair over loopback: [0] dialled, [1] was accepted. */
typedef struct tcp_pair {
    int fd[2];
    struct sockaddr_storage peer, own; /* as [1] sees them */
} tcp_pair;

static int listen_on(int family, struct sockaddr_storage *at, socklen_t *size)
{
    int fd = open_socket(family);

    memset(at, 0, sizeof *at);
    at->ss_family = (sa_family_t)family;
    *size =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (family == AF_INET)
        ((struct sockaddr_in *)at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)at)->sin6_addr = in6addr_loopback;
    assert_int_equal(bind(fd, (struct sockaddr *)at, *size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, size), 0);
    return fd;
}

static void connect_pair(int family, tcp_pair *p)
{
    struct sockaddr_storage at;
    socklen_t size;
    int listener = listen_on(family, &at, &size);

    p->fd[0] = open_socket(family);
    assert_int_equal(connect(p->fd[0], (struct sockaddr *)&at, size), 0);
    p->fd[1] = accept_one(listener, &p->peer);
    size = sizeof p->own;
    assert_int_equal(getsockname(p->fd[1], (struct sockaddr *)&p->own, &size), 0);
    (void)close(listener);
}

static wd_peer_origin origin_of(const tcp_pair *p, uint32_t *uid)
{
    wd_peer_origin origin = WD_PEER_REMOTE;
    wd_error err;

    OK(wd_peer_find((const struct sockaddr *)&p->peer, (const struct sockaddr *)&p->own,
                    &origin, uid, &err),
       err);
    return origin;
}

static void claim_10_a_local_peer_is_known_by_its_uid(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        tcp_pair p;
        uint32_t uid = 1;

        connect_pair(families[i], &p);
        assert_int_equal(origin_of(&p, &uid), WD_PEER_LOCAL);
        assert_int_equal(uid, geteuid());
        (void)close(p.fd[0]);
        (void)close(p.fd[1]);
    }
}

static void claim_10_a_socket_made_by_another_uid_is_seen(void **state)
{
    struct sockaddr_storage at;
    socklen_t size;
    int listener = listen_on(AF_INET, &at, &size);
    tcp_pair p = {.fd = {-1, -1}};
    uint32_t uid = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        int fd;
        char byte;
        if (setresuid(12345, 12345, 12345) != 0)
            _exit(1);
        fd = open_socket(AF_INET);
        if (connect(fd, (struct sockaddr *)&at, size) != 0)
            _exit(2);
        _exit(read(fd, &byte, 1) == 0 ? 0 : 3); /* until we have looked */
    }
    p.fd[1] = accept_one(listener, &p.peer);
    size = sizeof p.own;
    (void)getsockname(p.fd[1], (struct sockaddr *)&p.own, &size);
    assert_int_equal(origin_of(&p, &uid), WD_PEER_LOCAL);
    assert_int_equal(uid, geteuid() == 0 ? 12345 : geteuid());
    (void)close(p.fd[1]);
    (void)close(listener);
    (void)waitpid(child, NULL, 0);
}

static void claim_10_a_peer_that_has_gone_has_no_owner(void **state)
{
    tcp_pair p;
    uint32_t uid = 1;
    char byte;

    (void)state;
    connect_pair(AF_INET, &p);
    (void)close(p.fd[0]); /* FIN: then the other end waits, without an inode */
    assert_int_equal(read(p.fd[1], &byte, 1), 0);
    assert_int_equal(origin_of(&p, &uid), WD_PEER_NO_OWNER);
    (void)close(p.fd[1]);
    assert_int_equal(origin_of(&p, &uid), WD_PEER_NO_OWNER);
}

static void a_port_that_nobody_has_has_no_owner(void **state)
{
    tcp_pair p;
    uint32_t uid = 1;

    (void)state;
    connect_pair(AF_INET, &p);
    ((struct sockaddr_in *)&p.peer)->sin_port = htons(1);
    assert_int_equal(origin_of(&p, &uid), WD_PEER_NO_OWNER);
    (void)close(p.fd[0]);
    (void)close(p.fd[1]);
}

static void an_address_of_others_is_remote(void **state)
{
    struct sockaddr_in peer = {.sin_family = AF_INET,
                               .sin_port = htons(4000),
                               .sin_addr.s_addr = htonl(0xc0000201)}; /* 192.0.2.1 */
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_port = htons(7443),
                              .sin_addr.s_addr = htonl(0x0a000001)};
    wd_peer_origin origin = WD_PEER_REMOTE;
    uint32_t uid;
    wd_error err;

    (void)state;
    OK(wd_peer_find((struct sockaddr *)&peer, (struct sockaddr *)&own, &origin, &uid,
                    &err),
       err);
    assert_int_equal(origin, WD_PEER_REMOTE);
}

static void all_of_127_is_ours(void **state)
{
    tcp_pair p;
    uint32_t uid = 1;

    (void)state;
    connect_pair(AF_INET, &p);
    ((struct sockaddr_in *)&p.peer)->sin_addr.s_addr = htonl(0x7f123456);
    assert_int_equal(origin_of(&p, &uid), WD_PEER_NO_OWNER);
    (void)close(p.fd[0]);
    (void)close(p.fd[1]);
}

static void an_address_that_is_no_ip_is_not_guessed_at(void **state)
{
    struct sockaddr unix_address = {.sa_family = AF_UNIX};
    wd_peer_origin origin;
    uint32_t uid;

    (void)state;
    REFUSED(wd_peer_find(&unix_address, &unix_address, &origin, &uid, NULL),
            WD_UNAVAILABLE);
}

static void this_host_can_be_asked(void **state)
{
    wd_error err;

    (void)state;
    OK(wd_peer_probe(&err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_10_a_local_peer_is_known_by_its_uid),
        cmocka_unit_test(claim_10_a_socket_made_by_another_uid_is_seen),
        cmocka_unit_test(claim_10_a_peer_that_has_gone_has_no_owner),
        cmocka_unit_test(a_port_that_nobody_has_has_no_owner),
        cmocka_unit_test(an_address_of_others_is_remote),
        cmocka_unit_test(all_of_127_is_ours),
        cmocka_unit_test(an_address_that_is_no_ip_is_not_guessed_at),
        cmocka_unit_test(this_host_can_be_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
