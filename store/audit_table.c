#include "store/audit_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/alloc.h"
#include "store/audit_fields.h"
#include "store/audit_filter.h"

#define PAGE_BYTES  (2U << 20) /* decoded: 17 MiB */
#define DECLARATION 1024U
#define MOST_TOLD   32U /* constraints of one scan */
#define SCAN_COST   1e7

/* Rows by number, in a page of copies. */
typedef struct cursor {
    sqlite3_vtab_cursor base; /* first: SQLite's */
    wd_audit_filter filter;
    char *texts[MOST_TOLD]; /* that the filter borrows; from malloc */
    size_t n_texts;
    wd_budget *budget; /* of the page */
    wd_audit_row *rows;
    size_t n, at;
    uint64_t next; /* where the next page begins; 0: there is none */
    bool full;     /* the page's memory */
} cursor;

typedef struct module {
    sqlite3_vtab base; /* first: SQLite's */
    wd_audit_table *table;
} module;

/* --- the table --------------------------------------------------------------------- */

/* NOLINTNEXTLINE(readability-function-size): SQLite's signature */
static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **ret_error)
{
    char sql[DECLARATION] = "CREATE TABLE x(";
    (void)argc;
    (void)argv;
    (void)ret_error;
    for (size_t i = 0; i < WD_AUDIT_FIELDS; i++) {
        const wd_field_kind kind = wd_audit_fields[i].kind;
        const bool text = kind == WD_FIELD_TEXT || kind == WD_FIELD_HASH;
        const size_t used = strlen(sql);
        (void)snprintf(sql + used, sizeof(sql) - used, "%s%s %s", i > 0 ? ", " : "",
                       wd_audit_fields[i].name, text ? "TEXT" : "INTEGER");
    }
    const size_t whole = strlcat(sql, ")", sizeof(sql));
    WD_ASSERT(whole < sizeof(sql));
    int code = sqlite3_declare_vtab(db, sql);
    module *made = code == SQLITE_OK ? sqlite3_malloc(sizeof(*made)) : NULL;
    if (made == NULL)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    *made = (module){.table = arg};
    *ret = &made->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* --- what the query can be told ------------------------------------------------------- */

/* Texts that a filter can ask for, by field. */
static const struct {
    const char *name;
    size_t offset;
} asked[] = {
#define TEXT(name) {#name, offsetof(wd_audit_filter, name)}
    TEXT(event),    TEXT(outcome),    TEXT(reason),     TEXT(principal),
    TEXT(token_id), TEXT(family),     TEXT(owner),      TEXT(method),
    TEXT(pool),     TEXT(session_id), TEXT(episode_id), TEXT(trajectory_id),
    TEXT(call_id),  TEXT(trace_id),   TEXT(tool),
#undef TEXT
};

/* Where the filter has a field's text; NULL: nowhere. */
static const char **place_of(wd_audit_filter *filter, const char *name)
{
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        if (strcmp(asked[i].name, name) == 0)
            return (const char **)(void *)((char *)filter + asked[i].offset);
    return NULL;
}

static bool is_number(const char *name)
{
    return strcmp(name, "seq") == 0 || strcmp(name, "wall_ms") == 0;
}

/* Whether the scan can make use of it. */
static bool useful(sqlite3_index_info *info, int i)
{
    wd_audit_filter any;
    const int column = info->aConstraint[i].iColumn;
    if (!info->aConstraint[i].usable || column < 0)
        return false;
    const char *name = wd_audit_fields[column].name;
    switch (info->aConstraint[i].op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return is_number(name) ||
               (place_of(&any, name) != NULL &&
                strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0);
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return is_number(name);
    default:
        return false;
    }
}

/* The plan, as text: a letter for the column and one for the operator each. */
static int choose_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    char plan[2 * MOST_TOLD + 1];
    size_t n = 0;
    (void)table;
    info->estimatedCost = SCAN_COST;
    for (int i = 0; i < info->nConstraint && n < MOST_TOLD; i++) {
        if (!useful(info, i))
            continue;
        plan[2 * n] = (char)('A' + info->aConstraint[i].iColumn);
        plan[2 * n + 1] = (char)info->aConstraint[i].op;
        info->aConstraintUsage[i].argvIndex = (int)++n;
        info->estimatedCost /=
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ ? 1000 : 10;
    }
    plan[2 * n] = '\0';
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == 0) {
        info->orderByConsumed = 1;
        info->idxNum = info->aOrderBy[0].desc;
    }
    info->idxStr = sqlite3_mprintf("%s", plan);
    info->needToFreeIdxStr = 1;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- the filter ------------------------------------------------------------------------- */

