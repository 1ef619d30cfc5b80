/* Which methods there are, and whom they serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "server/cancel.h"
#include "server/registry.h"
#include "warded/v1/health.wd.h"
#include "warded/v1/observation.wd.h"
#include "warded/v1/step.wd.h"
#include "warded/v1/token.wd.h"

static wd_registry *ours(void)
{
    wd_registry *registry = wd_registry_new();

    assert_non_null(registry);
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_token, NULL, NULL), WD_OK);
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_health, NULL, NULL),
                     WD_OK);
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_observation, NULL, NULL),
                     WD_OK);
    return registry;
}

static void a_method_is_found_by_its_exact_path(void **state)
{
    static const struct {
        const char *path;
        bool found;
    } cases[] = {
        {"/warded.v1.Health/Check", true},
        {"/warded.v1.Token/WhoAmI", true},
        {"/warded.v1.Observation/CallTool", true}, /* known, though not built */
        {"", false},
        {"/", false},
        {"CANCEL", false}, /* a kind of request, no path */
        {"/warded.v1.Health/check", false},
        {"/warded.v1.Health/Check/", false},
        {"warded.v1.Health/Check", false},
        {"/warded.v1.Health", false},
        {"/warded.v2.Health/Check", false},
    };
    WD_AUTO(wd_registry) *registry = ours();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  \"%s\"\n", cases[i].path);
        assert_int_equal(wd_registry_find(registry, cases[i].path) != NULL,
                         cases[i].found);
    }
}

static void claim_03_a_grant_opens_what_is_a_sessions(void **state)
{
    static const struct {
        const char *held;
        bool step;
    } cases[] = {{"session:one", true}, {"session:*", true},  {"env:cart", true},
                 {"env:*", true},       {"observe:*", false}, {"sessions:one", false}};
    WD_AUTO(wd_registry) *registry = ours();
    const wd_method *step = NULL;
    const wd_method *who = NULL;

    (void)state;
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_step, NULL, NULL), WD_OK);
    step = wd_registry_find(registry, "/warded.v1.Step/Step")->method;
    who = wd_registry_find(registry, "/warded.v1.Token/Issue")->method;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  \"%s\"\n", cases[i].held);
        assert_int_equal(wd_method_held(step, &cases[i].held, 1), cases[i].step);
        assert_false(wd_method_held(who, &cases[i].held, 1));
    }
}

static void a_scope_opens_what_is_built(void **state)
{
    static const struct {
        const char *scope;
        bool opens;
    } cases[] = {{"token:issue", true}, {"token:*", true},  {"token:isue", false},
                 {"observe:any", true}, {"env:*", false},   {"session:one", false},
                 {"observed:*", false}, {"health:x", false}};
    WD_AUTO(wd_registry) *registry = ours();

    (void)state;
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_step, NULL, NULL), WD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  \"%s\"\n", cases[i].scope);
        assert_int_equal(wd_registry_opens(registry, cases[i].scope), cases[i].opens);
    }
}

static void an_empty_registry_knows_nothing(void **state)
{
    WD_AUTO(wd_registry) *registry = wd_registry_new();

    (void)state;
    assert_null(wd_registry_find(registry, "/warded.v1.Health/Check"));
    assert_false(wd_registry_area_held(registry, "/warded.v1.Health/Check", NULL, 0));
}

static void a_path_is_served_once(void **state)
{
    WD_AUTO(wd_registry) *registry = ours();
    wd_error err;

    (void)state;
    assert_int_equal(wd_registry_add(registry, &wd_warded_v1_health, NULL, &err),
                     WD_FAILED_PRECONDITION);
    assert_non_null(wd_registry_find(registry, "/warded.v1.Token/Issue"));
}

static void only_unaudited_methods_run_on_the_receiving_thread(void **state)
{
    WD_AUTO(wd_registry) *registry = ours();

    (void)state;
    assert_int_equal(wd_registry_find(registry, "/warded.v1.Health/Check")->where,
                     WD_RUN_INLINE);
    assert_int_equal(wd_registry_find(registry, "/warded.v1.Token/WhoAmI")->where,
                     WD_RUN_POOL);
}

