#include "store/audit.h"

#include <stdio.h>
#include <string.h>

#include "proto/c/buffer.h"
#include "proto/c/utf8.h"
#include "store/audit_hash.h"
#include "store/internal.h"

#define DETAIL_CELL 23U /* its place in AuditRow, counted from 0 */

/* Cells whose text had to be written anew. */
typedef struct tidied {
    wd_buffer text[WD_AUDIT_CELLS];
} tidied;

static void tidied_done(tidied *all)
{
    for (size_t i = 0; i < WD_AUDIT_CELLS; i++)
        wd_buffer_done(&all->text[i]);
}

/* Half a JSON object helps nobody: says how much there was. */
static bool cut_detail(wd_cell *cell, wd_buffer *out)
{
    char note[48];
    int size = snprintf(note, sizeof(note), "{\"cut_bytes\":%zu}", cell->bytes.size);
    wd_buffer_clear(out);
    if (!wd_buffer_append(out, note, (size_t)size))
        return false;
    cell->bytes = wd_buffer_span(out);
    return true;
}

static bool tidy_cell(wd_cell *cell, bool is_detail, wd_buffer *out)
{
    if (cell->tag != WD_CELL_BYTES)
        return true;
    if (!wd_utf8_valid(cell->bytes, NULL)) {
        if (!wd_utf8_append_lossy(out, cell->bytes))
            return false;
        cell->bytes = wd_buffer_span(out);
    }
    if (cell->bytes.size <= WD_AUDIT_TEXT_BYTES)
        return true;
    if (is_detail)
        return cut_detail(cell, out);
    cell->bytes.size = wd_utf8_cut(cell->bytes, WD_AUDIT_TEXT_BYTES);
    return true;
}

static wd_status tidy(wd_cell cells[WD_AUDIT_CELLS], tidied *all, wd_error *err)
{
    for (size_t i = 0; i < WD_AUDIT_CELLS; i++) {
        if (!tidy_cell(&cells[i], i == DETAIL_CELL, &all->text[i]))
            return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "no memory for a row");
    }
    return WD_OK;
}

/* What the store knows better than the caller. */
static wd_audit_row complete(wd_store *store, const wd_audit_row *row)
{
    wd_audit_row full = *row;
    full.seq = store->pending.seq + 1;
    full.chain_id = store->chain_id;
    if (full.wall_ms == 0)
        full.wall_ms = wd_clock_wall_ms(store->clock);
    if (full.mono_ns == 0)
        full.mono_ns = wd_clock_mono_ns(store->clock);
    memcpy(full.prev_hash, store->pending.hash, WD_AUDIT_HASH_BYTES);
    return full;
}

static wd_status insert(wd_store *store, const wd_cell cells[WD_AUDIT_CELLS],
                        wd_audit_row *row, wd_error *err)
{
    sqlite3_stmt *stmt = store->stmts[WD_STMT_APPEND];
    wd_error cause;
    wd_cells_hash(cells, row->prev_hash, row->hash);
    wd_cells_bind(cells, row, stmt);
    if (wd_sql_run(stmt, &cause) != WD_OK)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "audit row %llu: %s",
                         (unsigned long long)row->seq, cause.msg);
    if (sqlite3_changes(store->db) != 1)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE,
                         "audit row %llu: SQLite took it and did not keep it",
                         (unsigned long long)row->seq);
    store->pending.seq = row->seq;
    memcpy(store->pending.hash, row->hash, WD_AUDIT_HASH_BYTES);
    return WD_OK;
}

wd_status wd_audit_append(wd_store *store, const wd_audit_row *row, wd_error *err)
{
    WD_ASSERT(row->event != NULL && row->event[0] != '\0');
    wd_audit_row full = complete(store, row);
    wd_cell cells[WD_AUDIT_CELLS];
    wd_cells_of_row(&full, cells);
    __attribute__((cleanup(tidied_done))) tidied texts = {0};
    WD_TRY(tidy(cells, &texts, err));
    return insert(store, cells, &full, err);
}
