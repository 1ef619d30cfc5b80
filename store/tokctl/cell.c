#include "store/tokctl/cell.h"

#include <stdlib.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "store/tokctl/times.h"

/* --- text ------------------------------------------------------------------------- */

json_t *wd_output_text(const char *text)
{
    const char *plain = text != NULL ? text : "";
    json_t *string = json_string(plain);
    if (string != NULL)
        return string;
    WD_AUTO_BUFFER mended = WD_BUFFER_INIT;
    if (!wd_utf8_append_lossy(&mended,
                              (wd_span){(const uint8_t *)plain, strlen(plain)}))
        return NULL;
    return json_stringn((const char *)mended.data, mended.size);
}

/* Code point of the two- or three-byte sequence at `text`, 0 for any other. */
static unsigned code_point(const unsigned char *text)
{
    if ((text[0] & 0xe0) == 0xc0 && text[1] != 0)
        return (text[0] & 0x1fU) << 6 | (text[1] & 0x3fU);
    if ((text[0] & 0xf0) == 0xe0 && text[1] != 0 && text[2] != 0)
        return (text[0] & 0x0fU) << 12 | (text[1] & 0x3fU) << 6 | (text[2] & 0x3fU);
    return 0;
}

static bool is_unsafe(unsigned point)
{
    return (point >= 0x80 && point < 0xa0) || point == 0x061c ||
           (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

static void escape_control(FILE *out, unsigned char c)
{
    if (c == '\n')
        (void)fputs("\\n", out);
    else if (c == '\t')
        (void)fputs("\\t", out);
    else
        (void)fprintf(out, "\\x%02x", c);
}

/* Writes what stands at `text`; how many bytes that was. */
static size_t escape_next(FILE *out, const unsigned char *text)
{
    unsigned point = code_point(text);
    if (text[0] < 0x20 || text[0] == 0x7f) {
        escape_control(out, text[0]);
        return 1;
    }
    if (point != 0 && is_unsafe(point)) {
        (void)fprintf(out, "\\u%04x", point);
        return point < 0x800 ? 2 : 3;
    }
    (void)fputc(text[0], out);
    return 1;
}

char *wd_output_escape(const char *text)
{
    char *escaped = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&escaped, &size);
    if (out == NULL)
        return NULL;
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0')
        at += escape_next(out, at);
    if (fclose(out) != 0) {
        free(escaped);
        return NULL;
    }
    return escaped;
}

/* --- values ------------------------------------------------------------------------ */

const json_t *wd_cell_member(const json_t *record, const char *path)
{
    const char *dot = strchr(path, '.');
    char name[64];
    if (dot == NULL)
        return json_object_get(record, path);
    size_t size = (size_t)(dot - path);
    if (size >= sizeof(name))
        return NULL;
    memcpy(name, path, size);
    name[size] = '\0';
    return wd_cell_member(json_object_get(record, name), dot + 1);
}

static void write_plain(FILE *out, const json_t *value)
{
    if (json_is_string(value)) {
        (void)fputs(json_string_value(value), out);
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            (void)fputs(i > 0 ? " " : "", out);
            write_plain(out, json_array_get(value, i));
        }
    } else if (value != NULL && !json_is_null(value)) {
        (void)json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
    }
}

char *wd_cell_plain(const json_t *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    write_plain(out, value);
    return fclose(out) == 0 ? text : NULL;
}

/* What of an identity or a path tells one row from the next. */
static const char *short_form(const char *text, wd_column_kind kind)
{
    const char *owner = kind == WD_COLUMN_WHO ? strstr(text, "/owner/") : NULL;
    const char *dot = kind == WD_COLUMN_METHOD ? strrchr(text, '.') : NULL;

    if (owner != NULL)
        return owner + strlen("/owner/");
    return dot != NULL ? dot + 1 : text;
}

static void write_number(FILE *out, json_int_t number, wd_column_kind kind)
{
    char text[WD_TIME_TEXT_BYTES];
    if (kind == WD_COLUMN_TIME) {
        wd_time_format(number, text);
        (void)fputs(text, out);
    } else if (number == 0 && (kind == WD_COLUMN_SPAN || kind == WD_COLUMN_COUNT)) {
        (void)fputc('-', out);
    } else if (kind == WD_COLUMN_SPAN) {
        wd_span_format(number, text);
        (void)fputs(text, out);
    } else {
        (void)fprintf(out, "%lld", (long long)number);
    }
}

static void write_shown(FILE *out, const json_t *value, wd_column_kind kind)
{
    if (json_is_string(value))
        (void)fputs(short_form(json_string_value(value), kind), out);
    else if (json_is_integer(value))
        write_number(out, json_integer_value(value), kind);
    else if (json_is_boolean(value))
        (void)fputs(json_is_true(value) ? "yes" : "no", out);
    else
        write_plain(out, value);
}

char *wd_cell_shown(const json_t *record, const wd_column *column)
{
    WD_AUTO(wd_text) *plain = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&plain, &size);
    if (out == NULL)
        return NULL;
    write_shown(out, wd_cell_member(record, column->member), column->kind);
    if (fclose(out) != 0)
        return NULL;
    return wd_output_escape(size > 0 ? plain : "-");
}
