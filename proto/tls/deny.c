#include "proto/tls/deny.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct deny_row {
    bool serial; /* else a prefix of the URI */
    char *text;
} deny_row;

struct wd_deny_list {
    deny_row *rows;
    size_t n_rows;
};

void wd_deny_list_free(wd_deny_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n_rows; i++)
        free(list->rows[i].text);
    free(list->rows);
    free(list);
}

/* Lower case, without leading zeros, ':' and spaces: as wd_identity has it. */
static void normalise_serial(char *text)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++)
        if (isxdigit((unsigned char)*in))
            *out++ = (char)tolower((unsigned char)*in);
    *out = '\0';
    if (strlen(text) % 2 == 1) {
        memmove(text + 1, text, strlen(text) + 1); /* room: see take_row */
        text[0] = '0';
    }
    while (strncmp(text, "00", 2) == 0 && text[2] != '\0')
        memmove(text, text + 2, strlen(text + 2) + 1);
}

static wd_status add_row(wd_deny_list *list, bool serial, const char *text,
                         wd_error *err)
{
    size_t room = strlen(text) + 2;
    deny_row *rows = reallocarray(list->rows, list->n_rows + 1, sizeof *rows);
    char *copy = calloc(1, room);

    if (rows != NULL)
        list->rows = rows;
    if (rows == NULL || copy == NULL) {
        free(copy);
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the deny list");
    }
    memcpy(copy, text, room - 2);
    if (serial)
        normalise_serial(copy);
    rows[list->n_rows++] = (deny_row){serial, copy};
    return WD_OK;
}

static bool serial_ok(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789abcdefABCDEF:") == strlen(text) &&
           strspn(text, ":") != strlen(text);
}

/* One line without its comment and outer blanks. */
static wd_status take_row(wd_deny_list *list, char *line, unsigned number,
                          wd_error *err)
{
    size_t size;

    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    size = strlen(line);
    while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
        line[--size] = '\0';
    if (size == 0)
        return WD_OK;
    if (strncmp(line, "spiffe://", 9) == 0 && line[9] != '\0')
        return add_row(list, false, line, err);
    if (strncmp(line, "serial ", 7) == 0) {
        line += 7;
        line += strspn(line, " \t");
        if (serial_ok(line))
            return add_row(list, true, line, err);
    }
    return wd_fail(err, WD_INVALID_ARGUMENT,
                   "deny list, line %u: neither `serial <hex>` nor `spiffe://...`",
                   number);
}

wd_status wd_deny_list_parse(const char *text, wd_deny_list **ret, wd_error *err)
{
    WD_AUTO(wd_deny_list) *list = calloc(1, sizeof *list);
    WD_AUTO(wd_text) *copy = strdup(text != NULL ? text : "");
    char *rest = copy, *line;

    if (list == NULL || copy == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the deny list");
    for (unsigned number = 1; (line = strsep(&rest, "\n")) != NULL; number++)
        WD_TRY(take_row(list, line, number, err));
    *ret = WD_STEAL(list);
    return WD_OK;
}

/* Whole segments: the prefix ends at a '/' of its own, or the URI does there. */
static bool prefix_matches(const char *prefix, const char *uri)
{
    size_t size = strlen(prefix);

    if (strncmp(uri, prefix, size) != 0)
        return false;
    return prefix[size - 1] == '/' || uri[size] == '/' || uri[size] == '\0';
}

bool wd_deny_list_has(const wd_deny_list *list, const wd_identity *peer)
{
    for (size_t i = 0; i < list->n_rows; i++) {
        const deny_row *row = &list->rows[i];
        if (row->serial ? strcmp(row->text, peer->serial) == 0
                        : prefix_matches(row->text, peer->uri))
            return true;
    }
    return false;
}
