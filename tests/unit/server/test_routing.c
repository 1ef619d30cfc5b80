/* Which tool an action is for, and the code in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "server/service/routing.h"

static char *python_tags[] = {(char[]){"python"}, (char[]){"py"}};
static char *other_tags[] = {(char[]){"calc"}};
static wd_tool_config tools[] = {
    {.name = (char[]){"python_code"}, .tags = {python_tags, 2}},
    {.name = (char[]){"calc"}, .tags = {other_tags, 1}},
    {.name = (char[]){"hidden"}, .tags = {NULL, 0}},
};
static const wd_config config = {.tools = tools, .n_tools = 3};

typedef struct routing_case {
    const char *name;
    const char *tool; /* the item's */
    const char *action;
    const char *want; /* the tool; NULL: refused */
    const char *code;
} routing_case;

static const routing_case cases[] = {
    {"a tag", "", "think\n<python>\nprint(1)\n</python> so", "python_code",
     "print(1)\n"},
    {"a tag on one line", "", "<python> print(1) </python>", "python_code",
     "print(1)\n"},
    {"the second tag", "", "<py>x</py>", "python_code", "x\n"},
    {"a fence", "", "text\n```python\nprint(1)\n```\n", "python_code", "print(1)\n"},
    {"a py fence", "", "```py\nprint(1)\n```", "python_code", "print(1)\n"},
    {"a fence closed on its line", "", "```python\nx```", "python_code", "x\n"},
    {"two blocks, joined", "", "<python>a</python> and <python>b</python>",
     "python_code", "a\nb\n"},
    {"blocks of two tags in the text's order", "",
     "<py>a</py><python>b</python><py>c</py>", "python_code", "a\nb\nc\n"},
    {"two fences", "", "```python\na\n```\n```py\nb\n```", "python_code", "a\nb\n"},
    {"tags before fences", "", "```python\nprose\n```<python>code</python>",
     "python_code", "code\n"},
    {"the configured order decides", "", "<calc>1</calc><python>2</python>",
     "python_code", "2\n"},
    {"another tool's tag", "", "<calc>1+1</calc>", "calc", "1+1\n"},
    {"indentation stays", "", "<python>\n\n  if 1:\n    x\n</python>", "python_code",
     "  if 1:\n    x\n"},
    {"an empty block", "", "<python></python>", "python_code", "\n"},
    {"a block of blanks", "", "<python> \n \n</python>", "python_code", "\n"},
    {"carriage returns", "", "```python\r\nx\r\n```", "python_code", "x\n"},
    {"named: the whole text", "python_code", "print(1)", "python_code", "print(1)"},
    {"named, a tag in a string", "python_code", "s='<python>print(666)</python>'",
     "python_code", "s='<python>print(666)</python>'"},
    {"named, nothing but a block", "python_code", "<python>x</python>", "python_code",
     "<python>x</python>"},
    {"named, a fence", "python_code", "```python\nx\n```", "python_code",
     "```python\nx\n```"},
    {"named, another tool's tag", "python_code", "<calc>1</calc>", "python_code",
     "<calc>1</calc>"},
    {"named, blanks around", "python_code", " \n x\r\n\n", "python_code",
     " \n x\r\n\n"},
    {"named, without tags of its own", "hidden", "<python>x</python>", "hidden",
     "<python>x</python>"},
    {"named, empty", "python_code", "", "python_code", ""},

    {"plain text", "", "plain text, no call", NULL, NULL},
    {"nothing", "", "", NULL, NULL},
    {"an unknown name", "nope", "<python>x</python>", NULL, NULL},
    {"a name that begins so", "python", "x", NULL, NULL},
    {"no end tag", "", "<python>print(1)", NULL, NULL},
    {"no closing fence", "", "```python\nprint(1)", NULL, NULL},
    {"another language", "", "```pythonic\nx\n```", NULL, NULL},
    {"a fence without a name", "", "```\nx\n```", NULL, NULL},
    {"an end tag alone", "", "x</python>", NULL, NULL},
    {"the tag in other letters", "", "<Python>x</Python>", NULL, NULL},
    {"the end before the beginning", "", "</python>x<python>", NULL, NULL},
};

static void check(const routing_case *c)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(1024);
    wd_routed routed;
    wd_error err = {.status = WD_OK};
    const wd_routing_ask ask = {c->tool, c->action, budget};
    wd_status status = wd_routing_find(&config, &ask, &routed, &err);

    if (c->want == NULL) {
        assert_int_equal(status, WD_NOT_FOUND);
        assert_int_equal(err.reason, WD_REASON_TOOL_UNKNOWN);
        return;
    }
    assert_int_equal(status, WD_OK);
    assert_string_equal(routed.tool->name, c->want);
    assert_int_equal(routed.code.size, strlen(c->code));
    assert_memory_equal(routed.code.data, c->code, strlen(c->code));
}

static void actions_are_routed_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s\n", cases[i].name);
        check(&cases[i]);
    }
}

static void the_refusal_lists_the_tags(void **state)
{
    WD_AUTO(wd_budget) *budget = wd_budget_new(0);
    const wd_routing_ask ask = {"", "text", budget};
    wd_routed routed;
    wd_error err;

    (void)state;
    assert_int_equal(wd_routing_find(&config, &ask, &routed, &err), WD_NOT_FOUND);
    assert_non_null(strstr(err.msg, "<python>, <py>, <calc>"));
}

static void code_that_passes_the_budget_is_refused(void **state)
{
    static char action[4 << 20];
    WD_AUTO(wd_budget) *budget = wd_budget_new(0); /* 1 MiB */
    const wd_routing_ask ask = {"", action, budget};
    wd_routed routed;
    wd_error err;

    (void)state;
    memset(action, 'x', sizeof(action) - 1);
    memcpy(action, "<python>", 8);
    memcpy(action + sizeof(action) - 10, "</python>", 9);
    assert_int_equal(wd_routing_find(&config, &ask, &routed, &err),
                     WD_RESOURCE_EXHAUSTED);
}

/* Fills `action` with copies of `part`. */
static void repeat(char *action, size_t size, const char *part)
{
    size_t n = strlen(part);

    for (size_t at = 0; at + n < size; at += n)
        memcpy(action + at, part, n + 1);
}

/* Looking again for the tag that is not there, block after block, took minutes. */
static void many_blocks_are_found_in_time_that_grows_with_the_text(void **state)
{
    static const char *const parts[] = {"<py></py>", "<py><python></py>", "```py x```",
                                        "```pyx```", "<python><py>",      "```py",
                                        "<py>"};
    static char action[1 << 20];

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        WD_AUTO(wd_budget) *budget = wd_budget_new(sizeof(action));
        const wd_routing_ask ask = {"", action, budget};
        wd_routed routed;
        clock_t start = clock();
        repeat(action, sizeof(action), parts[i]);
        wd_status found = wd_routing_find(&config, &ask, &routed, NULL);
        (void)found; /* whether it is refused is another test's */
        if (clock() - start > 20 * CLOCKS_PER_SEC)
            fail_msg("1 MiB of %s takes too long", parts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_are_routed_as_the_table_says),
        cmocka_unit_test(the_refusal_lists_the_tags),
        cmocka_unit_test(code_that_passes_the_budget_is_refused),
        cmocka_unit_test(many_blocks_are_found_in_time_that_grows_with_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
