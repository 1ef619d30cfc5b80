#include "server/config_scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MOST 8 /* tools: - limits: KEY: four */
#define KEY_BYTES  64
#define BOM        "\xef\xbb\xbf"

/* A mapping or a list that has begun. */
typedef struct level {
    bool mapping;
    bool key_next;
    size_t entry;        /* of a list: its next entry */
    char key[KEY_BYTES]; /* of a mapping: its last */
} level;

typedef struct scan {
    level levels[DEPTH_MOST];
    size_t depth;
    size_t documents;
    wd_error *err;
} scan;

static void format_path(const scan *s, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < s->depth && used < size; i++) {
        const level *l = &s->levels[i];
        if (!l->mapping)
            used += (size_t)snprintf(out + used, size - used, "[%zu]", l->entry);
        else if (l->key[0] != '\0')
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used > 0 ? "." : "", l->key);
    }
}

static wd_status refuse(const scan *s, size_t line, const char *why)
{
    char path[DEPTH_MOST * KEY_BYTES];
    format_path(s, path, sizeof(path));
    return wd_fail(s->err, WD_INVALID_ARGUMENT, "%zu: %.200s: %s", line,
                   path[0] != '\0' ? path : "file", why);
}

static level *top(scan *s)
{
    return s->depth > 0 ? &s->levels[s->depth - 1] : NULL;
}

static bool is_key(scan *s)
{
    const level *l = top(s);
    return l != NULL && l->mapping && l->key_next;
}

/* A whole node has ended: what comes next where it stood? */
static void step(scan *s)
{
    level *l = top(s);
    if (l == NULL)
        return;
    if (l->mapping)
        l->key_next = !l->key_next;
    else
        l->entry++;
}

static wd_status take_key(scan *s, const char *text, size_t length, size_t line)
{
    level *l = top(s);
    l->key[0] = '\0';
    if (length == 0)
        return refuse(s, line, "an empty key");
    if (length == 2 && memcmp(text, "<<", 2) == 0)
        return refuse(s, line,
                      "merge keys (<<) are not allowed: write the settings out");
    (void)snprintf(l->key, sizeof(l->key), "%.*s", (int)length, text);
    if (length >= sizeof(l->key))
        return refuse(s, line, "unknown key: longer than any that is allowed");
    return WD_OK;
}

/* What stands before a node: an anchor, a tag. */
static wd_status check_marks(const scan *s, const void *anchor, const void *tag,
                             size_t line)
{
    if (anchor != NULL)
        return refuse(s, line,
                      "anchors (&name) are not allowed: write each value out; quote a "
                      "text that begins with &");
    if (tag != NULL)
        return refuse(s, line,
                      "tags (!name) are not allowed: remove it; quote a text that "
                      "begins with !");
    return WD_OK;
}

static wd_status take_scalar(scan *s, const yaml_event_t *event, size_t line)
{
    const void *value = event->data.scalar.value;
    size_t length = event->data.scalar.length;
    WD_TRY(check_marks(s, event->data.scalar.anchor, event->data.scalar.tag, line));
    if (memchr(value, '\0', length) != NULL)
        return refuse(s, line, "a NUL in a text");
    if (is_key(s))
        WD_TRY(take_key(s, value, length, line));
    if (length > WD_CONFIG_VALUE_BYTES)
        return refuse(s, line, "a text of more than 4096 bytes");
    step(s);
    return WD_OK;
}

static wd_status begin(scan *s, bool mapping, size_t line)
{
    if (is_key(s)) {
        top(s)->key[0] = '\0';
        return refuse(
            s, line,
            "a key is a plain word, no list and no mapping; quote a text that "
            "begins with [, { or ?");
    }
    if (s->depth == DEPTH_MOST)
        return refuse(s, line, "nested deeper than any setting");
    s->levels[s->depth++] = (level){.mapping = mapping, .key_next = mapping};
    return WD_OK;
}

static void end(scan *s)
{
    s->depth--;
    step(s);
}

static wd_status take(scan *s, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return s->documents++ == 0
                   ? WD_OK
                   : refuse(s, line,
                            "more than one document; remove what follows \"---\"");
    case YAML_ALIAS_EVENT:
        return refuse(s, line,
                      "aliases (*name) are not allowed: write the value out; quote a "
                      "text that begins with *");
    case YAML_SCALAR_EVENT:
        return take_scalar(s, event, line);
    case YAML_SEQUENCE_START_EVENT:
        WD_TRY(check_marks(s, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag, line));
        return begin(s, false, line);
    case YAML_MAPPING_START_EVENT:
        WD_TRY(check_marks(s, event->data.mapping_start.anchor,
                           event->data.mapping_start.tag, line));
        return begin(s, true, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        end(s);
        return WD_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return WD_OK;
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* What can't be read at all has an offset; what can't be parsed has a line. */
static wd_status refuse_syntax(const scan *s, const yaml_parser_t *parser,
                               const char *text, size_t size)
{
    char why[160];
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_MEMORY_ERROR)
        return wd_fail(s->err, WD_RESOURCE_EXHAUSTED, "no memory to read the settings");
    if (parser->error == YAML_READER_ERROR)
        line = count_lines(text, parser->problem_offset < size ? parser->problem_offset
                                                               : size);
    (void)snprintf(why, sizeof(why), "this is no YAML: %.120s",
                   parser->problem != NULL ? parser->problem : "unreadable");
    return refuse(s, line, why);
}

static wd_status walk(scan *s, yaml_parser_t *parser, const char *text, size_t size)
{
    for (bool more = true; more;) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0)
            return refuse_syntax(s, parser, text, size);
        more = event.type != YAML_STREAM_END_EVENT;
        wd_status status = take(s, &event);
        yaml_event_delete(&event);
        WD_TRY(status);
    }
    return WD_OK;
}

wd_status wd_config_scan(const char *text, size_t size, wd_error *err)
{
    scan s = {.err = err};
    yaml_parser_t parser;
    if (size >= sizeof(BOM) - 1 && memcmp(text, BOM, sizeof(BOM) - 1) == 0) {
        text += sizeof(BOM) - 1;
        size -= sizeof(BOM) - 1;
    }
    if (yaml_parser_initialize(&parser) == 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory to read the settings");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    wd_status status = walk(&s, &parser, text, size);
    yaml_parser_delete(&parser);
    return status;
}
