#include "server/executor/layer.h"
#include "server/executor/probe.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_has_a_name_of_its_own_and_a_cure),
        cmocka_unit_test(unknown_layers_are_mandatory_and_unknown),
        cmocka_unit_test(the_missing_layer_is_the_one_that_was_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
