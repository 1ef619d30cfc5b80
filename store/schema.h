/* schema.h - the tables of the store and the steps that lead an older one to them.
 *
 * Threads: the owner of the connection.
 * Source:  sqlite.org/pragma.html#pragma_user_version.
 *
 * PRAGMA user_version counts the steps that were taken. A step is never edited once it
 * has been released: what changes is a further step. Internal to store/. */
#ifndef WD_STORE_SCHEMA_H
#define WD_STORE_SCHEMA_H

#include <stddef.h>

#include "store/sql.h"

#define WD_SCHEMA_APPLICATION_ID 0x57644431 /* "WdD1" */

typedef struct wd_schema_step {
    const char *what; /* for people: "tokens and audit" */
    const char *sql;
} wd_schema_step;

extern const wd_schema_step wd_schema_steps[];
extern const size_t wd_schema_n_steps;

/* Takes the steps that are missing, each in a transaction of its own. An empty database
 * has taken none.
 * Errors: FAILED_PRECONDITION  it has taken more steps than there are (a newer Warded
 *                              wrote it), or it is no database of ours */
WD_MUST_USE wd_status wd_schema_migrate(sqlite3 *db, const wd_schema_step *steps,
                                        size_t n_steps, wd_error *err);

/* Whether tables, indexes and all else are what the first `n_steps` steps make, to the
 * letter: a trigger or another index could hide rows from those who write or read them.
 * Errors: DATA_LOSS CHAIN_BROKEN: names the first difference */
WD_MUST_USE wd_status wd_schema_compare(sqlite3 *db, const wd_schema_step *steps,
                                        size_t n_steps, wd_error *err);

/* For those who make no store: refuses a database in which nothing was ever made, which
 * an emptied one looks like.
 * Errors: DATA_LOSS CHAIN_BROKEN */
WD_MUST_USE wd_status wd_schema_used(sqlite3 *db, wd_error *err);

/* For readers, who change nothing: FAILED_PRECONDITION unless exactly the steps of this
 * build were taken. */
WD_MUST_USE wd_status wd_schema_check(sqlite3 *db, wd_error *err);

#endif
