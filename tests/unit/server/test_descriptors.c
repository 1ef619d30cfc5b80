/* What the limit on open files leaves, and what a principal may have of it. */
#include "tests/unit/proto/proto_test.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "server/descriptors.h"
#include "server/peer.h"

static void handshakes_have_their_part_and_connections_the_rest(void **state)
{
    static const wd_files plans[] = {
        {WD_FILES_OWN - 1, 0, 0, 0}, {WD_FILES_OWN, 0, 0, 0},
        {WD_FILES_OWN + 1, 0, 0, 1}, {WD_FILES_LEAST, 28, 3, 97},
        {1024, 199, 24, 673},        {9343, 2047, 255, 6913},
        {9344, 2048, 256, 6912},     {9345, 2048, 256, 6913},
        {65536, 2048, 256, 63104},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(plans); i++) {
        wd_files files = wd_files_plan(plans[i].limit);
        print_message("  %llu\n", (unsigned long long)plans[i].limit);
        assert_int_equal(files.limit, plans[i].limit);
        assert_int_equal(files.half_open, plans[i].half_open);
        assert_int_equal(files.half_open_leaving, plans[i].half_open_leaving);
        assert_int_equal(files.connections, plans[i].connections);
    }
}

static void a_limit_carries_the_settings_or_the_cure_is_told(void **state)
{
    static const struct {
        uint64_t limit, per_principal;
        const char *says; /* NULL: it carries them */
    } cases[] = {
        {10623, 2048, "10624 or more (systemd LimitNOFILE="},
        {10624, 2048, NULL},
        {10625, 2048, NULL},
        {1024, 169, "a quarter, 168, not limits.connections_per_principal (169)"},
        {1024, 168, NULL},
        {WD_FILES_LEAST - 1, 1, "256 or more"},
        {WD_FILES_LEAST, 1, NULL},
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool carries =
            wd_files_tell(cases[i].limit, cases[i].per_principal, text, sizeof text);
        print_message("  %s\n", text);
        assert_int_equal(carries, cases[i].says == NULL);
        if (cases[i].says != NULL)
            assert_non_null(strstr(text, cases[i].says));
    }
}

