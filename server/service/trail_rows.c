#include "server/service/trail_rows.h"

#include "server/service/row_info.h"
#include "server/service/trail_reads.h"

void wd_trail_rows_done(wd_trail_rows *rows)
{
    wd_budget_free(rows->budget);
    *rows = (wd_trail_rows){.budget = NULL};
}

/* A row has about 800 bytes, 8 KiB at most. */
wd_status wd_trail_rows_room(wd_trail_rows *rows, uint32_t limit, wd_error *err)
{
    rows->budget = wd_budget_new((size_t)limit * 1024);
    if (rows->budget != NULL)
        rows->list =
            wd_budget_take(rows->budget, limit * sizeof(Warded__V1__AuditRow *));
    if (rows->list == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    rows->capacity = limit;
    return WD_OK;
}

bool wd_trail_rows_add(void *arg, const wd_audit_row *row)
{
    wd_trail_rows *rows = arg;
    Warded__V1__AuditRow *to =
        rows->n < rows->capacity ? wd_row_info_copy(row, rows->budget) : NULL;

    rows->full = to == NULL;
    if (to != NULL)
        rows->list[rows->n++] = to;
    return to != NULL;
}

wd_status wd_trail_rows_note(wd_call *call, const wd_trail_rows *rows, wd_error *err)
{
    wd_trail_read read = {.rows = rows->n};

    if (rows->n > 0) {
        read.first_seq = rows->list[0]->seq;
        read.last_seq = rows->list[rows->n - 1]->seq;
    }
    return wd_trail_read_note(call, &read, err);
}
