/* The text of an action, routed: the code is made of the text and of nothing else, stays
 * text, and is found in time that grows with the text alone. */
#include "server/service/routing.h"

#include <stdlib.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "tests/fuzz/fuzz.h"

static char *python[] = {(char[]){"python"}, (char[]){"py"}};
static char *calc[] = {(char[]){"calc"}};
static wd_tool_config tools[] = {
    {.name = (char[]){"python_code"}, .tags = {python, 2}},
    {.name = (char[]){"calc"}, .tags = {calc, 1}},
    {.name = (char[]){"hidden"}, .tags = {NULL, 0}},
};
static const wd_config config = {.tools = tools, .n_tools = 3};
static const char *const named[] = {"", "python_code", "calc", "hidden", "nobody"};

/* Every line of the code stands in the action, in the code's order. */
static void check_made_of(wd_span code, const char *action)
{
    while (code.size > 0) {
        char *line = fuzz_text(fuzz_line(&code));
        const char *found = strstr(action, line);
        FUZZ_CHECK(found != NULL);
        action = found + strlen(line);
        free(line);
    }
}

static void check_routed(const wd_routed *routed, const char *action)
{
    size_t size = strlen(action);
    wd_span text = {(const uint8_t *)action, size};

    FUZZ_CHECK(routed->tool != NULL);
    FUZZ_CHECK(routed->code.size <= size);
    FUZZ_CHECK(routed->code.size == 0 ||
               memchr(routed->code.data, '\0', routed->code.size) == NULL);
    FUZZ_CHECK(!wd_utf8_valid(text, NULL) || wd_utf8_valid(routed->code, NULL));
    check_made_of(routed->code, action);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wd_span in = {data, size};
    const char *tool = named[fuzz_byte(&in) % (sizeof(named) / sizeof(named[0]))];
    char *action = fuzz_text(in);
    WD_AUTO(wd_budget) *budget = wd_budget_new(in.size);
    wd_error err = {.status = WD_OK};
    wd_routed routed;

    FUZZ_CHECK(budget != NULL);
    const wd_routing_ask ask = {tool, action, budget};
    wd_status status = wd_routing_find(&config, &ask, &routed, &err);
    FUZZ_CHECK(wd_budget_used(budget) <= wd_budget_limit(budget));
    if (status == WD_OK)
        check_routed(&routed, action);
    else
        fuzz_check_refusal(status, &err);
    free(action);
    return 0;
}
