/* A call id is used once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/uuid.h"
#include "server/call_ids.h"
#include "server/kept.h"

#define NOW 1800000000000LL

static const uint8_t digest_a[WD_SHA256_BYTES] = {1};
static const uint8_t digest_b[WD_SHA256_BYTES] = {2};

typedef struct id {
    uint8_t bytes[WD_CALL_ID_BYTES];
} id;

static id at(int64_t ms)
{
    id made;
    wd_uuid7_make(ms, made.bytes);
    return made;
}

static wd_claim claim_at(wd_call_ids *ids, id which, const uint8_t *digest, int64_t now)
{
    const wd_call_claim asked = {.id = which.bytes, .digest = digest, .now_ms = now};
    WD_AUTO(wd_kept) *kept = NULL;
    int64_t floor_ms = 0;
    return wd_call_ids_claim(ids, &asked, &kept, &floor_ms);
}

static wd_claim claim(wd_call_ids *ids, id which)
{
    return claim_at(ids, which, digest_a, NOW);
}

static void an_unknown_id_is_taken_by_its_time(void **state)
{
    static const struct {
        const char *name;
        int64_t ms;
        wd_claim want;
    } cases[] = {
        {"now", NOW, WD_CLAIM_OK},
        {"15 minutes back", NOW - WD_CALL_FLOOR_MS, WD_CLAIM_OK},
        {"a millisecond older", NOW - WD_CALL_FLOOR_MS - 1, WD_CLAIM_EXPIRED},
        {"an hour old", NOW - 3600000, WD_CLAIM_EXPIRED},
        {"of 1970", 0, WD_CLAIM_EXPIRED},
        {"a minute ahead", NOW + WD_CALL_AHEAD_MS, WD_CLAIM_OK},
        {"a millisecond more", NOW + WD_CALL_AHEAD_MS + 1, WD_CLAIM_AHEAD},
        {"an hour ahead", NOW + 3600000, WD_CLAIM_AHEAD},
        {"of the year 10889", (1LL << 48) - 1, WD_CLAIM_AHEAD},
    };
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(claim(ids, at(cases[i].ms)), cases[i].want);
    }
}

static void a_known_id_is_answered_from_its_entry(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    id x = at(NOW);

    (void)state;
    assert_int_equal(claim(ids, x), WD_CLAIM_OK);
    assert_int_equal(claim(ids, x), WD_CLAIM_RUNNING);
    assert_int_equal(claim_at(ids, x, digest_b, NOW), WD_CLAIM_REUSED);
    wd_call_ids_end(ids, x.bytes);
    assert_int_equal(claim(ids, x), WD_CLAIM_ENDED);
    assert_int_equal(claim_at(ids, x, digest_b, NOW), WD_CLAIM_REUSED);
}

static void a_known_id_does_not_meet_the_floor(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    id x = at(NOW);

    (void)state;
    assert_int_equal(claim(ids, x), WD_CLAIM_OK);
    assert_int_equal(claim_at(ids, x, digest_a, NOW + 3600000), WD_CLAIM_RUNNING);
}

static void an_id_that_never_ran_is_free_again(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    id x = at(NOW);

    (void)state;
    assert_int_equal(claim(ids, x), WD_CLAIM_OK);
    wd_call_ids_forget(ids, x.bytes);
    assert_int_equal(wd_call_ids_count(ids), 0);
    assert_int_equal(claim_at(ids, x, digest_b, NOW), WD_CLAIM_OK);
}

static void what_is_evicted_raises_the_floor(void **state)
{
    enum { CAPACITY = 8 };
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(CAPACITY, 0, NULL);
    id first = at(NOW - 1000);
    const wd_call_claim again = {.id = first.bytes, .digest = digest_a, .now_ms = NOW};
    WD_AUTO(wd_kept) *kept = NULL;
    int64_t floor_ms = 0;

    (void)state;
    assert_int_equal(claim(ids, first), WD_CLAIM_OK);
    wd_call_ids_end(ids, first.bytes);
    for (int i = 1; i < CAPACITY; i++)
        assert_int_equal(claim(ids, at(NOW + i)), WD_CLAIM_OK);
    assert_int_equal(claim(ids, first), WD_CLAIM_ENDED);
    assert_int_equal(claim(ids, at(NOW + CAPACITY)), WD_CLAIM_OK); /* evicts it */
    assert_int_equal(wd_call_ids_claim(ids, &again, &kept, &floor_ms),
                     WD_CLAIM_EXPIRED);
    assert_int_equal(floor_ms, NOW - 999);
}

