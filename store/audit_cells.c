#include "store/audit_cells.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

typedef enum kind { TEXT, CHAIN, INT64, UINT64, UINT32 } kind;

/* In the order of AuditRow in audit.proto. CHAIN is hashed and not stored. */
static const struct column {
    size_t offset;
    kind kind;
} columns[] = {
    {offsetof(wd_audit_row, seq), UINT64},
    {offsetof(wd_audit_row, chain_id), CHAIN},
    {offsetof(wd_audit_row, wall_ms), INT64},
    {offsetof(wd_audit_row, mono_ns), INT64},
    {offsetof(wd_audit_row, event), TEXT},
    {offsetof(wd_audit_row, outcome), TEXT},
    {offsetof(wd_audit_row, code), UINT32},
    {offsetof(wd_audit_row, reason), TEXT},
    {offsetof(wd_audit_row, principal), TEXT},
    {offsetof(wd_audit_row, token_id), TEXT},
    {offsetof(wd_audit_row, peer_cert), TEXT},
    {offsetof(wd_audit_row, peer_addr), TEXT},
    {offsetof(wd_audit_row, method), TEXT},
    {offsetof(wd_audit_row, scope), TEXT},
    {offsetof(wd_audit_row, trajectory_id), TEXT},
    {offsetof(wd_audit_row, session_id), TEXT},
    {offsetof(wd_audit_row, episode_id), TEXT},
    {offsetof(wd_audit_row, call_id), TEXT},
    {offsetof(wd_audit_row, trace_id), TEXT},
    {offsetof(wd_audit_row, duration_us), UINT64},
    {offsetof(wd_audit_row, bytes_in), UINT64},
    {offsetof(wd_audit_row, bytes_out), UINT64},
    {offsetof(wd_audit_row, digest), TEXT},
    {offsetof(wd_audit_row, detail), TEXT},
    {offsetof(wd_audit_row, tool), TEXT},
    {offsetof(wd_audit_row, item), UINT32},
    {offsetof(wd_audit_row, owner), TEXT},
    {offsetof(wd_audit_row, family), TEXT},
    {offsetof(wd_audit_row, pool), TEXT},
};
_Static_assert(sizeof(columns) / sizeof(columns[0]) == WD_AUDIT_CELLS, "one list");

static int64_t clamp(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static wd_cell integer_cell(int64_t number)
{
    return (wd_cell){.tag = WD_CELL_INTEGER, .number = number};
}

static wd_cell text_cell(const char *text)
{
    if (text == NULL || text[0] == '\0')
        return (wd_cell){.tag = WD_CELL_NULL};
    wd_span bytes = {(const uint8_t *)text, strlen(text)};
    return (wd_cell){.tag = WD_CELL_BYTES, .bytes = bytes};
}

static wd_cell cell_of_field(const wd_audit_row *row, const struct column *column)
{
    const char *field = (const char *)row + column->offset;
    const char *text = NULL;
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    int64_t i64 = 0;
    switch (column->kind) {
    case TEXT:
    case CHAIN:
        memcpy(&text, field, sizeof(text));
        return text_cell(text);
    case INT64:
        memcpy(&i64, field, sizeof(i64));
        return integer_cell(i64);
    case UINT64:
        memcpy(&u64, field, sizeof(u64));
        return integer_cell(clamp(u64));
    case UINT32:
        memcpy(&u32, field, sizeof(u32));
        return integer_cell((int64_t)u32);
    }
    return (wd_cell){.tag = WD_CELL_NULL};
}

void wd_cells_of_row(const wd_audit_row *row, wd_cell ret_cells[WD_AUDIT_CELLS])
{
    for (size_t i = 0; i < WD_AUDIT_CELLS; i++)
        ret_cells[i] = cell_of_field(row, &columns[i]);
}

static wd_span column_bytes(sqlite3_stmt *stmt, int at)
{
    const uint8_t *data = sqlite3_column_blob(stmt, at);
    return (wd_span){data, (size_t)sqlite3_column_bytes(stmt, at)};
}

static bool read_hash(sqlite3_stmt *stmt, int at, uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    wd_span bytes = column_bytes(stmt, at);
    if (bytes.size != WD_AUDIT_HASH_BYTES)
        return false;
    memcpy(ret_hash, bytes.data, WD_AUDIT_HASH_BYTES);
    return true;
}

bool wd_cells_hashes(sqlite3_stmt *stmt, uint8_t ret_prev[WD_AUDIT_HASH_BYTES],
                     uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    int at = (int)WD_AUDIT_CELLS - 1;
    return read_hash(stmt, at, ret_prev) && read_hash(stmt, at + 1, ret_hash);
}

static void bind_cell(const wd_cell *cell, sqlite3_stmt *stmt, int at)
{
    switch (cell->tag) {
    case WD_CELL_INTEGER:
        (void)sqlite3_bind_int64(stmt, at, cell->number);
        break;
    case WD_CELL_BYTES:
        (void)sqlite3_bind_text(stmt, at, (const char *)cell->bytes.data,
                                (int)cell->bytes.size, SQLITE_STATIC);
        break;
    case WD_CELL_NULL:
    case WD_CELL_FOREIGN:
        (void)sqlite3_bind_null(stmt, at);
        break;
    }
}

void wd_cells_bind(const wd_cell cells[WD_AUDIT_CELLS], const wd_audit_row *hashes,
                   sqlite3_stmt *stmt)
{
    int at = 1;
    for (size_t i = 0; i < WD_AUDIT_CELLS; i++) {
        if (columns[i].kind != CHAIN)
            bind_cell(&cells[i], stmt, at++);
    }
    (void)sqlite3_bind_blob(stmt, at++, hashes->prev_hash, WD_AUDIT_HASH_BYTES,
                            SQLITE_STATIC);
    (void)sqlite3_bind_blob(stmt, at, hashes->hash, WD_AUDIT_HASH_BYTES, SQLITE_STATIC);
}

static uint32_t column_u32(sqlite3_stmt *stmt, int at)
{
    int64_t number = sqlite3_column_int64(stmt, at);
    return number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static void read_field(sqlite3_stmt *stmt, int at, const struct column *column,
                       wd_audit_row *row)
{
    char *field = (char *)row + column->offset;
    if (column->kind == TEXT) {
        const char *text = wd_sql_text(stmt, at);
        memcpy(field, &text, sizeof(text));
    } else if (column->kind == UINT32) {
        uint32_t number = column_u32(stmt, at);
        memcpy(field, &number, sizeof(number));
    } else {
        int64_t number = sqlite3_column_int64(stmt, at);
        memcpy(field, &number, sizeof(number));
    }
}

void wd_audit_row_read(sqlite3_stmt *stmt, const char *chain_id, wd_audit_row *ret_row)
{
    *ret_row = (wd_audit_row){.chain_id = chain_id};
    int at = 0;
    for (size_t i = 0; i < WD_AUDIT_CELLS; i++) {
        if (columns[i].kind != CHAIN)
            read_field(stmt, at++, &columns[i], ret_row);
    }
    (void)wd_cells_hashes(stmt, ret_row->prev_hash, ret_row->hash);
}
