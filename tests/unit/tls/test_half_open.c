/* Who has to go when an address, or all, have too many half-open connections. */
#include <string.h>

#include "check.h"
#include "proto/tls/half_open.h"

enum { MOST = 3, MANY = 8 };

typedef struct room {
    wd_half_open all;
    wd_half_open_link links[MANY];
} room;

static void arrive(room *r, size_t i, uint8_t from)
{
    const uint8_t address[16] = {[15] = from};

    assert_true(wd_half_open_add(&r->all, &r->links[i], address));
}

/* The one that goes because of the i-th, or -1. */
static int displaced_of(room *r, size_t i, wd_half_open_most most)
{
    const wd_half_open_link *gone = wd_half_open_excess(&r->all, &r->links[i], most);

    return gone == NULL ? -1 : (int)(gone - r->links);
}

static int displaced(room *r, size_t i)
{
    return displaced_of(r, i, (wd_half_open_most){.host = MOST, .all = MANY});
}

/* The same where all together have a limit, and no address alone. */
static int displaced_of_all(room *r, size_t i)
{
    return displaced_of(r, i, (wd_half_open_most){.host = MANY, .all = MOST});
}

static void empty(room *r)
{
    for (size_t i = 0; i < MANY; i++)
        wd_half_open_remove(&r->all, &r->links[i]);
    for (size_t i = 0; i < WD_HALF_OPEN_BUCKETS; i++)
        assert_null(r->all.buckets[i]);
    for (size_t i = 0; i <= WD_HALF_OPEN_HOST; i++) {
        assert_null(r->all.ranks[i].first);
        assert_null(r->all.ranks[i].last);
    }
    assert_int_equal(r->all.n, 0);
}

static void nobody_goes_up_to_the_limit(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        arrive(&r, i, 1);
        assert_int_equal(displaced(&r, i), -1);
    }
    empty(&r);
}

static void the_oldest_goes_never_the_newest(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        arrive(&r, i, 1);
        assert_int_equal(displaced(&r, i), i < MOST ? -1 : (int)i - MOST);
        if (i >= MOST)
            wd_half_open_remove(&r.all, &r.links[i - MOST]);
    }
    empty(&r);
}

static void who_has_spoken_stays_longer(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    for (size_t i = 0; i < MOST; i++)
        arrive(&r, i, 1);
    wd_half_open_spoke(&r.links[0]);
    wd_half_open_spoke(&r.links[2]);
    wd_half_open_spoke(&r.links[2]);
    arrive(&r, 3, 1);
    assert_int_equal(displaced(&r, 3), 1);
    wd_half_open_remove(&r.all, &r.links[1]);
    arrive(&r, 4, 1);
    assert_int_equal(displaced(&r, 4), 3);
    wd_half_open_remove(&r.all, &r.links[3]);
    wd_half_open_spoke(&r.links[4]);
    arrive(&r, 5, 1); /* all others have spoken: the oldest of them */
    assert_int_equal(displaced(&r, 5), 0);
    empty(&r);
}

/* Those who say a ClientHello and no more do not displace one who has said nothing yet. */
static void claim_03_who_has_just_come_is_not_displaced_by_those_who_spoke(void **state)
{
    const wd_half_open_most most = {.host = 4, .all = MANY};
    room r = {.links = {{.spoken = false}}};

    (void)state;
    arrive(&r, 0, 1);
    for (size_t i = 1; i < MANY; i++) {
        arrive(&r, i, 1);
        assert_int_equal(displaced_of(&r, i, most), i < 4 ? -1 : (int)i - 3);
        if (i >= 4)
            wd_half_open_remove(&r.all, &r.links[i - 3]);
        wd_half_open_spoke(&r.links[i]);
    }
    empty(&r);
}

static void addresses_do_not_displace_each_other(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        arrive(&r, i, (uint8_t)(i % 3));
        assert_int_equal(displaced(&r, i), -1);
    }
    empty(&r);
}

