#include "server/config_sample.h"

#include "server/config_keys.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Groups and tools that the file opens; all others stand as comments. */
static const char *const open_groups[] = {"listen", "tools[]"};

static const char *value_of(const wd_key *key, const wd_sample *sample)
{
    if (strcmp(key->name, "user") == 0)
        return sample->user;
    if (strcmp(key->name, "listen.url") == 0)
        return sample->listen_url;
    if (strcmp(key->name, "tools[].name") == 0)
        return "python_code";
    if (strcmp(key->name, "tools[].kind") == 0)
        return key->default_text;
    return NULL;
}

static bool is_open(const char *group, size_t length)
{
    for (size_t i = 0; i < sizeof(open_groups) / sizeof(open_groups[0]); i++)
        if (strlen(open_groups[i]) == length &&
            strncmp(open_groups[i], group, length) == 0)
            return true;
    return false;
}

/* "limits:" before the first of its keys; of a list, "tools:". */
static void write_groups(FILE *out, const char *before, const char *name)
{
    int depth = 0;
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        size_t length = (size_t)(dot - name);
        size_t start = length;
        while (start > 0 && name[start - 1] != '.')
            start--;
        bool list = name[length - 1] == ']';
        if (strncmp(before, name, length + 1) != 0)
            (void)fprintf(out, "%s%s%*s%.*s:\n", depth == 0 ? "\n" : "",
                          is_open(name, length) ? "" : "#", depth * 2, "",
                          (int)(length - start - (list ? 2 : 0)), name + start);
        depth += list ? 2 : 1;
    }
}

static void write_bounds(FILE *out, const wd_key *key)
{
    if (key->type == WD_KEY_UINT)
        (void)fprintf(out, " (%s, %" PRIu64 " to %" PRIu64 ")", key->unit, key->min,
                      key->max);
    if (key->type == WD_KEY_ENUM)
        (void)fprintf(out, " (%s)", key->choices);
}

static void write_default(FILE *out, const wd_key *key)
{
    if (key->type != WD_KEY_TEXTS) {
        (void)fprintf(out, "%s",
                      key->default_text[0] != '\0' ? key->default_text : "...");
        return;
    }
    (void)fputc('[', out);
    for (const char *c = key->default_text; *c != '\0'; c++)
        (void)(*c == ' ' ? fputs(", ", out) : fputc(*c, out));
    (void)fputc(']', out);
}

static void write_key(FILE *out, const wd_key *key, const wd_sample *sample)
{
    const char *leaf = strrchr(key->name, '.');
    const char *value = value_of(key, sample);
    int indent = 0;
    for (const char *c = key->name; *c != '\0'; c++)
        indent += *c == '.' ? 2 : 0;
    bool in_list = strstr(key->name, "[].") != NULL;
    bool first = strcmp(key->name, WD_KEY_TOOLS "name") == 0;
    if (in_list)
        indent += 2;
    (void)fprintf(out, "%*s# %s", first ? indent - 2 : indent, "", key->help);
    write_bounds(out, key);
    (void)fprintf(out, "\n%s%*s%s%s: ", value == NULL ? "#" : "",
                  first ? indent - 2 : indent, "", first ? "- " : "",
                  leaf != NULL ? leaf + 1 : key->name);
    if (value != NULL)
        (void)fprintf(out, "%s", value);
    else
        write_default(out, key);
    (void)fputc('\n', out);
}

void wd_config_sample_write(FILE *out, const wd_sample *sample)
{
    size_t n = 0;
    const char *before = "";
    const wd_key *keys = wd_config_keys(&n);
    (void)fprintf(out,
                  "# Warded's settings. What stands as a comment has the value "
                  "shown, the default;\n# [...] in an explanation is a default too. "
                  "'warded check' checks this file.\n# To set one, take the # from its "
                  "line and from that of its group: '#sandbox:' too.\n");
    for (size_t i = 0; i < n; i++) {
        write_groups(out, before, keys[i].name);
        write_key(out, &keys[i], sample);
        before = keys[i].name;
    }
}
