/* The bounds of an item's fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/c/limits.h"
#include "server/service/item_check.h"

static const wd_action_limits maxima = {
    .wall_ms = 60000,
    .cpu_ms = 60000,
    .memory_bytes = 1U << 30,
    .pids = 100,
    .files_bytes = 1U << 30,
    .output_bytes = 1U << 20,
};

static char long_id[WD_TRAJECTORY_BYTES + 2];
static char long_action[WD_ACTION_BYTES + 2];

typedef struct item_case {
    const char *name;
    const char *trajectory, *action, *arguments, *extra;
    size_t stdin_bytes;
    wd_action_limits limits;
    const char *refused; /* a word of the message; NULL: taken */
} item_case;

#define NONE {.wall_ms = 0}

static const item_case cases[] = {
    {"the least", "t", "", "", "", 0, NONE, NULL},
    {"a long id", long_id + 1, "", "", "", 0, NONE, NULL},
    {"an id of UTF-8", "\xE2\x82\xAC", "", "", "", 0, NONE, NULL},
    {"an id with ../", "../x", "", "", "", 0, NONE, NULL},
    {"the largest action", "t", long_action + 1, "", "", 0, NONE, NULL},
    {"extra", "t", "", "", "{\"a\": [1, {}]}", 0, NONE, NULL},
    {"stdin of 1 MiB", "t", "", "", "", WD_STDIN_BYTES, NONE, NULL},
    {"limits at their maxima",
     "t",
     "",
     "",
     "",
     0,
     {60000, 60000, 1U << 30, 100, 1U << 30, 1U << 20},
     NULL},
    {"limits at their least",
     "t",
     "",
     "",
     "",
     0,
     {1, 1, 16U << 20, 1, 64U << 10, 1U << 10},
     NULL},

    {"an id in any script", "\xC3\xA9\xC2\xA0\xE6\x97\xA5", "", "", "", 0, NONE, NULL},
    {"no id", "", "", "", "", 0, NONE, "trajectory_id"},
    {"an id too long", long_id, "", "", "", 0, NONE, "at most 255"},
    {"an id with a newline", "a\nb", "", "", "", 0, NONE, "U+000A at byte 1"},
    {"an id with DEL", "\x7F", "", "", "", 0, NONE, "U+007F"},
    {"an id with C1, first", "\xC2\x80", "", "", "", 0, NONE, "U+0080 at byte 0"},
    {"an id with CSI", "ab\xC2\x9Bm", "", "", "", 0, NONE, "U+009B at byte 2"},
    {"an id with C1, last", "\xC2\x9F", "", "", "", 0, NONE, "U+009F"},
    {"an id with an override", "a\xE2\x80\xAE", "", "", "", 0, NONE, "U+202E"},
    {"an id with a line separator", "\xE2\x80\xA8", "", "", "", 0, NONE, "U+2028"},
    {"an action too long", "t", long_action, "", "", 0, NONE, "action"},
    {"stdin too long", "t", "", "", "", WD_STDIN_BYTES + 1, NONE, "stdin"},
    {"extra is a list", "t", "", "", "[1]", 0, NONE, "extra is no JSON object"},
    {"extra is cut off", "t", "", "", "{\"a\": ", 0, NONE, "extra"},
    {"extra twice", "t", "", "", "{} {}", 0, NONE, "extra"},
    {"a key twice", "t", "", "", "{\"a\":1,\"a\":2}", 0, NONE, "extra"},
    {"arguments are text", "t", "", "\"x\"", "", 0, NONE, "arguments"},
    {"wall above", "t", "", "", "", 0, {.wall_ms = 60001}, "sandbox.maxima.wall_ms"},
    {"cpu above", "t", "", "", "", 0, {.cpu_ms = 60001}, "cpu_ms"},
    {"memory below", "t", "", "", "", 0, {.memory_bytes = 1}, "memory_bytes"},
    {"memory above", "t", "", "", "", 0, {.memory_bytes = UINT64_MAX}, "memory_bytes"},
    {"pids above", "t", "", "", "", 0, {.pids = 101}, "pids"},
    {"files below", "t", "", "", "", 0, {.files_bytes = 1}, "files_bytes"},
    {"output above", "t", "", "", "", 0, {.output_bytes = 1U << 21}, "output_bytes"},
};

static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

static void check(const item_case *c)
{
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    Warded__V1__Limits limits = WARDED__V1__LIMITS__INIT;
    wd_error err = {.status = WD_OK};

    item.trajectory_id = text(c->trajectory);
    item.action = text(c->action);
    item.arguments = text(c->arguments);
    item.extra = text(c->extra);
    item.stdin.len = c->stdin_bytes;
    limits.wall_ms = c->limits.wall_ms;
    limits.cpu_ms = c->limits.cpu_ms;
    limits.memory_bytes = c->limits.memory_bytes;
    limits.pids = (uint32_t)c->limits.pids;
    limits.files_bytes = c->limits.files_bytes;
    limits.output_bytes = c->limits.output_bytes;
    item.limits = &limits;
    const char *field = "unset";
    wd_status status = wd_item_check(&item, &maxima, &field, &err);
    if (c->refused == NULL) {
        assert_int_equal(status, WD_OK);
        assert_null(field);
        return;
    }
    assert_non_null(strstr(err.msg, field)); /* the message names the same */
    assert_int_equal(status, WD_INVALID_ARGUMENT);
    assert_int_equal(err.reason, WD_REASON_FIELD_INVALID);
    assert_non_null(strstr(err.msg, c->refused));
}

static void fields_are_bounded_as_the_table_says(void **state)
{
    (void)state;
    memset(long_id, 'x', sizeof(long_id) - 1);
    memset(long_action, 'x', sizeof(long_action) - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        check(&cases[i]);
    }
}

static void files_are_refused_not_dropped(void **state)
{
    Warded__V1__Item item = WARDED__V1__ITEM__INIT;
    const char *field = NULL;
    wd_error err;

    (void)state;
    item.trajectory_id = text("t");
    item.n_files = 1;
    assert_int_equal(wd_item_check(&item, &maxima, &field, &err), WD_UNIMPLEMENTED);
    assert_string_equal(field, "files");
    item.n_files = 0;
    item.n_fetch = 1;
    assert_int_equal(wd_item_check(&item, &maxima, &field, &err), WD_UNIMPLEMENTED);
    assert_int_equal(err.reason, WD_REASON_NOT_BUILT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_bounded_as_the_table_says),
        cmocka_unit_test(files_are_refused_not_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
