/* trail_rows.h - rows of one answer of Audit, copied into memory of their own.
 *
 * Threads: a reader's.
 * Owns:    its budget; wd_trail_rows_done frees it. */
#ifndef WD_SERVER_SERVICE_TRAIL_ROWS_H
#define WD_SERVER_SERVICE_TRAIL_ROWS_H

#include "server/call.h"
#include "store/audit.h"
#include "warded/v1/audit.pb-c.h"

#define WD_TRAIL_ROWS 100U /* of an answer, when nobody says how many */

typedef struct wd_trail_rows {
    wd_budget *budget;
    Warded__V1__AuditRow **list;
    size_t n, capacity;
    bool full; /* there was no memory for more */
} wd_trail_rows;

void wd_trail_rows_done(wd_trail_rows *rows);
#define WD_AUTO_TRAIL_ROWS __attribute__((cleanup(wd_trail_rows_done))) wd_trail_rows

/* Memory for `limit` rows.  Errors: RESOURCE_EXHAUSTED CAPACITY */
WD_MUST_USE wd_status wd_trail_rows_room(wd_trail_rows *rows, uint32_t limit,
                                         wd_error *err);

/* For a wd_audit_sink; `arg` is the wd_trail_rows. */
bool wd_trail_rows_add(void *arg, const wd_audit_row *row);

/* Puts on record that they are given away: before they are.
 * Errors: as wd_trail_read_note */
WD_MUST_USE wd_status wd_trail_rows_note(wd_call *call, const wd_trail_rows *rows,
                                         wd_error *err);

#endif