static void the_soft_limit_is_raised_to_the_hard_one(void **state)
{
    struct rlimit before, after;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {before.rlim_max / 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(wd_files_raise(), before.rlim_max);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_int_equal(after.rlim_cur, before.rlim_max);
    assert_int_equal(wd_files_hard(), before.rlim_max);
    (void)setrlimit(RLIMIT_NOFILE, &before);
}

/* --- a principal's share ------------------------------------------------------------- */

typedef struct crowd {
    wd_peers *peers;
    uint32_t last; /* pipe */
} crowd;

/* One more connection of principal number `who`: is it let in? */
static bool comes(crowd *c, size_t who, uint64_t most, wd_error *err)
{
    wd_peer peer = {.pipe = ++c->last};

    (void)snprintf(peer.identity.uri, sizeof(peer.identity.uri), "spiffe://a/%zu", who);
    return wd_peers_add(c->peers, &peer, most, err) == WD_OK;
}

static size_t come_all(crowd *c, size_t who)
{
    wd_error err;
    size_t n = 0;

    while (comes(c, who, 2048, &err))
        n++;
    expect_refused(err.status, &err, WD_REASON_QUOTA);
    return n;
}

static void a_principal_has_a_quarter_of_the_room(void **state)
{
    static const size_t rooms[] = {99, 100, 101, 103, 104};

    (void)state;
    for (size_t i = 0; i < COUNT(rooms); i++) {
        WD_AUTO(wd_peers) *peers = wd_peers_new();
        crowd c = {.peers = peers};
        wd_peers_set_room(peers, rooms[i]);
        assert_int_equal(come_all(&c, 0), rooms[i] / 4);
        wd_peers_remove(peers, 1); /* and gets it back */
        assert_int_equal(come_all(&c, 0), 1);
    }
}

static void the_settings_bound_holds_to_the_connection(void **state)
{
    WD_AUTO(wd_peers) *peers = wd_peers_new();
    crowd c = {.peers = peers};
    wd_error err;

    (void)state;
    wd_peers_set_room(peers, 100);
    for (size_t i = 0; i < 7; i++)
        assert_true(comes(&c, 0, 7, &err));
    assert_false(comes(&c, 0, 7, &err));
    assert_non_null(strstr(err.msg, "limits.connections_per_principal is 7"));
}

/* However many take all they can, turn by turn, one part in n + 1 is left. */
static void some_room_is_left_whoever_takes_it(void **state)
{
    (void)state;
    for (size_t greedy = 1; greedy <= 20; greedy++) {
        WD_AUTO(wd_peers) *peers = wd_peers_new();
        crowd c = {.peers = peers};
        wd_error err;
        size_t taken = 0;
        wd_peers_set_room(peers, 1000);
        for (size_t n = 1; n > 0; taken += n) {
            n = 0;
            for (size_t who = 0; who < greedy; who++)
                n += comes(&c, who, 2048, &err);
        }
        size_t left = 1000 - taken;
        print_message("  %zu greedy ones leave %zu of 1000\n", greedy, left);
        assert_true(left >= 1000 / (greedy + 1) - greedy);
        assert_true(comes(&c, greedy, 2048, &err));
    }
}

/* The worst order: each takes all it can before the next one comes. */
static void two_dozen_who_come_one_by_one_leave_connections(void **state)
{
    static const struct {
        size_t room, greedy;
    } cases[] = {{120, 12}, {700, 24}, {1000, 24}, {8192, 24}, {10368, 24}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WD_AUTO(wd_peers) *peers = wd_peers_new();
        crowd c = {.peers = peers};
        wd_error err;
        size_t taken = 0;
        const size_t room = cases[i].room, greedy = cases[i].greedy;
        wd_peers_set_room(peers, room);
        for (size_t who = 0; who < greedy; who++)
            while (comes(&c, who, 2048, &err))
                taken++;
        print_message("  %zu leave %zu of %zu\n", greedy, room - taken, room);
        assert_true(comes(&c, greedy, 2048, &err));
        for (size_t who = greedy + 1; who < greedy + room; who++)
            taken += comes(&c, who, 2048, &err);
        assert_int_equal(taken + 1, room); /* and no more than there are */
    }
}

/* --- who is there -------------------------------------------------------------------- */

static void expect_keys(wd_peers *peers, const wd_peer_key *keys, size_t n)
{
    wd_peer_key *got = NULL;

    assert_int_equal(wd_peers_keys(peers, &got), n);
    assert_non_null(got);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(got[i].number, keys[i].number);
        assert_int_equal(got[i].pipe, keys[i].pipe);
    }
    free(got);
}

/* NNG may give a pipe's number to another once it is gone. */
static void a_connections_number_is_never_used_twice(void **state)
{
    WD_AUTO(wd_peers) *peers = wd_peers_new();
    crowd c = {.peers = peers};
    wd_error err;

    (void)state;
    expect_keys(peers, NULL, 0);
    assert_true(comes(&c, 0, 1, &err));
    assert_false(comes(&c, 0, 1, &err)); /* has no number */
    assert_true(comes(&c, 1, 1, &err));
    expect_keys(peers, (wd_peer_key[]){{1, 1}, {2, 3}}, 2);
    wd_peers_remove(peers, 1);
    expect_keys(peers, (wd_peer_key[]){{2, 3}}, 1);
    c.last = 0;
    assert_true(comes(&c, 0, 1, &err));
    expect_keys(peers, (wd_peer_key[]){{3, 1}, {2, 3}}, 2);
    wd_peer *found = wd_peers_find(peers, 1);
    assert_int_equal(found->number, 3);
    wd_peer_unref(peers, found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes_have_their_part_and_connections_the_rest),
        cmocka_unit_test(a_limit_carries_the_settings_or_the_cure_is_told),
        cmocka_unit_test(the_soft_limit_is_raised_to_the_hard_one),
        cmocka_unit_test(a_principal_has_a_quarter_of_the_room),
        cmocka_unit_test(the_settings_bound_holds_to_the_connection),
        cmocka_unit_test(some_room_is_left_whoever_takes_it),
        cmocka_unit_test(two_dozen_who_come_one_by_one_leave_connections),
        cmocka_unit_test(a_connections_number_is_never_used_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
