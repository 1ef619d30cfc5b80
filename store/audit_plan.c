#include "store/audit_plan.h"

#include <stdio.h>
#include <string.h>

#include "store/facts.h"

/* What the facts say of one condition. */
typedef struct told {
    int64_t values; /* that match */
    int64_t rows;
    bool posted; /* all of them */
} told;

typedef struct planning {
    sqlite3 *db;
    const wd_audit_filter *filter;
    int64_t best; /* rows of the best condition so far */
    wd_plan *plan;
} planning;

/* `sql` selects count, sum and least posted of the matching facts. */
static wd_status ask(sqlite3 *db, const wd_audit_filter *filter, const char *sql,
                     told *ret, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(db, sql, &stmt, err));
    wd_filter_bind(filter, stmt);
    WD_TRY(wd_sql_next(stmt, &row, err));
    *ret = (told){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                  sqlite3_column_int64(stmt, 2) != 0};
    return WD_OK;
}

static wd_status is_wide(sqlite3 *db, const char *what, bool *ret_wide, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "SELECT 1 FROM wide WHERE what = ?1", &stmt, err));
    wd_sql_bind_text(stmt, 1, what);
    return wd_sql_next(stmt, ret_wide, err);
}

/* Takes the condition into the plan where fewer rows pass it than the best so far. */
static wd_status consider(planning *p, const char *condition, wd_error *err)
{
    char sql[384];
    told facts;
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*), total(n), min(posted) FROM facts WHERE %s",
                   condition);
    WD_TRY(ask(p->db, p->filter, sql, &facts, err));
    p->plan->nothing = p->plan->nothing || facts.values == 0;
    if (!facts.posted || facts.rows >= p->best)
        return WD_OK;
    p->best = facts.rows;
    p->plan->posted = true;
    (void)snprintf(p->plan->facts, sizeof(p->plan->facts), "%s", condition);
    return WD_OK;
}

static wd_status consider_text(planning *p, const wd_filter_text *text, wd_error *err)
{
    char condition[128];
    bool wide = false;
    WD_TRY(is_wide(p->db, text->what, &wide, err));
    if (wide)
        return WD_OK; /* it has an index of its own */
    (void)snprintf(condition, sizeof(condition), "what = '%s' AND value %s", text->what,
                   text->value);
    return consider(p, condition, err);
}

static wd_status consider_codes(planning *p, wd_error *err)
{
    const wd_audit_filter *filter = p->filter;
    char condition[256] = "what = 'code' AND value IN (";
    size_t size = strlen(condition);
    if (filter->n_codes == 0)
        return WD_OK;
    for (size_t i = 0; i < filter->n_codes; i++)
        size += (size_t)snprintf(condition + size, sizeof(condition) - size, "%s'%u'",
                                 i > 0 ? "," : "", filter->codes[i]);
    (void)snprintf(condition + size, sizeof(condition) - size, ")");
    return consider(p, condition, err);
}

/* --- times ------------------------------------------------------------------------ */

static void raise(uint64_t *bound, uint64_t to)
{
    if (*bound < to)
        *bound = to;
}

static void lower(uint64_t *bound, uint64_t to)
{
    if (*bound == 0 || *bound > to)
        *bound = to;
}

/* The blocks that may hold such a time, as one range. */
static wd_status narrow(const wd_source *source, wd_audit_filter *filter, wd_plan *plan,
                        wd_error *err)
{
    bool down = filter->newest_first;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    if (filter->since_ms == 0 && filter->until_ms == 0)
        return WD_OK;
    WD_TRY(wd_sql_prepare(source->db,
                          "SELECT min(first), max(first) FROM blocks WHERE"
                          " max_ms >= ?3 AND (?4 = 0 OR min_ms < ?4)",
                          &stmt, err));
    wd_filter_bind(filter, stmt);
    WD_TRY(wd_sql_next(stmt, &row, err));
    plan->nothing = sqlite3_column_type(stmt, 0) == SQLITE_NULL;
    uint64_t first = (uint64_t)sqlite3_column_int64(stmt, 0);
    uint64_t last = (uint64_t)sqlite3_column_int64(stmt, 1) + WD_FACTS_BLOCK - 1;
    if (plan->nothing)
        return WD_OK;
    raise(down ? &filter->to_seq : &filter->from_seq, first);
    lower(down ? &filter->from_seq : &filter->to_seq, last);
    return WD_OK;
}

wd_status wd_plan_make(const wd_source *source, wd_audit_filter *filter,
                       wd_plan *ret_plan, wd_error *err)
{
    wd_plan plan = {0};
    planning p = {source->db, filter, INT64_MAX, &plan};
    wd_filter_text text;
    WD_TRY(narrow(source, filter, &plan, err));
    for (size_t i = 0; !plan.nothing && wd_filter_each(filter, i, &text); i++) {
        if (text.text != NULL)
            WD_TRY(consider_text(&p, &text, err));
    }
    if (!plan.nothing)
        WD_TRY(consider_codes(&p, err));
    if (filter->call_id != NULL && filter->call_id[0] != '\0')
        plan.posted = false; /* nothing finds less than its index */
    *ret_plan = plan;
    return WD_OK;
}
