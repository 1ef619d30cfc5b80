#include "store/tokctl/output.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/utf8.h"
#include "store/tokctl/times.h"

struct wd_output {
    wd_format format;
    const wd_column *columns;
    struct libscols_table *table; /* TABLE only */
    size_t n_records;
    bool failed;
};

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

static void write_array(FILE *out, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        (void)fprintf(out, "%s%s", i > 0 ? " " : "",
                      json_string_value(json_array_get(array, i)));
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

static void write_value(FILE *out, const json_t *value, wd_column_kind kind)
{
    char time[WD_TIME_TEXT_BYTES];
    if (kind == WD_COLUMN_TIME) {
        wd_time_format(json_integer_value(value), time);
        (void)fputs(time, out);
    } else if (json_is_string(value)) {
        (void)fputs(short_form(json_string_value(value), kind), out);
    } else if (json_is_integer(value)) {
        (void)fprintf(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_boolean(value)) {
        (void)fputs(json_is_true(value) ? "yes" : "no", out);
    } else {
        write_array(out, value);
    }
}

/* The member as a table shows it. From malloc; NULL without memory. */
static char *cell_text(const json_t *record, const wd_column *column)
{
    WD_AUTO(wd_text) *plain = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&plain, &size);
    if (out == NULL)
        return NULL;
    write_value(out, json_object_get(record, column->member), column->kind);
    if (fclose(out) != 0)
        return NULL;
    return wd_output_escape(size > 0 ? plain : "-");
}

/* --- a table ---------------------------------------------------------------------- */

static bool start_table(wd_output *out)
{
    out->table = scols_new_table();
    if (out->table == NULL)
        return false;
    for (const wd_column *column = out->columns; column->title != NULL; column++) {
        if (scols_table_new_column(out->table, column->title, 0, 0) == NULL)
            return false;
    }
    return true;
}

static bool add_line(wd_output *out, const json_t *record)
{
    struct libscols_line *line = scols_table_new_line(out->table, NULL);
    for (size_t i = 0; line != NULL && out->columns[i].title != NULL; i++) {
        char *text = cell_text(record, &out->columns[i]);
        if (text == NULL || scols_line_refer_data(line, i, text) != 0)
            return false;
    }
    return line != NULL;
}

/* --- any form --------------------------------------------------------------------- */

static bool print_json(const json_t *record, size_t flags)
{
    return json_dumpf(record, stdout, flags | JSON_ENSURE_ASCII) == 0;
}

static bool print_element(const wd_output *out, const json_t *record)
{
    bool ok = fputs(out->n_records > 0 ? ",\n" : "[\n", stdout) >= 0;
    return ok && print_json(record, JSON_COMPACT);
}

static bool print_line(const json_t *record)
{
    return print_json(record, JSON_COMPACT) && fputc('\n', stdout) != EOF;
}

wd_output *wd_output_new(wd_format format, const wd_column *columns)
{
    wd_output *out = calloc(1, sizeof(*out));
    if (out == NULL)
        return NULL;
    out->format = format;
    out->columns = columns;
    out->failed = format == WD_FORMAT_TABLE && !start_table(out);
    return out;
}

void wd_output_add(wd_output *out, json_t *record)
{
    bool ok = record != NULL;
    if (ok && out->format == WD_FORMAT_TABLE)
        ok = add_line(out, record);
    else if (ok && out->format == WD_FORMAT_JSON)
        ok = print_element(out, record);
    else if (ok)
        ok = print_line(record);
    out->failed = out->failed || !ok;
    out->n_records++;
    json_decref(record);
}

bool wd_output_end(wd_output *out)
{
    if (out->format == WD_FORMAT_TABLE && !out->failed)
        out->failed = scols_print_table(out->table) != 0;
    if (out->format == WD_FORMAT_JSON)
        (void)fputs(out->n_records > 0 ? "\n]\n" : "[]\n", stdout);
    if (fflush(stdout) != 0 || ferror(stdout) != 0)
        out->failed = true;
    if (out->failed)
        (void)fprintf(stderr,
                      "tokctl: could not write everything to standard output\n");
    return !out->failed;
}

void wd_output_free(wd_output *out)
{
    if (out == NULL)
        return;
    scols_unref_table(out->table);
    free(out);
}

static bool print_members(const wd_column *members, const json_t *record)
{
    for (const wd_column *member = members; member->title != NULL; member++) {
        WD_AUTO(wd_text) *text = cell_text(record, member);
        if (text == NULL || printf("%-16s %s\n", member->title, text) < 0)
            return false;
    }
    return true;
}

bool wd_output_one(wd_format format, const wd_column *members, json_t *record)
{
    bool ok = record != NULL;
    if (ok && format == WD_FORMAT_TABLE)
        ok = print_members(members, record);
    else if (ok && format == WD_FORMAT_JSON)
        ok = print_json(record, JSON_INDENT(2)) && fputc('\n', stdout) != EOF;
    else if (ok)
        ok = print_line(record);
    json_decref(record);
    return ok && fflush(stdout) == 0;
}
