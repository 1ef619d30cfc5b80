/* Who has to go when an address has too many half-open connections. */
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
static int displaced(const room *r, size_t i)
{
    const wd_half_open_link *gone = wd_half_open_excess(&r->links[i], MOST);

    return gone == NULL ? -1 : (int)(gone - r->links);
}

static void empty(room *r)
{
    for (size_t i = 0; i < MANY; i++)
        wd_half_open_remove(&r->all, &r->links[i]);
    for (size_t i = 0; i < WD_HALF_OPEN_BUCKETS; i++)
        assert_null(r->all.buckets[i]);
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
        cmocka_unit_test(addresses_do_not_displace_each_other),
        cmocka_unit_test(who_is_on_no_list_is_no_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
