#include "server/service/routing.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TAG_BYTES 80U

/* What delimits a block of one tag. */
typedef struct marks {
    char open[TAG_BYTES];
    char close[TAG_BYTES];
    bool fence; /* the tag must end there: "```py" does not open "```python" */
} marks;

static marks tag_marks(const char *tag)
{
    marks m = {.fence = false};

    (void)snprintf(m.open, sizeof(m.open), "<%.70s>", tag);
    (void)snprintf(m.close, sizeof(m.close), "</%.70s>", tag);
    return m;
}

static marks fence_marks(const char *tag)
{
    marks m = {.fence = true};

    (void)snprintf(m.open, sizeof(m.open), "```%.70s", tag);
    (void)snprintf(m.close, sizeof(m.close), "```");
    return m;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Without blank lines before and blanks after. Text on the opening mark's own line loses
 * its leading blanks too: "<python> print(1)</python>" is not an indented line. */
static wd_span trim(const char *from, const char *to)
{
    const char *start = from;
    const char *at = from;

    while (at < to && blank(*at)) {
        if (*at++ == '\n')
            start = at;
    }
    if (start == from)
        start = at;
    while (to > start && blank(to[-1]))
        to--;
    return (wd_span){(const uint8_t *)start, (size_t)(to - start)};
}

typedef struct block {
    const char *open; /* where its mark begins; NULL: there is none */
    const char *end;  /* behind its closing mark */
    wd_span code;
} block;

/* Looks for the blocks of one tag, front to back. Each of its searches begins where the
 * one before it ended, so that all of them together read the text once: however many
 * blocks a text holds, finding them takes time that grows with its length alone. */
typedef struct finder {
    marks m;
    const char *end;   /* of the text */
    const char *close; /* the last closing mark found; NULL: not looked for yet */
    block next; /* the first block at or after where it stands; open NULL: none */
} finder;

static const char *find_text(const finder *f, const char *from, const char *text)
{
    return memmem(from, (size_t)(f->end - from), text, strlen(text));
}

/* The first closing mark at or after `from`; NULL: there is none. */
static const char *find_close(finder *f, const char *from)
{
    if (f->close == NULL || f->close < from)
        f->close = find_text(f, from, f->m.close);
    return f->close;
}

/* Set f->next to the first block at or after `at`. */
static void find_block(finder *f, const char *at)
{
    f->next.open = NULL;
    for (const char *open = find_text(f, at, f->m.open); open != NULL;
         open = find_text(f, open + 1, f->m.open)) {
        const char *from = open + strlen(f->m.open);
        const char *to = find_close(f, from);
        if (to == NULL)
            return;
        if (!f->m.fence || blank(*from)) {
            f->next = (block){open, to + strlen(f->m.close), trim(from, to)};
            return;
        }
    }
}

/* The tags of a tool, in one of the two forms. */
typedef struct search {
    finder tags[WD_TOOL_TAGS];
    size_t n_tags;
} search;

static void search_begin(search *s, const wd_tool_config *tool, bool fence,
                         const char *action)
{
    const char *end = action + strlen(action);

    WD_ASSERT(tool->tags.n_items <= WD_TOOL_TAGS);
    s->n_tags = tool->tags.n_items;
    for (size_t i = 0; i < s->n_tags; i++) {
        const char *tag = tool->tags.items[i];
        s->tags[i].m = fence ? fence_marks(tag) : tag_marks(tag);
        s->tags[i].end = end;
        s->tags[i].close = NULL;
        find_block(&s->tags[i], action);
    }
}

/* The first block at or after `at`, of any tag. `at` never goes back. */
static block search_next(search *s, const char *at)
{
    block first = {NULL, NULL, {NULL, 0}};

    for (size_t i = 0; i < s->n_tags; i++) {
        finder *f = &s->tags[i];
        if (f->next.open != NULL && f->next.open < at)
            find_block(f, at);
        if (f->next.open != NULL && (first.open == NULL || f->next.open < first.open))
            first = f->next;
    }
    return first;
}

/* Copy every block of one form to `out`, if that is given; returns the bytes of all with
 * a newline after each, 0: no block. */
static size_t collect(const wd_tool_config *tool, bool fence, const char *action,
                      char *out)
{
    search s;
    size_t size = 0;

    search_begin(&s, tool, fence, action);
    for (block b = search_next(&s, action); b.open != NULL;
         b = search_next(&s, b.end)) {
        if (out != NULL && b.code.size > 0)
            memcpy(out + size, b.code.data, b.code.size);
        if (out != NULL)
            out[size + b.code.size] = '\n';
        size += b.code.size + 1;
    }
    return size;
}

/* Sets *ret only when there is a block. */
static wd_status take_blocks(const wd_tool_config *tool, const wd_routing_ask *ask,
                             wd_routed *ret)
{
    bool fence = collect(tool, false, ask->action, NULL) == 0;
    size_t size = collect(tool, fence, ask->action, NULL);

    if (size == 0)
        return WD_OK;
    char *code = wd_budget_take(ask->budget, size);
    if (code == NULL)
        return WD_RESOURCE_EXHAUSTED;
    (void)collect(tool, fence, ask->action, code);
    *ret = (wd_routed){tool, {(const uint8_t *)code, size}};
    return WD_OK;
}

static wd_status find_named(const wd_config *config, const wd_routing_ask *ask,
                            wd_routed *ret)
{
    const wd_tool_config *tool = wd_config_find_tool(config, ask->named);

    if (tool == NULL)
        return WD_NOT_FOUND;
    *ret = (wd_routed){tool, {(const uint8_t *)ask->action, strlen(ask->action)}};
    return WD_OK;
}

/* ret->tool stays NULL when no tool's tag is in the text. */
static wd_status find_by_tags(const wd_config *config, const wd_routing_ask *ask,
                              wd_routed *ret)
{
    for (size_t i = 0; i < config->n_tools && ret->tool == NULL; i++)
        WD_TRY(take_blocks(&config->tools[i], ask, ret));
    return ret->tool != NULL ? WD_OK : WD_NOT_FOUND;
}

/* "<python>, <py>": what a text may hold to be routed. */
static void list_tags(const wd_config *config, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < config->n_tools; i++) {
        const wd_text_list *tags = &config->tools[i].tags;
        for (size_t k = 0; k < tags->n_items && at < size; k++)
            at += (size_t)snprintf(out + at, size - at, "%s<%.40s>", at > 0 ? ", " : "",
                                   tags->items[k]);
    }
}

/* Why no tool was found. */
static wd_status refuse(const wd_config *config, const char *named, wd_error *err)
{
    char tags[256];

    if (named[0] != '\0')
        return wd_refuse(err, WD_REASON_TOOL_UNKNOWN, "no tool is called \"%.64s\"",
                         named);
    list_tags(config, tags, sizeof(tags));
    return wd_refuse(err, WD_REASON_TOOL_UNKNOWN,
                     "the action names no tool and holds no block that one of them "
                     "takes; put the code between %s and its end tag, or in a fence of "
                     "that name",
                     tags[0] != '\0' ? tags : "(no tool has tags: name the tool)");
}

wd_status wd_routing_find(const wd_config *config, const wd_routing_ask *ask,
                          wd_routed *ret, wd_error *err)
{
    *ret = (wd_routed){NULL, {NULL, 0}};
    wd_status status = ask->named[0] != '\0' ? find_named(config, ask, ret)
                                             : find_by_tags(config, ask, ret);
    if (status == WD_NOT_FOUND)
        return refuse(config, ask->named, err);
    if (status != WD_OK)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for an action's code");
    return WD_OK;
}
