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

char *wd_output_escape(const char *text)
{
    WD_AUTO_BUFFER out = WD_BUFFER_INIT;
    wd_span span = {(const uint8_t *)text, strlen(text)};
    if (!wd_utf8_append_escaped(&out, span) || !wd_buffer_append(&out, "", 1))
        return NULL;
    return (char *)WD_STEAL(out.data);
}

/* --- values ------------------------------------------------------------------------ */

const json_t *wd_cell_member(const json_t *record, const char *path)
{
    const char *dot = strchr(path, '.');
    const json_t *whole = json_object_get(record, path); /* of SQL: max(a.seq) */
    char name[64];
    if (whole != NULL || dot == NULL)
        return whole;
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
