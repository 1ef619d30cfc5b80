/* audit_table.h - the trail as a table of SQLite: "audit", of a connection of its own.
 *
 * A column for each fact of a row, by its name in audit.proto; what a row does not say is
 * NULL, or 0, and hashes are hex. Rows of all segments and of store.db, oldest first. It is
 * read by wd_audit_query: no SQL of others comes near a file of the store.
 *
 * What a WHERE says of seq and wall_ms, and which texts it wants to be equal, are told to
 * the query; SQLite looks again at every row.
 *
 * Threads: one.
 * Owns:    a page of rows.
 * Source:  sqlite.org/vtab.html. Internal to store/. */
#ifndef WD_STORE_AUDIT_TABLE_H
#define WD_STORE_AUDIT_TABLE_H

#include "store/audit.h"
#include "store/sql.h"

#define WD_AUDIT_TABLE "audit"

typedef struct wd_audit_table {
    wd_reader *reader; /* borrowed */
    wd_error failure;  /* why a read failed; status WD_OK: none has */
    uint64_t rows;     /* read so far */
} wd_audit_table;

/* Adds it to `db`; `table` outlives that.
 * Errors: RESOURCE_EXHAUSTED */
WD_MUST_USE wd_status wd_audit_table_add(sqlite3 *db, wd_audit_table *table,
                                         wd_error *err);

#endif