static void claim_03_all_together_have_a_limit(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        arrive(&r, i, (uint8_t)i); /* each from an address of its own */
        assert_int_equal(displaced_of_all(&r, i), i < MOST ? -1 : (int)i - MOST);
        if (i >= MOST)
            wd_half_open_remove(&r.all, &r.links[i - MOST]);
        assert_int_equal(r.all.n, i < MOST ? i + 1 : MOST);
    }
    empty(&r);
}

/* What has most is told anew as they come and go, whoever comes. */
static void claim_03_the_address_that_has_most_yields(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    arrive(&r, 0, 1);
    arrive(&r, 1, 2);
    arrive(&r, 2, 2);
    wd_half_open_spoke(&r.links[1]);
    arrive(&r, 3, 3);
    assert_int_equal(displaced_of_all(&r, 3), 2); /* of 2: who has not spoken */
    wd_half_open_remove(&r.all, &r.links[2]);
    arrive(&r, 4, 3);
    assert_int_equal(displaced_of_all(&r, 4), 3); /* of 3, who comes himself */
    wd_half_open_spoke(&r.links[3]);
    assert_int_equal(displaced_of_all(&r, 4), 3); /* never the newest */
    wd_half_open_remove(&r.all, &r.links[3]);
    arrive(&r, 5, 4);
    assert_int_equal(displaced_of_all(&r, 5), 0); /* one each: the oldest address */
    wd_half_open_remove(&r.all, &r.links[0]);
    wd_half_open_remove(&r.all, &r.links[1]);
    arrive(&r, 6, 5);
    assert_int_equal(displaced_of_all(&r, 6), -1);
    empty(&r);
}

/* Beyond the last rank nobody counts who has most, and nobody is lost. */
static void claim_03_an_address_may_have_more_than_there_are_ranks(void **state)
{
    enum { ALL = WD_HALF_OPEN_HOST + 2 };
    static wd_half_open_link links[ALL + 1];
    const wd_half_open_most most = {.host = (size_t)2 * ALL, .all = ALL};
    const uint8_t crowd[16] = {1}, friend[16] = {2};
    static wd_half_open all;

    (void)state;
    for (size_t i = 0; i < ALL; i++) {
        assert_true(wd_half_open_add(&all, &links[i], crowd));
        assert_null(wd_half_open_excess(&all, &links[i], most));
    }
    assert_true(wd_half_open_add(&all, &links[ALL], friend));
    assert_ptr_equal(wd_half_open_excess(&all, &links[ALL], most), &links[0]);
    for (size_t i = 0; i < ALL; i++)
        wd_half_open_remove(&all, &links[i]);
    assert_int_equal(all.n, 1);
    assert_ptr_equal(wd_half_open_excess(&all, &links[ALL], (wd_half_open_most){1, 1}),
                     NULL);
    wd_half_open_remove(&all, &links[ALL]);
    for (size_t i = 0; i <= WD_HALF_OPEN_HOST; i++)
        assert_null(all.ranks[i].first);
}

static void who_is_on_no_list_is_no_matter(void **state)
{
    room r = {.links = {{.spoken = false}}};

    (void)state;
    wd_half_open_spoke(&r.links[0]);
    wd_half_open_remove(&r.all, &r.links[0]);
    assert_int_equal(displaced(&r, 0), -1);
    empty(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_goes_up_to_the_limit),
        cmocka_unit_test(the_oldest_goes_never_the_newest),
        cmocka_unit_test(who_has_spoken_stays_longer),
        cmocka_unit_test(
            claim_03_who_has_just_come_is_not_displaced_by_those_who_spoke),
        cmocka_unit_test(addresses_do_not_displace_each_other),
        cmocka_unit_test(claim_03_all_together_have_a_limit),
        cmocka_unit_test(claim_03_the_address_that_has_most_yields),
        cmocka_unit_test(claim_03_an_address_may_have_more_than_there_are_ranks),
        cmocka_unit_test(who_is_on_no_list_is_no_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
