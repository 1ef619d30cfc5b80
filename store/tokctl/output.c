#include "store/tokctl/output.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "store/tokctl/cell.h"

#define NARROW_COLUMNS 100
#define NAME_CHARS     10 /* of what names a record, mostly a token's id */

struct wd_output {
    const wd_tokctl *ctl;
    const wd_column *columns;
    struct libscols_table *table; /* of a table only */
    size_t most;                  /* columns */
    size_t n_records;
    bool failed, has_field; /* has_field: some record had the member of --field */
};

static bool is_table(const wd_tokctl *ctl)
{
    return ctl->field == NULL &&
           (ctl->format == WD_FORMAT_TABLE || ctl->format == WD_FORMAT_WIDE);
}

static bool is_shown(const wd_output *out, const wd_column *column)
{
    return (size_t)(column - out->columns) < out->most &&
           (!column->wide || out->ctl->format != WD_FORMAT_TABLE);
}

/* --- a table ---------------------------------------------------------------------- */

static bool may_colour(void)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): read only */
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    /* NOLINTEND(concurrency-mt-unsafe) */
    return isatty(STDOUT_FILENO) != 0 && (no == NULL || no[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

static const char *colour_of(const char *word)
{
    static const char *const good[] = {"active", "ok", "yes", "serving"};
    static const char *const bad[] = {"revoked", "refused", "failed", "no", "orphaned"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (strcmp(good[i], word) == 0)
            return "\033[32m";
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (strcmp(bad[i], word) == 0)
            return "\033[31m";
    return "\033[33m";
}

/* 0: no terminal, or one wide enough for any table. */
static size_t narrow_width(const wd_tokctl *ctl)
{
    struct winsize size;
    if (ctl->format != WD_FORMAT_TABLE || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col < NARROW_COLUMNS ? size.ws_col : 0;
}

/* What a terminal's width may cut: long text; where it is narrow, all but what names the
 * record. */
static int column_flags(const wd_output *out, const wd_column *column, size_t width)
{
    const bool cut =
        column->kind == WD_COLUMN_LONG || (width != 0 && column != out->columns);
    return cut ? SCOLS_FL_TRUNC : 0;
}

/* A narrow terminal has the first so many columns: those whose titles fit. */
static size_t columns_that_fit(const wd_output *out, size_t width)
{
    size_t used = NAME_CHARS + 1;
    size_t n = 1;
    while (width != 0 && out->columns[n].title != NULL) {
        const wd_column *next = &out->columns[n];
        if (is_shown(out, next))
            used += strlen(next->title) + 1;
        if (used > width + 1)
            return n;
        n++;
    }
    return SIZE_MAX;
}

static bool start_table(wd_output *out)
{
    const size_t width = narrow_width(out->ctl);
    out->table = scols_new_table();
    if (out->table == NULL)
        return false;
    out->most = columns_that_fit(out, width);
    (void)scols_table_enable_noheadings(out->table, out->ctl->no_headers);
    (void)scols_table_enable_colors(out->table, may_colour());
    for (const wd_column *column = out->columns; column->title != NULL; column++) {
        const int flags = column_flags(out, column, width);
        if (is_shown(out, column) &&
            scols_table_new_column(out->table, column->title, 0, flags) == NULL)
            return false;
    }
    return true;
}

static bool add_line(wd_output *out, const json_t *record)
{
    struct libscols_line *line = scols_table_new_line(out->table, NULL);
    size_t at = 0;
    for (const wd_column *c = out->columns; line != NULL && c->title != NULL; c++) {
        if (!is_shown(out, c))
            continue;
        char *text = wd_cell_shown(record, c);
        if (text == NULL || scols_line_refer_data(line, at, text) != 0)
            return false;
        if (c->kind == WD_COLUMN_STATE)
            (void)scols_cell_set_color(scols_line_get_cell(line, at), colour_of(text));
        at++;
    }
    return line != NULL;
}

/* --- CSV ---------------------------------------------------------------------------- */

static void put_csv(const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, stdout);
        return;
    }
    (void)fputc('"', stdout);
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '"' ? "\"" : "", stdout);
        (void)fputc(*text, stdout);
    }
    (void)fputc('"', stdout);
}

static void csv_titles(const wd_column *columns)
{
    for (const wd_column *column = columns; column->title != NULL; column++) {
        (void)fputs(column == columns ? "" : ",", stdout);
        put_csv(column->member);
    }
    (void)fputs("\r\n", stdout);
}

/* A spreadsheet takes such a text for a formula, unless an apostrophe comes first. */
static bool is_formula(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0 &&
           strchr("=+-@", json_string_value(value)[0]) != NULL;
}

/* A record is one line, and acts on no terminal. */
static bool csv_line(const wd_column *columns, const json_t *record)
{
    for (const wd_column *column = columns; column->title != NULL; column++) {
        const json_t *value = wd_cell_member(record, column->member);
        WD_AUTO(wd_text) *plain = wd_cell_plain(value);
        WD_AUTO(wd_text) *text = plain != NULL ? wd_output_escape(plain) : NULL;
        WD_AUTO(wd_text) *cell = NULL;
        if (text == NULL ||
            asprintf(&cell, "%s%s", is_formula(value) ? "'" : "", text) < 0)
            return false;
        (void)fputs(column == columns ? "" : ",", stdout);
        put_csv(cell);
    }
    return fputs("\r\n", stdout) >= 0;
}

