#include "proto/c/uuid.h"

#include "proto/c/clock.h"
#include "tests/unit/proto/proto_test.h"

/* RFC 9562, appendix A.6. */
#define EXAMPLE      "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
#define EXAMPLE_TIME INT64_C(1645557742000)

static void the_example_of_the_rfc_is_read(void **state)
{
    (void)state;
    uint8_t id[WD_UUID_BYTES];
    char text[WD_UUID_TEXT_BYTES];
    assert_true(wd_uuid_parse(EXAMPLE, id));
    assert_true(wd_uuid7_valid((wd_span){id, sizeof(id)}));
    assert_true(wd_uuid7_ms(id) == EXAMPLE_TIME);
    wd_uuid_format(id, text);
    assert_string_equal(text, EXAMPLE);
}

static void a_new_one_is_valid_dated_and_unlike_the_last(void **state)
{
    (void)state;
    static const int64_t times[] = {0, 1, EXAMPLE_TIME, (INT64_C(1) << 48) - 1};
    for (size_t i = 0; i < COUNT(times); i++) {
        uint8_t one[WD_UUID_BYTES];
        uint8_t two[WD_UUID_BYTES];
        wd_uuid7_make(times[i], one);
        wd_uuid7_make(times[i], two);
        assert_true(wd_uuid7_valid((wd_span){one, sizeof(one)}));
        assert_true(wd_uuid7_ms(one) == times[i]);
        assert_memory_not_equal(one, two, sizeof(one));
    }
}

static void other_versions_variants_and_sizes_are_not_valid(void **state)
{
    (void)state;
    uint8_t id[WD_UUID_BYTES + 1] = {0};
    for (unsigned version = 0; version < 16; version++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            id[6] = (uint8_t)(version << 4);
            id[8] = (uint8_t)(variant << 6);
            bool want = version == 7 && variant == 2;
            assert_int_equal(wd_uuid7_valid((wd_span){id, WD_UUID_BYTES}), want);
        }
    }
    id[6] = 0x70;
    id[8] = 0x80;
    assert_true(wd_uuid7_valid((wd_span){id, 16}));
    assert_false(wd_uuid7_valid((wd_span){id, 15}));
    assert_false(wd_uuid7_valid((wd_span){id, 17}));
    assert_false(wd_uuid7_valid((wd_span){NULL, 0}));
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398ff",
        "017f22e279b0-7cc3-98c4-dc0c0c07398f-",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
        "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}",
        "017f22e2 79b0 7cc3 98c4 dc0c0c07398f",
        "017f22e2--9b0-7cc3-98c4-dc0c0c07398f",
    };
    uint8_t id[WD_UUID_BYTES] = {0};
    uint8_t zero[WD_UUID_BYTES] = {0};
    for (size_t i = 0; i < COUNT(refused); i++) {
        print_message("  '%s'\n", refused[i]);
        assert_false(wd_uuid_parse(refused[i], id));
    }
    assert_false(wd_uuid_parse(NULL, id));
    assert_memory_equal(id, zero, sizeof(id));
}

static void upper_case_is_read(void **state)
{
    (void)state;
    uint8_t id[WD_UUID_BYTES];
    assert_true(wd_uuid_parse("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", id));
    assert_int_equal(id[1], 0x7F);
}

static void the_system_clocks_go_forward(void **state)
{
    (void)state;
    const wd_clock *clock = wd_clock_system();
    int64_t before = wd_clock_mono_ns(clock);
    int64_t wall = wd_clock_wall_ms(clock);
    int64_t ms = wd_clock_mono_ms(clock);
    int64_t after = wd_clock_mono_ns(clock);
    assert_true(before <= after);
    assert_true(before / 1000000 <= ms && ms <= after / 1000000);
    assert_true(wall > EXAMPLE_TIME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_rfc_is_read),
        cmocka_unit_test(a_new_one_is_valid_dated_and_unlike_the_last),
        cmocka_unit_test(other_versions_variants_and_sizes_are_not_valid),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(upper_case_is_read),
        cmocka_unit_test(the_system_clocks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