/* [*low, *high] without what the operator excludes. */
static void narrow(int op, int64_t value, int64_t *low, int64_t *high)
{
    const bool eq = op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (op == SQLITE_INDEX_CONSTRAINT_GT && value < INT64_MAX)
        value++;
    if (op == SQLITE_INDEX_CONSTRAINT_LT && value > INT64_MIN)
        value--;
    const bool above =
        eq || op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT;
    const bool below =
        eq || op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT;
    if (above && value > *low)
        *low = value;
    if (below && value < *high)
        *high = value;
}

/* One that the filter does not take (of a shape that no new row has) is SQLite's alone;
 * so is an event with a letter that a glob reads otherwise. */
static bool ask_text(cursor *c, const char *name, const char *text)
{
    const char **place = place_of(&c->filter, name);
    wd_error err;
    if (place == NULL || *place != NULL || text[0] == '\0' ||
        strpbrk(text, "*?[") != NULL)
        return true;
    char *copy = strdup(text);
    if (copy == NULL)
        return false;
    c->texts[c->n_texts++] = copy;
    *place = copy;
    if (wd_filter_check(&c->filter, &err) != WD_OK)
        *place = NULL;
    return true;
}

typedef struct bounds {
    int64_t low, high; /* both inclusive */
} bounds;

/* false: no row can pass. */
static bool set_bounds(cursor *c, bounds seq, bounds wall, bool down)
{
    uint64_t *low = down ? &c->filter.to_seq : &c->filter.from_seq;
    uint64_t *high = down ? &c->filter.from_seq : &c->filter.to_seq;
    c->filter.newest_first = down;
    if (seq.low > seq.high || wall.low > wall.high)
        return false;
    *low = (uint64_t)seq.low;
    *high = (uint64_t)seq.high;
    c->filter.since_ms = wall.low;
    c->filter.until_ms = wall.high < INT64_MAX ? wall.high + 1 : 0;
    return true;
}

static int fill(cursor *c);

static void forget(cursor *c)
{
    wd_budget_free(c->budget);
    for (size_t i = 0; i < c->n_texts; i++)
        free(c->texts[i]);
    const sqlite3_vtab_cursor base = c->base;
    memset(c, 0, sizeof(*c));
    c->base = base;
}

static int start(sqlite3_vtab_cursor *base, int down, const char *plan, int argc,
                 sqlite3_value **argv)
{
    cursor *c = (cursor *)(void *)base;
    bounds seq = {1, INT64_MAX};
    bounds wall = {0, INT64_MAX};
    forget(c);
    c->filter.limit = WD_AUDIT_QUERY_ROWS;
    for (int i = 0; i < argc; i++) {
        const unsigned char *part = (const unsigned char *)plan + 2 * (size_t)i;
        const char *name = wd_audit_fields[part[0] - 'A'].name;
        const int type = sqlite3_value_type(argv[i]);
        if (is_number(name) && type == SQLITE_INTEGER) {
            bounds *b = name[0] == 's' ? &seq : &wall;
            narrow(part[1], sqlite3_value_int64(argv[i]), &b->low, &b->high);
        } else if (!is_number(name) && type == SQLITE_TEXT &&
                   !ask_text(c, name, (const char *)sqlite3_value_text(argv[i]))) {
            return SQLITE_NOMEM;
        }
    }
    return set_bounds(c, seq, wall, down != 0) ? fill(c) : SQLITE_OK;
}

/* --- pages -------------------------------------------------------------------------------- */