static void claim_06_a_clock_set_back_gives_no_id_a_second_run(void **state)
{
    enum { LATER = 20 * 60 * 1000 };
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    id first = at(NOW);

    (void)state;
    assert_int_equal(claim(ids, first), WD_CLAIM_OK);
    wd_call_ids_end(ids, first.bytes);
    assert_int_equal(claim_at(ids, at(NOW + LATER), digest_a, NOW + LATER),
                     WD_CLAIM_OK); /* the first is too old to be kept now */
    assert_int_equal(wd_call_ids_count(ids), 1);
    assert_int_equal(claim(ids, first), WD_CLAIM_EXPIRED);
    assert_int_equal(claim(ids, at(NOW + 1)), WD_CLAIM_OK);
}

static void nothing_older_than_the_first_floor_is_taken(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, NOW - 1000, NULL);

    (void)state;
    assert_int_equal(claim(ids, at(NOW - 1001)), WD_CLAIM_EXPIRED);
    assert_int_equal(claim(ids, at(NOW - 1000)), WD_CLAIM_OK);
}

static void running_calls_are_never_evicted(void **state)
{
    enum { CAPACITY = 8 };
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(CAPACITY, 0, NULL);
    id running[CAPACITY];

    (void)state;
    for (int i = 0; i < CAPACITY; i++) {
        running[i] = at(NOW - 1000 + i);
        assert_int_equal(claim(ids, running[i]), WD_CLAIM_OK);
    }
    assert_int_equal(claim(ids, at(NOW)), WD_CLAIM_FULL);
    for (int i = 0; i < CAPACITY; i++)
        assert_int_equal(claim(ids, running[i]), WD_CLAIM_RUNNING);
    wd_call_ids_end(ids, running[3].bytes);
    assert_int_equal(claim(ids, at(NOW)), WD_CLAIM_OK);
}

static void ended_ids_are_dropped_when_they_meet_the_floor(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    int64_t later = NOW + WD_CALL_FLOOR_MS + 1;
    id x = at(NOW);

    (void)state;
    assert_int_equal(claim(ids, x), WD_CLAIM_OK);
    wd_call_ids_end(ids, x.bytes);
    assert_int_equal(claim_at(ids, at(later), digest_a, later), WD_CLAIM_OK);
    assert_int_equal(wd_call_ids_count(ids), 1);
    assert_int_equal(claim_at(ids, x, digest_a, later), WD_CLAIM_EXPIRED);
}

static void what_the_trail_tells_is_known(void **state)
{
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(64, 0, NULL);
    id ended = at(NOW - 5);
    id cut = at(NOW - 4);

    (void)state;
    wd_call_ids_restore(ids, ended.bytes, true);
    wd_call_ids_restore(ids, ended.bytes, false); /* an older row of it */
    wd_call_ids_restore(ids, cut.bytes, false);
    assert_int_equal(claim(ids, ended), WD_CLAIM_ENDED);
    assert_int_equal(claim_at(ids, ended, digest_b, NOW), WD_CLAIM_ENDED);
    assert_int_equal(claim(ids, cut), WD_CLAIM_CUT);
}

