#include "store/audit_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "store/audit_cef.h"
#include "store/audit_ecs.h"
#include "store/audit_ocsf.h"

#define HEX_BYTES (2 * WD_AUDIT_HASH_BYTES + 1)

typedef enum kind { TEXT, INT64, UINT64, UINT32, HASH } kind;

/* In the order of AuditRow in audit.proto, and by its names. */
#define ROW(name, kind) {#name, offsetof(wd_audit_row, name), kind}
static const struct column {
    const char *name;
    size_t offset;
    kind kind;
} columns[] = {
    ROW(seq, UINT64),       ROW(chain_id, TEXT),      ROW(wall_ms, INT64),
    ROW(mono_ns, INT64),    ROW(event, TEXT),         ROW(outcome, TEXT),
    ROW(code, UINT32),      ROW(reason, TEXT),        ROW(principal, TEXT),
    ROW(token_id, TEXT),    ROW(peer_cert, TEXT),     ROW(peer_addr, TEXT),
    ROW(method, TEXT),      ROW(scope, TEXT),         ROW(trajectory_id, TEXT),
    ROW(session_id, TEXT),  ROW(episode_id, TEXT),    ROW(call_id, TEXT),
    ROW(trace_id, TEXT),    ROW(duration_us, UINT64), ROW(bytes_in, UINT64),
    ROW(bytes_out, UINT64), ROW(digest, TEXT),        ROW(detail, TEXT),
    ROW(prev_hash, HASH),   ROW(hash, HASH),          ROW(tool, TEXT),
    ROW(item, UINT32),      ROW(owner, TEXT),         ROW(family, TEXT),
    ROW(pool, TEXT),
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* --- a column's value --------------------------------------------------------------------- */

static const void *field(const wd_audit_row *row, const struct column *column)
{
    return (const char *)row + column->offset;
}

static const char *text_of(const wd_audit_row *row, const struct column *column)
{
    const char *text = NULL;
    memcpy(&text, field(row, column), sizeof(text));
    return text != NULL ? text : "";
}

static int64_t number_of(const wd_audit_row *row, const struct column *column)
{
    uint32_t small = 0;
    int64_t number = 0;
    if (column->kind == UINT32) {
        memcpy(&small, field(row, column), sizeof(small));
        return (int64_t)small;
    }
    memcpy(&number, field(row, column), sizeof(number));
    return number;
}

static void hex_of(const wd_audit_row *row, const struct column *column,
                   char text[HEX_BYTES])
{
    wd_hex((wd_span){field(row, column), WD_AUDIT_HASH_BYTES}, text);
}

/* --- JSON lines --------------------------------------------------------------------------- */

static json_t *value_of(const wd_audit_row *row, const struct column *column)
{
    char hex[HEX_BYTES];
    if (column->kind == TEXT)
        return json_string(text_of(row, column));
    if (column->kind != HASH)
        return json_integer((json_int_t)number_of(row, column));
    hex_of(row, column, hex);
    return json_string(hex);
}

/* What says nothing is left out; the first columns never are. */
static bool says(const wd_audit_row *row, const struct column *column)
{
    if (column->kind == TEXT)
        return text_of(row, column)[0] != '\0';
    return column->kind == HASH || number_of(row, column) != 0;
}

static json_t *object_of(const wd_audit_row *row)
{
    json_t *object = json_object();
    for (size_t i = 0; i < COLUMNS && object != NULL; i++) {
        if (!says(row, &columns[i]))
            continue;
        if (json_object_set_new(object, columns[i].name, value_of(row, &columns[i])) !=
            0) {
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
    for (size_t i = 0; i < COLUMNS; i++) {
        char text[HEX_BYTES];
        if (i > 0 && !wd_buffer_append(out, ",", 1))
            return false;
        if (columns[i].kind == HASH)
            hex_of(row, &columns[i], text);
        else if (columns[i].kind != TEXT)
            (void)snprintf(text, sizeof(text), "%" PRId64, number_of(row, &columns[i]));
        if (columns[i].kind == TEXT ? !put_text(text_of(row, &columns[i]), out)
                                    : !put_quoted("\"", text, out))
            return false;
    }
    return wd_buffer_append(out, "\r\n", 2);
}

/* --- all of them -------------------------------------------------------------------------- */

bool wd_export_header(wd_export_format format, wd_buffer *out)
{
    for (size_t i = 0; i < COLUMNS && format == WD_EXPORT_CSV; i++) {
        const char *name = columns[i].name;
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
