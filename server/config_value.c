#include "server/config_value.h"

#include "proto/c/utf8.h"
#include "server/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void *member(const wd_key *key, void *object)
{
    return (char *)object + key->offset;
}

static wd_status not_allowed(const wd_key *key, const char *text, wd_error *err)
{
    char allowed[160];
    wd_key_describe(key, allowed, sizeof(allowed));
    return wd_fail(err, WD_INVALID_ARGUMENT, "%s: \"%.80s\" is not allowed: %s",
                   key->name, text, allowed);
}

static wd_status set_uint(const wd_key *key, const char *text, uint64_t *ret_value,
                          wd_error *err)
{
    if (strspn(text, "0123456789") != strlen(text) || *text == '\0')
        return not_allowed(key, text, err);
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno != 0 || value < key->min || value > key->max)
        return not_allowed(key, text, err);
    *ret_value = value;
    return WD_OK;
}

static wd_status set_bool(const wd_key *key, const char *text, bool *ret_value,
                          wd_error *err)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return not_allowed(key, text, err);
    *ret_value = yes;
    return WD_OK;
}

/* Our enums are unsigned ints that count from 0, as `choices` does. */
static wd_status set_enum(const wd_key *key, const char *text, unsigned *ret_value,
                          wd_error *err)
{
    unsigned index = 0;
    for (const char *at = key->choices; *at != '\0'; index++) {
        size_t length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(at, text, length) == 0) {
            *ret_value = index;
            return WD_OK;
        }
        at += length + (at[length] == '|');
    }
    return not_allowed(key, text, err);
}

static bool is_printable(const char *text)
{
    return wd_utf8_printable((wd_span){(const uint8_t *)text, strlen(text)}, NULL);
}

static wd_status set_text(const wd_key *key, const char *text, const char *folder,
                          char **ret_value, wd_error *err)
{
    size_t length = strlen(text);
    if (length < key->min || length > key->max || !is_printable(text))
        return not_allowed(key, text, err);
    bool relative = key->type == WD_KEY_PATH && length > 0 && text[0] != '/';
    *ret_value = relative ? wd_path_join(folder, text) : strdup(text);
    return *ret_value != NULL ? WD_OK : wd_fail(err, WD_INTERNAL, "out of memory");
}

static void clear_texts(wd_text_list *list)
{
    for (size_t i = 0; i < list->n_items; i++)
        free(list->items[i]);
    free(list->items);
    *list = (wd_text_list){0};
}

static wd_status set_texts(const wd_key *key, const wd_cell *cell,
                           wd_text_list *ret_list, const char **ret_culprit,
                           wd_error *err)
{
    ret_list->items = calloc((size_t)cell->n_items + 1, sizeof(char *));
    if (ret_list->items == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    for (size_t i = 0; i < cell->n_items; i++) {
        const char *text = cell->items[i];
        *ret_culprit = text;
        if (i >= key->max || *text == '\0' || !is_printable(text))
            return not_allowed(key, text, err);
        char *copy = strdup(text);
        if (copy == NULL)
            return wd_fail(err, WD_INTERNAL, "out of memory");
        ret_list->items[ret_list->n_items++] = copy;
    }
    return WD_OK;
}

static wd_status set_default_texts(const wd_key *key, wd_text_list *ret_list,
                                   wd_error *err)
{
    const char *culprit = NULL;
    char *items[64];
    wd_cell cell = {.items = items};
    WD_AUTO(wd_text) *words = strdup(key->default_text);
    char *rest = words;
    for (char *word = NULL; (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0' && cell.n_items < 64)
            items[cell.n_items++] = word;
    return set_texts(key, &cell, ret_list, &culprit, err);
}

static wd_status set_scalar(const wd_key *key, const char *text, const char *folder,
                            void *at, wd_error *err)
{
    switch (key->type) {
    case WD_KEY_UINT:
        return set_uint(key, text, at, err);
    case WD_KEY_BOOL:
        return set_bool(key, text, at, err);
    case WD_KEY_ENUM:
        return set_enum(key, text, at, err);
    case WD_KEY_TEXT:
    case WD_KEY_PATH:
        return set_text(key, text, folder, at, err);
    case WD_KEY_TEXTS:
        break;
    }
    return wd_fail(err, WD_INTERNAL, "%s: not a scalar", key->name);
}

wd_status wd_value_set(const wd_key *key, const wd_written *written, void *object,
                       const char **ret_culprit, wd_error *err)
{
    void *at = member(key, object);
    const wd_cell *cell = written->cell;
    wd_value_clear(key, object);
    if (key->type == WD_KEY_TEXTS && cell->items != NULL)
        return set_texts(key, cell, at, ret_culprit, err);
    if (key->type == WD_KEY_TEXTS)
        return set_default_texts(key, at, err);
    *ret_culprit = cell->text;
    if (cell->text != NULL)
        return set_scalar(key, cell->text, written->folder, at, err);
    if (key->default_text[0] == '\0' && key->type == WD_KEY_UINT)
        return WD_OK; /* a tool's limit: 0 until the defaults are known */
    if (key->default_text[0] == '\0' && key->min > 0)
        return wd_fail(err, WD_INVALID_ARGUMENT, "%s: missing; it has no default",
                       key->name);
    return set_scalar(key, key->default_text, written->folder, at, err);
}

void wd_value_clear(const wd_key *key, void *object)
{
    switch (key->type) {
    case WD_KEY_TEXT:
    case WD_KEY_PATH: {
        char **text = member(key, object);
        free(*text);
        *text = NULL;
        return;
    }
    case WD_KEY_TEXTS:
        clear_texts(member(key, object));
        return;
    case WD_KEY_UINT:
    case WD_KEY_BOOL:
    case WD_KEY_ENUM:
        return;
    }
}
