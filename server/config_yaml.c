#include "server/config_yaml.h"

#include "server/config_keys.h"
#include "server/config_scan.h"
#include "server/config_schema.h"

#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES (1U << 20)
#define PATH_STEPS 8

/* What libcyaml says of a failure: a first line, then a backtrace from the inside out. */
typedef struct problem {
    char what[256];
    size_t line;
    size_t n_steps;
    char steps[PATH_STEPS][64];
} problem;

struct wd_yaml {
    const char *text;
    size_t size;
    wd_schema schema;
    wd_cell *root; /* a cell a key; NULL: an empty file */
    char **made;   /* every block libcyaml asked for, in order */
    size_t n_made;
    size_t refuse_at; /* index of the block that is not given; SIZE_MAX: none */
};

/* --- what libcyaml tells ------------------------------------------------------------ */

/* The text between two marks of a backtrace's line; "" when they are not there. */
static void cut_out(const char *text, const char *from, char until, char *out,
                    size_t size)
{
    const char *start = strstr(text, from);
    out[0] = '\0';
    if (start == NULL)
        return;
    start += strlen(from);
    const char *end = strchr(start, until);
    if (end != NULL && (size_t)(end - start) < size)
        (void)snprintf(out, size, "%.*s", (int)(end - start), start);
}

/* "  in mapping field 'NAME' (line: N, column: N)", "  in sequence entry 'N' (...",
 * "  in mapping (...". A list's entries are counted from 1 there, from 0 here. */
static void keep_step(problem *p, const char *text)
{
    char number[24];
    char entry[24];
    if (p->n_steps == PATH_STEPS)
        return;
    char *step = p->steps[p->n_steps];
    cut_out(text, "field '", '\'', step, sizeof(p->steps[0]));
    cut_out(text, "entry '", '\'', entry, sizeof(entry));
    cut_out(text, "(line: ", ',', number, sizeof(number));
    unsigned long count = strtoul(entry, NULL, 10);
    if (entry[0] != '\0')
        (void)snprintf(step, sizeof(p->steps[0]), "[%lu]", count > 0 ? count - 1 : 0);
    if (*step != '\0')
        p->n_steps++;
    if (p->line == 0)
        p->line = strtoul(number, NULL, 10);
}

__attribute__((format(printf, 3, 0))) static void on_log(cyaml_log_t level, void *ctx,
                                                         const char *fmt, va_list args)
{
    problem *p = ctx;
    char text[512];
    (void)vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\n")] = '\0';
    if (level != CYAML_LOG_ERROR)
        return;
    if (strncmp(text, "Load: ", 6) != 0)
        keep_step(p, text);
    else if (p->what[0] == '\0' && strstr(text, "Backtrace") == NULL)
        (void)snprintf(p->what, sizeof(p->what), "%.250s", text + 6);
}

static void *on_memory(void *ctx, void *block, size_t size)
{
    wd_yaml *y = ctx;
    if (size == 0 || block != NULL)
        return cyaml_mem(NULL, block, size);
    char **made = reallocarray(y->made, y->n_made + 1, sizeof(char *));
    if (made == NULL)
        return NULL;
    y->made = made;
    if (y->n_made == y->refuse_at)
        return NULL;
    return made[y->n_made++] = cyaml_mem(NULL, NULL, size);
}

static cyaml_err_t run(wd_yaml *y, problem *p, cyaml_data_t **ret_data)
{
    cyaml_config_t config = {.log_fn = on_log,
                             .log_ctx = p,
                             .mem_fn = on_memory,
                             .mem_ctx = y,
                             .log_level = CYAML_LOG_ERROR,
                             .flags = CYAML_CFG_NO_ALIAS};
    return cyaml_load_data((const uint8_t *)y->text, y->size, &config, &y->schema.top,
                           ret_data, NULL);
}

static bool is_direct(const char *name, const char *prefix, const char **ret_rest)
{
    size_t n = strlen(prefix);
    *ret_rest = name + n;
    return strncmp(name, prefix, n) == 0;
}

/* --- failures, for people ----------------------------------------------------------- */

static void format_path(const problem *p, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = p->n_steps; i-- > 0 && used < size;) {
        const char *dot = used > 0 && p->steps[i][0] != '[' ? "." : "";
        used += (size_t)snprintf(out + used, size - used, "%s%s", dot, p->steps[i]);
    }
}

/* "in_flight, frame_bytes, ..." of the keys under `path`, with [N] read as []. */
static void list_keys(const char *path, char *out, size_t size)
{
    char prefix[128];
    size_t n = 0;
    for (; *path != '\0' && n + 3 < sizeof(prefix); path++)
        if (*path < '0' || *path > '9' || n == 0 || prefix[n - 1] != '[')
            prefix[n++] = *path;
    if (n > 0)
        prefix[n++] = '.';
    prefix[n] = '\0';
    size_t n_keys = 0;
    size_t used = 0;
    const wd_key *keys = wd_config_keys(&n_keys);
    const char *before = "";
    for (size_t i = 0; i < n_keys && used < size; i++) {
        const char *rest = NULL;
        if (!is_direct(keys[i].name, prefix, &rest))
            continue;
        size_t length = strcspn(rest, ".[");
        if (strncmp(before, rest, length) == 0 && strcspn(before, ".[") == length)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                 used > 0 ? ", " : "", (int)length, rest);
        before = rest;
    }
}

/* libcyaml gives an unknown key the line of its mapping, a repeated one that of its
 * first value: the first line from there on that has "NAME:" is the one to look at. */
