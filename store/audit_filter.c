#include "store/audit_filter.h"

#include <stdio.h>
#include <string.h>

/* A reader's calls, and what they were told. */
#define WITHOUT_READS                                                                  \
    " AND event NOT IN ('audit.query', 'audit.export') AND coalesce(method, '')"       \
    " NOT GLOB '/warded.v1.Audit/[^P]*'"

#define QUERY_ROWS 100U /* when nobody says how many */

/* Filters that compare with one text. Parameters are numbered from 5 on. */
static const struct {
    size_t offset;
    const char *what; /* NULL: facts do not tell */
    const char *value;
    const char *condition; /* NULL: "what value" */
} texts[] = {
    {offsetof(wd_audit_filter, event), "event", "GLOB ?5", NULL},
    {offsetof(wd_audit_filter, outcome), "outcome", "= ?6", NULL},
    {offsetof(wd_audit_filter, principal), "principal", "= ?7", NULL},
    {offsetof(wd_audit_filter, token_id), "token_id", "= ?8", NULL},
    {offsetof(wd_audit_filter, method), "method", "= ?9", NULL},
    {offsetof(wd_audit_filter, call_id), NULL, NULL, "call_id = ?10"},
    {offsetof(wd_audit_filter, trajectory_id), "trajectory_id", "= ?11", NULL},
    {offsetof(wd_audit_filter, reason), "reason", "= ?12", NULL},
    {offsetof(wd_audit_filter, peer), NULL, NULL,
     "(principal GLOB ?13 OR peer_addr GLOB ?13 OR peer_cert GLOB ?13)"},
    {offsetof(wd_audit_filter, family), "family", "= ?14", NULL},
    {offsetof(wd_audit_filter, owner), "owner", "= ?15", NULL},
    {offsetof(wd_audit_filter, pool), "pool", "= ?16", NULL},
    {offsetof(wd_audit_filter, session_id), "session_id", "= ?17", NULL},
    {offsetof(wd_audit_filter, episode_id), "episode_id", "= ?18", NULL},
    {offsetof(wd_audit_filter, trace_id), "trace_id", "= ?19", NULL},
    {offsetof(wd_audit_filter, tool), "tool", "= ?20", NULL},
};
#define TEXTS      (sizeof(texts) / sizeof(texts[0]))
#define FIRST_TEXT 5

/* The filter's text, or NULL when it is not set. */
static const char *text_of(const wd_audit_filter *filter, size_t i)
{
    const char *text = NULL;
    memcpy(&text, (const char *)filter + texts[i].offset, sizeof(text));
    return text != NULL && text[0] != '\0' ? text : NULL;
}

bool wd_filter_each(const wd_audit_filter *filter, size_t i, wd_filter_text *ret)
{
    if (i >= TEXTS)
        return false;
    bool told = texts[i].what != NULL;
    *ret = (wd_filter_text){told ? text_of(filter, i) : NULL, texts[i].what,
                            texts[i].value};
    return true;
}

void wd_filter_add(char sql[WD_FILTER_SQL_BYTES], const char *text)
{
    size_t size = strlcat(sql, text, WD_FILTER_SQL_BYTES);
    WD_ASSERT(size < WD_FILTER_SQL_BYTES);
}

static void write_codes(const wd_audit_filter *filter, char sql[WD_FILTER_SQL_BYTES])
{
    char number[16];
    for (size_t i = 0; i < filter->n_codes; i++) {
        (void)snprintf(number, sizeof(number), "%s%u", i == 0 ? " AND code IN (" : ", ",
                       filter->codes[i]);
        wd_filter_add(sql, number);
    }
    if (filter->n_codes > 0)
        wd_filter_add(sql, ")");
}

/* from_seq is the lower bound, and the upper one of newest_first. */
static void write_bounds(const wd_audit_filter *filter, const char *row,
                         char sql[WD_FILTER_SQL_BYTES])
{
    bool down = filter->newest_first;
    char text[96];
    (void)snprintf(text, sizeof(text), " WHERE %s >= %s", row, down ? "?2" : "?1");
    wd_filter_add(sql, text);
    if (down ? filter->from_seq == 0 : filter->to_seq == 0)
        return;
    (void)snprintf(text, sizeof(text), " AND %s <= %s", row, down ? "?1" : "?2");
    wd_filter_add(sql, text);
}

static void write_text(size_t i, char sql[WD_FILTER_SQL_BYTES])
{
    char text[128];
    (void)snprintf(text, sizeof(text), " AND %s %s",
                   texts[i].condition != NULL ? texts[i].condition : texts[i].what,
                   texts[i].condition != NULL ? "" : texts[i].value);
    wd_filter_add(sql, text);
}

void wd_filter_write(const wd_audit_filter *filter, const char *row,
                     char sql[WD_FILTER_SQL_BYTES])
{
    write_bounds(filter, row, sql);
    if (filter->since_ms != 0)
        wd_filter_add(sql, " AND wall_ms >= ?3");
    if (filter->until_ms != 0)
        wd_filter_add(sql, " AND wall_ms < ?4");
    for (size_t i = 0; i < TEXTS; i++) {
        if (text_of(filter, i) != NULL)
            write_text(i, sql);
    }
    write_codes(filter, sql);
    if (filter->without_reads)
        wd_filter_add(sql, WITHOUT_READS);
}

/* A parameter that the statement does not have is not bound: SQLite says RANGE. */
void wd_filter_bind(const wd_audit_filter *filter, sqlite3_stmt *stmt)
{
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)filter->from_seq);
    (void)sqlite3_bind_int64(stmt, 2, (int64_t)filter->to_seq);
    (void)sqlite3_bind_int64(stmt, 3, filter->since_ms);
    (void)sqlite3_bind_int64(stmt, 4, filter->until_ms);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = text_of(filter, i);
        if (text != NULL)
            wd_sql_bind_text(stmt, FIRST_TEXT + (int)i, text);
    }
}

uint32_t wd_filter_limit(const wd_audit_filter *filter)
{
    return filter->limit != 0 ? filter->limit : QUERY_ROWS;
}