/* Many ids, forgotten and ended in turn, against a plain list. */
static void the_table_agrees_with_a_plain_list(void **state)
{
    enum { N = 5000 };
    static id all[N];
    atomic_size_t total = 0;
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(2 * N, 0, &total);

    (void)state;
    for (int i = 0; i < N; i++) {
        all[i] = at(NOW + i % 100);
        assert_int_equal(claim(ids, all[i]), WD_CLAIM_OK);
        if (i % 3 == 0)
            wd_call_ids_forget(ids, all[i].bytes);
        else if (i % 3 == 1)
            wd_call_ids_end(ids, all[i].bytes);
    }
    for (int i = 0; i < N; i++) {
        wd_claim want = i % 3 == 1 ? WD_CLAIM_ENDED : WD_CLAIM_RUNNING;
        if (i % 3 != 0)
            assert_int_equal(claim(ids, all[i]), want);
    }
    assert_int_equal(wd_call_ids_count(ids), N - (N + 2) / 3);
    assert_int_equal(atomic_load(&total), wd_call_ids_count(ids));
}

/* --- ids that somebody chose --------------------------------------------------------- */

#define FLOOD      100000
#define FEW        20U   /* places looked at by a claim or an end, on average */
#define FEW_AT_ONE 2000U /* and by any single one that grows nothing */

/* Ids that a multiplication alone would send to one place: their last eight bytes are
 * y times the inverse of the constant, so that the product is the small number y. */
static size_t choose_ids(id *all, size_t n, int64_t ms)
{
    const uint64_t inverse = 0xF1DE83E19937733DU; /* of 0x9E3779B97F4A7C15 */
    size_t made = 0;

    for (uint64_t y = 1; made < n; y++) {
        uint64_t low = y * inverse;
        id chosen = at(ms);
        memcpy(chosen.bytes + 8, &low, sizeof(low));
        if (chosen.bytes[8] >> 6 == 2) /* the variant of a UUID */
            all[made++] = chosen;
    }
    return made;
}

static void claim_end_all(wd_call_ids *ids, const id *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(claim(ids, all[i]), WD_CLAIM_OK);
        wd_call_ids_end(ids, all[i].bytes);
    }
}

static void claim_07_chosen_ids_cost_no_more_than_drawn_ones(void **state)
{
    id *all = calloc(FLOOD, sizeof(id));
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(WD_CALL_IDS_EACH, 0, NULL);

    (void)state;
    assert_non_null(all);
    assert_true(0x9E3779B97F4A7C15U * 0xF1DE83E19937733DU == 1);
    assert_int_equal(choose_ids(all, FLOOD, NOW), FLOOD);
    claim_end_all(ids, all, FLOOD);
    assert_true(wd_call_ids_probes(ids) < (uint64_t)FEW * FLOOD);
    for (size_t i = 0; i < FLOOD; i++) {
        uint64_t before = wd_call_ids_probes(ids);
        assert_int_equal(claim(ids, all[i]), WD_CLAIM_ENDED);
        assert_true(wd_call_ids_probes(ids) - before < FEW_AT_ONE);
    }
    free(all);
}

/* They all meet the floor at once: each claim drops a few of them, none drops all. */
/* The first one to be dropped. */
static const id *oldest_of(const id *all, size_t n)
{
    const id *oldest = all;

    for (size_t i = 1; i < n; i++) {
        if (memcmp(all[i].bytes, oldest->bytes, sizeof(oldest->bytes)) < 0)
            oldest = &all[i];
    }
    return oldest;
}

static void claim_07_ids_that_expire_together_are_dropped_a_few_at_a_time(void **state)
{
    enum { BATCH_MOST = 64 };
    const int64_t later = NOW + WD_CALL_FLOOR_MS + 1;
    id *all = calloc(FLOOD, sizeof(id));
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(WD_CALL_IDS_EACH, 0, NULL);

    (void)state;
    assert_non_null(all);
    (void)choose_ids(all, FLOOD, NOW);
    claim_end_all(ids, all, FLOOD);
    size_t count = wd_call_ids_count(ids);
    for (int claims = 0; count > 1000; claims++) {
        uint64_t before = wd_call_ids_probes(ids);
        id fresh = at(later);
        assert_int_equal(claim_at(ids, fresh, digest_a, later), WD_CLAIM_OK);
        assert_true(wd_call_ids_probes(ids) - before < FEW_AT_ONE);
        wd_call_ids_forget(ids, fresh.bytes);
        size_t left = wd_call_ids_count(ids);
        assert_in_range(count - left, 1, BATCH_MOST);
        assert_true(claims < FLOOD);
        count = left;
    }
    assert_int_equal(claim_at(ids, *oldest_of(all, FLOOD), digest_a, later),
                     WD_CLAIM_EXPIRED);
    free(all);
}

