#include "store/audit_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "proto/c/utf8.h"
#include "store/audit_cef.h"
#include "store/audit_ecs.h"
#include "store/audit_fields.h"
#include "store/audit_ocsf.h"

/* --- JSON lines --------------------------------------------------------------------------- */

static json_t *value_of(const wd_audit_row *row, const wd_audit_field *column)
{
    char hex[WD_FIELD_HEX];
    if (column->kind == WD_FIELD_TEXT)
        return json_string(wd_field_text(row, column));
    if (column->kind != WD_FIELD_HASH)
        return json_integer((json_int_t)wd_field_number(row, column));
    wd_field_hex(row, column, hex);
    return json_string(hex);
}

/* What says nothing is left out; the first columns never are. */
static bool says(const wd_audit_row *row, const wd_audit_field *column)
{
    if (column->kind == WD_FIELD_TEXT)
        return wd_field_text(row, column)[0] != '\0';
    return column->kind == WD_FIELD_HASH || wd_field_number(row, column) != 0;
}

static json_t *object_of(const wd_audit_row *row)
{
    json_t *object = json_object();
    for (size_t i = 0; i < WD_AUDIT_FIELDS && object != NULL; i++) {
        if (!says(row, &wd_audit_fields[i]))
            continue;
        if (json_object_set_new(object, wd_audit_fields[i].name,
                                value_of(row, &wd_audit_fields[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static int append(const char *data, size_t size, void *out)
{
    return wd_buffer_append(out, data, size) ? 0 : -1;
}

static bool put_object(json_t *object, wd_buffer *out)
{
    bool done = object != NULL &&
                json_dump_callback(object, append, out, JSON_COMPACT) == 0 &&
                wd_buffer_append(out, "\n", 1);
    json_decref(object);
    return done;
}

/* --- CSV ---------------------------------------------------------------------------------- */

/* What begins so a spreadsheet takes for a formula, in full-width forms too (OWASP, "CSV
 * Injection"). */
static bool is_formula(const char *text)
{
    static const char *const starts[] = {"=",
                                         "+",
                                         "-",
                                         "@",
                                         "\t",
                                         "\r",
                                         "\n",
                                         "\xEF\xBC\x9D",
                                         "\xEF\xBC\x8B",
                                         "\xEF\xBC\x8D",
                                         "\xEF\xBC\xA0"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* In quotes, with quotes doubled. */
static bool put_quoted(const char *before, const char *text, wd_buffer *out)
{
    bool done = wd_buffer_append(out, before, strlen(before));
    while (done && *text != '\0') {
        size_t plain = strcspn(text, "\"");
        done = wd_buffer_append(out, text, plain);
        text += plain;
        if (done && *text == '"') {
            done = wd_buffer_append(out, "\"\"", 2);
            text++;
        }
    }
    return done && wd_buffer_append(out, "\"", 1);
}

/* Text from outside: no formula for a spreadsheet, and nothing that a terminal obeys. */
static bool put_text(const char *text, wd_buffer *out)
{
    const wd_span span = {(const uint8_t *)text, strlen(text)};
    WD_AUTO_BUFFER shown = WD_BUFFER_INIT;
    return wd_utf8_append_escaped(&shown, span) && wd_buffer_append(&shown, "", 1) &&
           put_quoted(is_formula(text) ? "\"'" : "\"", (const char *)shown.data, out);
}

static bool put_csv(const wd_audit_row *row, wd_buffer *out)
{
    for (size_t i = 0; i < WD_AUDIT_FIELDS; i++) {
        char text[WD_FIELD_HEX];
        if (i > 0 && !wd_buffer_append(out, ",", 1))
            return false;
        if (wd_audit_fields[i].kind == WD_FIELD_HASH)
            wd_field_hex(row, &wd_audit_fields[i], text);
        else if (wd_audit_fields[i].kind != WD_FIELD_TEXT)
            (void)snprintf(text, sizeof(text), "%" PRId64,
                           wd_field_number(row, &wd_audit_fields[i]));
        if (wd_audit_fields[i].kind == WD_FIELD_TEXT
                ? !put_text(wd_field_text(row, &wd_audit_fields[i]), out)
                : !put_quoted("\"", text, out))
            return false;
    }
    return wd_buffer_append(out, "\r\n", 2);
}

/* --- all of them -------------------------------------------------------------------------- */

bool wd_export_header(wd_export_format format, wd_buffer *out)
{
    for (size_t i = 0; i < WD_AUDIT_FIELDS && format == WD_EXPORT_CSV; i++) {
        const char *name = wd_audit_fields[i].name;
        if ((i > 0 && !wd_buffer_append(out, ",", 1)) ||
            !wd_buffer_append(out, name, strlen(name)))
            return false;
    }
    return format != WD_EXPORT_CSV || wd_buffer_append(out, "\r\n", 2);
}

bool wd_export_row(wd_export_format format, const wd_audit_row *row, wd_buffer *out)
{
    switch (format) {
    case WD_EXPORT_JSONL:
        return put_object(object_of(row), out);
    case WD_EXPORT_CSV:
        return put_csv(row, out);
    case WD_EXPORT_OCSF:
        return put_object(wd_ocsf_event(row, object_of(row)), out);
    case WD_EXPORT_ECS:
        return put_object(wd_ecs_document(row, object_of(row)), out);
    case WD_EXPORT_CEF:
        return wd_cef_line(row, out);
    }
    return false;
}