static size_t find_key(const wd_yaml *y, const char *name, size_t line)
{
    const char *end = y->text + y->size;
    const char *at = y->text;
    for (size_t n = 1; at != NULL && at < end; n++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        const char *found = n < line ? NULL : memmem(at, length, name, strlen(name));
        if (found != NULL && memchr(found, ':', (size_t)(at + length - found)) != NULL)
            return n;
        at = stop != NULL ? stop + 1 : NULL;
    }
    return 0;
}

static wd_status refuse_key(const wd_yaml *y, const problem *p, wd_error *err)
{
    char path[128];
    char keys[256] = "";
    const char *space = strrchr(p->what, ' ');
    const char *name = space != NULL ? space + 1 : "?";
    size_t line = find_key(y, name, p->line);
    format_path(p, path, sizeof(path));
    list_keys(path, keys, sizeof(keys));
    return wd_fail(err, WD_INVALID_ARGUMENT, "%zu: %s%s%.60s: unknown key; allowed: %s",
                   line > 0 ? line : p->line, path, path[0] != '\0' ? "." : "", name,
                   keys);
}

static wd_status refuse(const wd_yaml *y, const problem *p, cyaml_err_t code,
                        wd_error *err)
{
    if (code == CYAML_ERR_INVALID_KEY)
        return refuse_key(y, p, err);
    char path[128];
    size_t line = p->line;
    const char *what = p->what[0] != '\0' ? p->what : cyaml_strerror(code);
    format_path(p, path, sizeof(path));
    if (strstr(what, "Expecting MAPPING") != NULL)
        what = "a mapping (KEY: VALUE) belongs here";
    if (strstr(what, "Expecting SEQUENCE") != NULL)
        what = "a list ([A, B] or lines of - A) belongs here";
    if (strstr(what, "Expecting STRING") != NULL)
        what = "a single value belongs here";
    if (strstr(what, "Insufficient entries") != NULL)
        what = "an empty list; leave the key out for its default";
    if (strstr(what, "already seen") != NULL) {
        size_t later = find_key(y, p->steps[0], line + 1);
        line = later > 0 ? later : line;
        what = "this key stands here a second time";
    }
    return wd_fail(err, WD_INVALID_ARGUMENT, "%zu: %s: %s", line > 0 ? line : 1,
                   path[0] != '\0' ? path : "file", what);
}

/* --- the door ----------------------------------------------------------------------- */

static wd_yaml *yaml_new(const char *text, size_t size)
{
    wd_yaml *y = calloc(1, sizeof(*y));
    WD_ASSERT(y != NULL);
    y->text = text;
    y->size = size;
    y->refuse_at = SIZE_MAX;
    wd_schema_init(&y->schema);
    return y;
}

wd_status wd_yaml_load(const char *text, size_t size, wd_yaml **ret_yaml, wd_error *err)
{
    if (size > FILE_BYTES)
        return wd_fail(err, WD_INVALID_ARGUMENT, "1: file: larger than %u bytes",
                       FILE_BYTES);
    WD_TRY(wd_config_scan(text, size, err));
    WD_AUTO(wd_yaml) *y = yaml_new(text, size);
    problem p = {0};
    cyaml_data_t *data = NULL;
    cyaml_err_t code = run(y, &p, &data);
    if (code != CYAML_OK)
        return refuse(y, &p, code, err);
    y->root = data;
    *ret_yaml = WD_STEAL(y);
    return WD_OK;
}

void wd_yaml_free(wd_yaml *yaml)
{
    if (yaml == NULL)
        return;
    cyaml_config_t config = {.mem_fn = on_memory, .mem_ctx = yaml};
    if (yaml->root != NULL)
        (void)cyaml_free(&config, &yaml->schema.top, yaml->root, 0);
    wd_schema_done(&yaml->schema);
    free(yaml->made);
    free(yaml);
}

static const wd_cell *cell_or_empty(const wd_cell *cells, size_t key)
{
    static const wd_cell empty = {0};
    return cells != NULL ? &cells[key] : &empty;
}

const wd_cell *wd_yaml_cell(const wd_yaml *yaml, size_t key)
{
    return cell_or_empty(yaml->root, key);
}

/* The list's cell is that of the first tools[] key (group_field). */
static const wd_cell *tools_cell(const wd_yaml *yaml)
{
    size_t n_keys = 0;
    size_t first = 0;
    const wd_key *keys = wd_config_keys(&n_keys);
    while (strncmp(keys[first].name, WD_KEY_TOOLS, strlen(WD_KEY_TOOLS)) != 0)
        first++;
    return wd_yaml_cell(yaml, first);
}

int wd_yaml_has_tools(const wd_yaml *yaml)
{
    return tools_cell(yaml)->items != NULL;
}

size_t wd_yaml_tools(const wd_yaml *yaml)
{
    return tools_cell(yaml)->n_items;
}

const wd_cell *wd_yaml_tool_cell(const wd_yaml *yaml, size_t tool, size_t key)
{
    /* What libcyaml put there is no list of texts. */
    const void *tools_data = tools_cell(yaml)->items;
    const wd_cell *tools = tools_data;
    return &tools[tool * yaml->schema.n_keys + key];
}

/* Load again and refuse the memory that held `value`: libcyaml then tells where. */
size_t wd_yaml_line(const wd_yaml *yaml, const char *value)
{
    WD_AUTO(wd_yaml) *again = yaml_new(yaml->text, yaml->size);
    for (size_t i = 0; i < yaml->n_made; i++)
        if (yaml->made[i] == value)
            again->refuse_at = i;
    problem p = {0};
    cyaml_data_t *data = NULL;
    if (again->refuse_at != SIZE_MAX && run(again, &p, &data) == CYAML_OK)
        again->root = data;
    return p.line;
}
