#include "server/executor/layer.h"
#include "server/executor/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_layer_has_a_name_of_its_own_and_a_cure(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        const wd_layer_id id = (wd_layer_id)i;
        assert_int_equal(wd_layer_find(wd_layer_name(id)), id);
        assert_true(strlen(wd_layer_cure(id)) > 20);
    }
}

static void unknown_layers_are_mandatory_and_unknown(void **state)
{
    (void)state;
    assert_int_equal(wd_layer_find("moat"), WD_LAYER_COUNT);
    assert_string_equal(wd_layer_name(WD_LAYER_COUNT), "unknown");
    assert_true(wd_layer_mandatory(WD_LAYER_COUNT));
    assert_string_equal(wd_layer_cure((wd_layer_id)-1), "unknown");
}

static void fill(wd_layer_state layers[WD_LAYER_COUNT])
{
    memset(layers, 0, sizeof(layers[0]) * WD_LAYER_COUNT);
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        layers[i].id = (wd_layer_id)i;
        layers[i].mandatory = wd_layer_mandatory((wd_layer_id)i);
        layers[i].active = true;
    }
}

static void the_missing_layer_is_the_one_that_was_tried(void **state)
{
    (void)state;
    wd_layer_state layers[WD_LAYER_COUNT];
    fill(layers);
    assert_null(wd_probe_missing(layers));
    layers[WD_LAYER_CANARY].active = false; /* tried later */
    layers[WD_LAYER_CGROUP_CPU].active = false;
    assert_null(wd_probe_missing(layers));
    layers[WD_LAYER_USER_NS].active = false;
    (void)strcpy(layers[WD_LAYER_USER_NS].detail, "not tried: descriptors");
    assert_ptr_equal(wd_probe_missing(layers), &layers[WD_LAYER_USER_NS]);
    layers[WD_LAYER_DESCRIPTORS].active = false;
    assert_ptr_equal(wd_probe_missing(layers), &layers[WD_LAYER_DESCRIPTORS]);
}

static void claim_10_a_refusal_of_any_layer_gets_its_whole_cure_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WD_LAYER_COUNT; i++) {
        const char *name = wd_layer_name((wd_layer_id)i);
        const char *cure = wd_layer_cure((wd_layer_id)i);
        const size_t name_size = strlen(name);
        for (size_t length = 0; length < WD_LAYER_CURE_BYTES; length += 7) {
            char text[WD_LAYER_CURE_BYTES];
            memcpy(text, name, name_size);
            (void)snprintf(text + name_size, sizeof(text) - name_size, ": %*s",
                           (int)length, "x");
            wd_layer_add_cure(text, sizeof(text));
            char once[sizeof(text)];
            memcpy(once, text, sizeof(text));
            wd_layer_add_cure(text, sizeof(text));
            assert_string_equal(text, once);
            assert_memory_equal(text, name, name_size);
            assert_int_equal(text[name_size], ':');
            const char *end = text + strlen(text) - strlen(cure);
            assert_string_equal(end, cure);
            assert_memory_equal(end - 2, "; ", 2);
        }
    }
}

static void a_character_before_a_cure_is_not_cut_in_two(void **state)
{
    (void)state;
    for (int shift = 0; shift < 3; shift++) {
        char text[WD_LAYER_CURE_BYTES] = "proc: ";
        memset(text + strlen(text), 'x', (size_t)shift);
        while (strlen(text) + 4 < sizeof(text))
            memcpy(text + strlen(text), "\xE2\x82\xAC", 4);
        wd_layer_add_cure(text, sizeof(text));
        const char *end = strstr(text, "; a fresh /proc");
        assert_non_null(end);
        assert_memory_equal(end - 3, "\xE2\x82\xAC", 3);
    }
}

static void what_is_of_no_layer_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", ":", "proc", "process: x", "pro: x", "moat: x", "sandbox.mode external: no",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char text[WD_LAYER_CURE_BYTES];
        (void)snprintf(text, sizeof(text), "%s", texts[i]);
        wd_layer_add_cure(text, sizeof(text));
        assert_string_equal(text, texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_has_a_name_of_its_own_and_a_cure),
        cmocka_unit_test(unknown_layers_are_mandatory_and_unknown),
        cmocka_unit_test(claim_10_a_refusal_of_any_layer_gets_its_whole_cure_once),
        cmocka_unit_test(a_character_before_a_cure_is_not_cut_in_two),
        cmocka_unit_test(what_is_of_no_layer_stays_as_it_is),
        cmocka_unit_test(the_missing_layer_is_the_one_that_was_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