static void the_reason_of_a_refusal_depends_on_what_is_held(void **state)
{
    static const char *const observe[] = {"observe:python_code"};
    static const char *const token_read[] = {"audit:read", "token:read"};
    static const struct {
        const char *name;
        const char *path;
        const char *const *held;
        size_t n_held;
        bool want;
    } cases[] = {
        {"a method of the area", "/warded.v1.Token/Issue", token_read, 2, true},
        {"an unknown method of the same service", "/warded.v1.Token/Nope", token_read,
         2, true},
        {"another area", "/warded.v1.Token/Issue", observe, 1, false},
        {"an unknown method there", "/warded.v1.Token/Nope", observe, 1, false},
        {"an unknown service", "/warded.v1.Nope/Nope", token_read, 2, false},
        {"no scopes at all", "/warded.v1.Token/Issue", NULL, 0, false},
        {"no path", "", token_read, 2, false},
    };
    WD_AUTO(wd_registry) *registry = ours();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_registry_area_held(registry, cases[i].path, cases[i].held,
                                               cases[i].n_held),
                         cases[i].want);
    }
}

static wd_step plan_nothing(struct wd_call *call, wd_error *err)
{
    (void)call;
    (void)err;
    return WD_NEXT;
}

static void claim_03_a_record_by_item_needs_a_planner(void **state)
{
    static const struct {
        const char *name;
        wd_record record;
        bool built;
        wd_planner *plan;
        const char *refused; /* what the refusal says of it; NULL: taken */
    } cases[] = {
        {"one pair a call", WD_RECORD_CALL, true, NULL, NULL},
        {"by item, nobody plans", WD_RECORD_ITEM, true, NULL, "record: ITEM"},
        {"by batch, nobody plans", WD_RECORD_BATCH, true, NULL, "record: BATCH"},
        {"by item, planned", WD_RECORD_ITEM, true, plan_nothing, NULL},
        {"by batch, planned", WD_RECORD_BATCH, true, plan_nothing, NULL},
        {"by item, not built", WD_RECORD_ITEM, false, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const wd_method method = {.path = "/acme.v1.Shop/Buy",
                                  .audited = true,
                                  .built = cases[i].built,
                                  .record = cases[i].record};
        const wd_service_info shop = {
            .name = "acme.v1.Shop", .methods = &method, .n_methods = 1};
        WD_AUTO(wd_registry) *registry = wd_registry_new();
        wd_error err = {.status = WD_OK};

        print_message("  %s\n", cases[i].name);
        assert_int_equal(wd_registry_add(registry, &shop, NULL, &err), WD_OK);
        wd_registry_place(registry, method.path, WD_RUN_POOL, cases[i].plan);
        if (cases[i].refused == NULL) {
            assert_int_equal(wd_registry_check(registry, &err), WD_OK);
            continue;
        }
        assert_int_equal(wd_registry_check(registry, &err), WD_FAILED_PRECONDITION);
        assert_non_null(strstr(err.msg, method.path));
        assert_non_null(strstr(err.msg, cases[i].refused));
        assert_non_null(strstr(err.msg, "wd_registry_place"));
    }
}

static void cancel_is_audited_and_in_the_lane(void **state)
{
    const wd_route *route = wd_cancel_route();

    (void)state;
    assert_true(route->method->audited);
    assert_true(route->method->lane);
    assert_string_equal(route->event, "call.cancel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_is_found_by_its_exact_path),
        cmocka_unit_test(claim_03_a_grant_opens_what_is_a_sessions),
        cmocka_unit_test(a_scope_opens_what_is_built),
        cmocka_unit_test(an_empty_registry_knows_nothing),
        cmocka_unit_test(a_path_is_served_once),
        cmocka_unit_test(only_unaudited_methods_run_on_the_receiving_thread),
        cmocka_unit_test(the_reason_of_a_refusal_depends_on_what_is_held),
        cmocka_unit_test(claim_03_a_record_by_item_needs_a_planner),
        cmocka_unit_test(cancel_is_audited_and_in_the_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