/* --- any form --------------------------------------------------------------------- */

/* All that jansson leaves as it is and a terminal may act on is DEL. */
static int print_part(const char *part, size_t size, void *arg)
{
    for (size_t i = 0; i < size; i++) {
        int put = part[i] == 0x7f ? fputs("\\u007f", arg) : fputc(part[i], arg);
        if (put == EOF)
            return -1;
    }
    return 0;
}

static bool print_json(const json_t *record, size_t flags)
{
    return json_dump_callback(record, print_part, stdout, flags | JSON_ENSURE_ASCII) ==
           0;
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

/* The value alone, on a line that it can't break out of. */
static bool print_value(const json_t *value)
{
    WD_AUTO(wd_text) *plain = wd_cell_plain(value);
    WD_AUTO(wd_text) *line = plain != NULL ? wd_output_escape(plain) : NULL;
    return line != NULL && puts(line) >= 0;
}

static bool print_field(wd_output *out, const json_t *record)
{
    const json_t *value = wd_cell_member(record, out->ctl->field);
    if (value == NULL)
        return true;
    out->has_field = true;
    return print_value(value);
}

wd_output *wd_output_new(const wd_tokctl *ctl, const wd_column *columns)
{
    wd_output *out = calloc(1, sizeof(*out));
    if (out == NULL)
        return NULL;
    out->ctl = ctl;
    out->columns = columns;
    out->most = SIZE_MAX;
    out->failed = is_table(ctl) && !start_table(out);
    if (ctl->field == NULL && ctl->format == WD_FORMAT_CSV && !ctl->no_headers)
        csv_titles(columns);
    return out;
}

static bool add(wd_output *out, const json_t *record)
{
    if (out->ctl->field != NULL)
        return print_field(out, record);
    switch (out->ctl->format) {
    case WD_FORMAT_TABLE:
    case WD_FORMAT_WIDE:
        return add_line(out, record);
    case WD_FORMAT_JSON:
        return print_element(out, record);
    case WD_FORMAT_CSV:
        return csv_line(out->columns, record);
    case WD_FORMAT_NAME:
        return print_value(wd_cell_member(record, out->columns[0].member));
    case WD_FORMAT_JSONL:
        break;
    }
    return print_line(record);
}

void wd_output_add(wd_output *out, json_t *record)
{
    bool ok = record != NULL && add(out, record);
    out->failed = out->failed || !ok;
    out->n_records++;
    json_decref(record);
}

static bool end_output(const wd_output *out)
{
    bool failed = out->failed;
    if (is_table(out->ctl) && out->table != NULL && !failed)
        failed = scols_print_table(out->table) != 0;
    if (out->ctl->field == NULL && out->ctl->format == WD_FORMAT_JSON &&
        out->columns != NULL)
        (void)fputs(out->n_records > 0 ? "\n]\n" : "[]\n", stdout);
    if (fflush(stdout) != 0 || ferror(stdout) != 0)
        failed = true;
    if (failed)
        (void)fprintf(stderr, "tokctl: could not write all of it to standard output\n");
    if (!failed && out->ctl->field != NULL && out->n_records > 0 && !out->has_field) {
        (void)fprintf(stderr, "%s: --field %s: there is no such member; see -o json\n",
                      out->ctl->verb, out->ctl->field);
        return false;
    }
    return !failed;
}

bool wd_output_end(wd_output *out)
{
    return end_output(out);
}

void wd_output_free(wd_output *out)
{
    if (out == NULL)
        return;
    scols_unref_table(out->table);
    free(out);
}

/* --- one by itself ------------------------------------------------------------------ */

static bool print_members(const wd_column *members, const json_t *record)
{
    for (const wd_column *member = members; member->title != NULL; member++) {
        WD_AUTO(wd_text) *text = wd_cell_shown(record, member);
        if (text == NULL || printf("%-16s %s\n", member->title, text) < 0)
            return false;
    }
    return true;
}

bool wd_output_one(const wd_tokctl *ctl, const wd_column *members, json_t *record)
{
    wd_output out = {.ctl = ctl, .n_records = 1};
    if (record == NULL)
        out.failed = true;
    else if (is_table(ctl))
        out.failed = !print_members(members, record);
    else if (ctl->field == NULL && ctl->format == WD_FORMAT_JSON)
        out.failed = !print_json(record, JSON_INDENT(2)) || fputc('\n', stdout) == EOF;
    else {
        if (ctl->field == NULL && ctl->format == WD_FORMAT_CSV && !ctl->no_headers)
            csv_titles(members);
        out.columns = members;
        out.failed = !add(&out, record);
        out.columns = NULL;
    }
    json_decref(record);
    return end_output(&out);
}
