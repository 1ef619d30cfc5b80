/* facts.h - what a segment's rows say, counted: which values a column has, how often, and
 * where the rare ones are. A query asks the facts before it reads a row.
 *
 *     facts(what, value, n, id, posted)   of a column with at most WD_FACTS_VALUES values
 *     postings(fact, row)                 the rows of each value that few rows have
 *     wide(what)                          a column with more values; it has an index
 *     blocks(first, min_ms, max_ms)       times of each WD_FACTS_BLOCK rows
 *
 * Threads: one owner.
 * Owns:    its table of values; memory grows with them, and with 8 bytes a posting.
 * Source:  docs/audit.md, "Segments". Internal to store/. */
#ifndef WD_STORE_FACTS_H
#define WD_STORE_FACTS_H

#include "store/audit.h"
#include "store/sql.h"

#define WD_FACTS_VALUES 65536U /* of one column; more make it wide */
#define WD_FACTS_BLOCK  1024U  /* rows whose times are told together */
#define WD_FACTS_RARE   64U    /* a value is posted when one row in so many has it */

#define WD_FACTS_TABLES                                                                \
    "CREATE TABLE facts (what TEXT NOT NULL, value TEXT NOT NULL, n INTEGER NOT NULL," \
    " id INTEGER NOT NULL, posted INTEGER NOT NULL, PRIMARY KEY (what, value)"         \
    ") STRICT, WITHOUT ROWID;"                                                         \
    "CREATE TABLE postings (fact INTEGER NOT NULL, row INTEGER NOT NULL,"              \
    " PRIMARY KEY (fact, row)) STRICT, WITHOUT ROWID;"                                 \
    "CREATE TABLE wide (what TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"                 \
    "CREATE TABLE blocks (first INTEGER PRIMARY KEY, min_ms INTEGER NOT NULL,"         \
    " max_ms INTEGER NOT NULL) STRICT;"

typedef struct wd_facts wd_facts;

/* NULL: no memory. `first`: the segment's first row. */
wd_facts *wd_facts_new(uint64_t first);
void wd_facts_free(wd_facts *facts);
WD_DEFINE_AUTO(wd_facts, wd_facts_free)

/* First pass, of a row of SELECT WD_AUDIT_COLUMNS. false: no memory. */
bool wd_facts_count(wd_facts *facts, sqlite3_stmt *stmt);

/* Between the passes: writes what was counted. */
WD_MUST_USE wd_status wd_facts_write(wd_facts *facts, sqlite3 *db, wd_error *err);

/* Second pass, of the same rows; then writes where the rare values are. */
bool wd_facts_post(wd_facts *facts, sqlite3_stmt *stmt);
WD_MUST_USE wd_status wd_facts_write_postings(wd_facts *facts, sqlite3 *db,
                                              wd_error *err);

#endif
