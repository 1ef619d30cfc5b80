#include "proto/tls/deny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 2048 };

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

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Its hexadecimal digits in lower case, without the zeros that lead them. */
static void normalise_serial(char *text)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++) {
        char c = (char)(*in | 0x20); /* lower case; digits have the bit already */
        if (is_hex(c) && (c != '0' || out != text))
            *out++ = c;
    }
    *out = '\0';
}

static wd_status add_row(wd_deny_list *list, bool serial, const char *text,
                         wd_error *err)
{
    deny_row *rows = reallocarray(list->rows, list->n_rows + 1, sizeof *rows);

    if (rows == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the deny list");
    list->rows = rows;
    rows[list->n_rows] = (deny_row){serial, strdup(text)};
    if (rows[list->n_rows].text == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the deny list");
    if (serial)
        normalise_serial(rows[list->n_rows].text);
    list->n_rows++;
    return WD_OK;
}

/* A positive number of at most 20 bytes, as certificates have: else no peer has it. */
static bool serial_ok(const char *text)
{
    size_t digits = 0;

    for (const char *at = text; *at != '\0'; at++)
        if (*at != ':' && (digits > 0 || *at != '0'))
            digits++;
    return strspn(text, "0123456789abcdefABCDEF:") == strlen(text) && digits > 0 &&
           digits < WD_SERIAL_CHARS;
}

/* Whether some SPIFFE id of ours begins so, in whole segments: else no peer does. */
static bool prefix_ok(const char *text)
{
    static const char *const rests[] = {"",
                                        "/ns/x/owner/x/gate/x",
                                        "/x/owner/x/gate/x",
                                        "/owner/x/gate/x",
                                        "/x/gate/x",
                                        "/gate/x",
                                        "/x"};
    size_t size = strlen(text);
    bool open = text[size - 1] == '/'; /* something must follow */

    size -= open ? 1 : 0;
    for (size_t i = open ? 1 : 0; i < sizeof rests / sizeof rests[0]; i++) {
        char whole[LINE_BYTES + 32];
        wd_spiffe unused;
        wd_error why;
        int n = snprintf(whole, sizeof whole, "%.*s%s", (int)size, text, rests[i]);
        if (wd_spiffe_parse(whole, (size_t)n, &unused, &why) == WD_OK)
            return true;
    }
    return false;
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
    if (strncmp(line, "spiffe://", 9) == 0 && prefix_ok(line))
        return add_row(list, false, line, err);
    if (strncmp(line, "serial ", 7) == 0) {
        line += 7;
        line += strspn(line, " \t");
        if (serial_ok(line))
            return add_row(list, true, line, err);
    }
    return wd_fail(
        err, WD_INVALID_ARGUMENT,
        "deny list, line %u: it would deny nobody: write `serial HEX`, a "
        "certificate's number of 1 to 40 digits, or whole segments, in lower "
        "case, that a SPIFFE id begins with: "
        "spiffe://DOMAIN/ns/NS/owner/OWNER/client/NAME",
        number);
}

/* Every line of `text` into the list. */
static wd_status take_lines(wd_deny_list *list, const char *text, wd_error *err)
{
    char line[LINE_BYTES];

    for (unsigned number = 1; *text != '\0'; number++) {
        size_t size = strcspn(text, "\n");
        if (size >= sizeof line)
            return wd_fail(err, WD_INVALID_ARGUMENT,
                           "deny list, line %u: longer than %d bytes", number,
                           LINE_BYTES - 1);
        memcpy(line, text, size);
        line[size] = '\0';
        WD_TRY(take_row(list, line, number, err));
        text += size + (text[size] == '\n' ? 1 : 0);
    }
    return WD_OK;
}

wd_status wd_deny_list_parse(const char *text, wd_deny_list **ret, wd_error *err)
{
    wd_deny_list *list = calloc(1, sizeof *list);
    wd_status status;

    if (list == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the deny list");
    status = take_lines(list, text != NULL ? text : "", err);
    if (status == WD_OK)
        *ret = list;
    else
        wd_deny_list_free(list);
    return status;
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
    const char *serial = peer->serial + strspn(peer->serial, "0");

    for (size_t i = 0; i < list->n_rows; i++) {
        const deny_row *row = &list->rows[i];
        if (row->serial ? strcmp(row->text, serial) == 0
                        : prefix_matches(row->text, peer->uri))
            return true;
    }
    return false;
}