static void chosen_ids_are_restored_in_a_few_looks_each(void **state)
{
    id *all = calloc(FLOOD, sizeof(id));
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(WD_CALL_IDS_EACH, 0, NULL);

    (void)state;
    assert_non_null(all);
    (void)choose_ids(all, FLOOD, NOW);
    for (size_t i = 0; i < FLOOD; i++)
        wd_call_ids_restore(ids, all[i].bytes, true);
    assert_int_equal(wd_call_ids_count(ids), FLOOD);
    assert_true(wd_call_ids_probes(ids) < (uint64_t)FEW * FLOOD);
    free(all);
}

static void what_finds_no_room_at_start_is_not_run_again(void **state)
{
    enum { CAPACITY = 8 };
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(CAPACITY, 0, NULL);
    id restored[CAPACITY + 1];

    (void)state;
    for (int i = 0; i <= CAPACITY; i++) { /* newest first */
        restored[i] = at(NOW - i);
        wd_call_ids_restore(ids, restored[i].bytes, true);
    }
    for (int i = 0; i < CAPACITY; i++)
        assert_int_equal(claim(ids, restored[i]), WD_CLAIM_ENDED);
    assert_int_equal(claim(ids, restored[CAPACITY]), WD_CLAIM_EXPIRED);
}

/* Others have filled the whole, and may be gone for good. */
static void claim_07_who_has_few_ids_has_room_whatever_others_hold(void **state)
{
    atomic_size_t total = WD_CALL_IDS_ALL;
    WD_AUTO(wd_call_ids) *ids = wd_call_ids_new(WD_CALL_IDS_EACH, 0, &total);
    id first = at(NOW - 1000);

    (void)state;
    assert_int_equal(claim(ids, first), WD_CLAIM_OK);
    wd_call_ids_end(ids, first.bytes);
    for (size_t i = 1; i < WD_CALL_IDS_OWN; i++)
        assert_int_equal(claim(ids, at(NOW)), WD_CLAIM_OK);
    assert_int_equal(claim(ids, first), WD_CLAIM_ENDED);
    assert_int_equal(claim(ids, at(NOW)), WD_CLAIM_OK); /* evicts its own oldest */
    assert_int_equal(claim(ids, first), WD_CLAIM_EXPIRED);
    assert_int_equal(claim(ids, at(NOW)), WD_CLAIM_FULL); /* all of its others run */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_id_is_taken_by_its_time),
        cmocka_unit_test(a_known_id_is_answered_from_its_entry),
        cmocka_unit_test(a_known_id_does_not_meet_the_floor),
        cmocka_unit_test(an_id_that_never_ran_is_free_again),
        cmocka_unit_test(what_is_evicted_raises_the_floor),
        cmocka_unit_test(claim_06_a_clock_set_back_gives_no_id_a_second_run),
        cmocka_unit_test(nothing_older_than_the_first_floor_is_taken),
        cmocka_unit_test(running_calls_are_never_evicted),
        cmocka_unit_test(ended_ids_are_dropped_when_they_meet_the_floor),
        cmocka_unit_test(what_the_trail_tells_is_known),
        cmocka_unit_test(the_table_agrees_with_a_plain_list),
        cmocka_unit_test(claim_07_chosen_ids_cost_no_more_than_drawn_ones),
        cmocka_unit_test(claim_07_ids_that_expire_together_are_dropped_a_few_at_a_time),
        cmocka_unit_test(chosen_ids_are_restored_in_a_few_looks_each),
        cmocka_unit_test(claim_07_who_has_few_ids_has_room_whatever_others_hold),
        cmocka_unit_test(what_finds_no_room_at_start_is_not_run_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