static bool keep(void *arg, const wd_audit_row *row)
{
    cursor *c = arg;
    wd_audit_row *copy = &c->rows[c->n];
    *copy = *row;
    for (size_t i = 0; i < WD_AUDIT_FIELDS; i++) {
        const wd_audit_field *field = &wd_audit_fields[i];
        if (field->kind != WD_FIELD_TEXT)
            continue;
        const char *text = wd_field_text(row, field);
        const char *kept = wd_budget_text(c->budget, text, strlen(text));
        if (kept == NULL) {
            c->full = true;
            return false;
        }
        memcpy((char *)copy + field->offset, &kept, sizeof(kept));
    }
    c->n++;
    return true;
}

static int fail(cursor *c, const wd_error *err)
{
    module *m = (module *)(void *)c->base.pVtab;
    m->table->failure = *err;
    sqlite3_free(m->base.zErrMsg);
    m->base.zErrMsg = sqlite3_mprintf("%s", err->msg);
    return SQLITE_ERROR;
}

static int fill(cursor *c)
{
    wd_audit_table *table = ((module *)(void *)c->base.pVtab)->table;
    const wd_audit_sink sink = {keep, c};
    wd_error err;
    wd_budget_free(c->budget);
    c->n = c->at = 0;
    c->full = false;
    c->budget = wd_budget_new(PAGE_BYTES);
    c->rows = c->budget == NULL
                  ? NULL
                  : wd_budget_take(c->budget, WD_AUDIT_QUERY_ROWS * sizeof(*c->rows));
    if (c->rows == NULL)
        return SQLITE_NOMEM;
    if (wd_audit_query(table->reader, &c->filter, &sink, &c->next, &err) != WD_OK)
        return fail(c, &err);
    if (c->full && c->n == 0)
        return SQLITE_NOMEM;
    if (c->full) /* what did not fit begins the next page */
        c->next = c->filter.newest_first ? c->rows[c->n - 1].seq - 1
                                         : c->rows[c->n - 1].seq + 1;
    table->rows += c->n;
    return SQLITE_OK;
}

static int step(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)(void *)base;
    if (++c->at < c->n || c->next == 0)
        return SQLITE_OK;
    c->filter.from_seq = c->next; /* the end that the order begins with */
    return fill(c);
}

static int is_over(sqlite3_vtab_cursor *base)
{
    const cursor *c = (const cursor *)(const void *)base;
    return c->at >= c->n;
}

static int tell(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
    const cursor *c = (const cursor *)(const void *)base;
    const wd_audit_row *row = &c->rows[c->at];
    const wd_audit_field *field = &wd_audit_fields[column];
    char hex[WD_FIELD_HEX];
    if (field->kind == WD_FIELD_HASH) {
        wd_field_hex(row, field, hex);
        sqlite3_result_text(to, hex, -1, SQLITE_TRANSIENT);
    } else if (field->kind != WD_FIELD_TEXT) {
        sqlite3_result_int64(to, wd_field_number(row, field));
    } else if (wd_field_text(row, field)[0] != '\0') {
        sqlite3_result_text(to, wd_field_text(row, field), -1, SQLITE_TRANSIENT);
    }
    return SQLITE_OK;
}

static int tell_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    const cursor *c = (const cursor *)(const void *)base;
    *ret = (sqlite3_int64)c->rows[c->at].seq;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
    cursor *c = calloc(1, sizeof(*c));
    (void)table;
    if (c == NULL)
        return SQLITE_NOMEM;
    *ret = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)(void *)base;
    forget(c);
    free(c);
    return SQLITE_OK;
}

/* Without xCreate there is this one table and no other of its kind. */
static const sqlite3_module methods = {
    .xConnect = connect_table,
    .xBestIndex = choose_plan,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = start,
    .xNext = step,
    .xEof = is_over,
    .xColumn = tell,
    .xRowid = tell_rowid,
};

wd_status wd_audit_table_add(sqlite3 *db, wd_audit_table *table, wd_error *err)
{
    if (sqlite3_create_module_v2(db, WD_AUDIT_TABLE, &methods, table, NULL) !=
        SQLITE_OK)
        return wd_sql_fail(db, "add the table " WD_AUDIT_TABLE, err);
    return WD_OK;
}
