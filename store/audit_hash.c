#include "store/audit_hash.h"

#include <string.h>

#include "proto/c/sha256.h"

#define ENCODING_BYTES 2048U /* most rows take less */
#define POINTER_TYPE   "wd_row_found"

/* Columns of a stored row: those that are hashed, all but the chain; then its hashes. */
#define STORED       ((int)WD_AUDIT_CELLS - 1)
#define STORED_FIRST ((int)WD_AUDIT_FIRST_CELLS - 1)
#define PREV_HASH    STORED
#define HASH         (STORED + 1)
#define COLUMNS      (STORED + 2)

static const char hash_domain[] = "warded-audit-v1";

/* --- what is hashed --------------------------------------------------------------- */

/* A row's bytes on their way to the digest: most rows are hashed in one piece, for each
 * piece costs more than the bytes of a number. */
typedef struct encoding {
    wd_sha256 sha;
    bool pieces; /* more than fits: sha has what came before */
    size_t size;
    uint8_t bytes[ENCODING_BYTES];
} encoding;

static void flush(encoding *e)
{
    if (!e->pieces)
        wd_sha256_init(&e->sha);
    e->pieces = true;
    wd_sha256_add(&e->sha, e->bytes, e->size);
    e->size = 0;
}

/* Room for so many bytes, of at most ENCODING_BYTES. */
static uint8_t *take(encoding *e, size_t size)
{
    if (size > ENCODING_BYTES - e->size)
        flush(e);
    e->size += size;
    return e->bytes + e->size - size;
}

static void put(encoding *e, const void *data, size_t size)
{
    if (size > ENCODING_BYTES) {
        flush(e);
        wd_sha256_add(&e->sha, data, size);
    } else if (size > 0) {
        memcpy(take(e, size), data, size);
    }
}

static void put_tag(encoding *e, wd_cell_tag tag)
{
    *take(e, 1) = (uint8_t)tag;
}

static void put_integer(encoding *e, int64_t number)
{
    uint8_t *at = take(e, 9);
    at[0] = WD_CELL_INTEGER;
    for (unsigned i = 0; i < 8; i++)
        at[1 + i] = (uint8_t)((uint64_t)number >> (56 - 8 * i));
}

static void put_bytes(encoding *e, const void *data, size_t size)
{
    uint8_t *at = take(e, 5);
    at[0] = WD_CELL_BYTES;
    for (unsigned i = 0; i < 4; i++)
        at[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    put(e, data, size);
}

static void start(encoding *e, const uint8_t prev_hash[WD_AUDIT_HASH_BYTES])
{
    e->size = 0;
    e->pieces = false;
    put(e, hash_domain, sizeof(hash_domain) - 1);
    put(e, prev_hash, WD_AUDIT_HASH_BYTES);
}

static void end(encoding *e, uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    if (!e->pieces) {
        wd_sha256_of((wd_span){e->bytes, e->size}, ret_hash);
        return;
    }
    flush(e);
    wd_sha256_end(&e->sha, ret_hash);
}

/* --- a new row -------------------------------------------------------------------- */

static void put_cell(encoding *e, const wd_cell *cell)
{
    if (cell->tag == WD_CELL_INTEGER)
        put_integer(e, cell->number);
    else if (cell->tag == WD_CELL_BYTES)
        put_bytes(e, cell->bytes.data, cell->bytes.size);
    else
        put_tag(e, cell->tag);
}

/* Rows that say nothing in the later columns hash as if there were none. */
static size_t n_hashed(const wd_cell cells[WD_AUDIT_CELLS])
{
    size_t n = WD_AUDIT_CELLS;
    while (n > WD_AUDIT_FIRST_CELLS && cells[n - 1].tag == WD_CELL_NULL)
        n--;
    return n;
}

void wd_cells_hash(const wd_cell cells[WD_AUDIT_CELLS],
                   const uint8_t prev_hash[WD_AUDIT_HASH_BYTES],
                   uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    encoding e; /* not cleared: it is large */
    start(&e, prev_hash);
    size_t n = n_hashed(cells);
    for (size_t i = 0; i < n; i++)
        put_cell(&e, &cells[i]);
    end(&e, ret_hash);
}

/* --- a row that is stored --------------------------------------------------------- */

static void put_value(encoding *e, sqlite3_value *value)
{
    const void *data = NULL;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        put_integer(e, sqlite3_value_int64(value));
        break;
    case SQLITE_TEXT:
        data = sqlite3_value_blob(value);
        put_bytes(e, data, (size_t)sqlite3_value_bytes(value));
        break;
    case SQLITE_NULL:
        put_tag(e, WD_CELL_NULL);
        break;
    default: /* a type that we never write; only found in changed rows */
        put_tag(e, WD_CELL_FOREIGN);
        break;
    }
}

static int n_stored(sqlite3_value **values)
{
    int n = STORED;
    while (n > STORED_FIRST && sqlite3_value_type(values[n - 1]) == SQLITE_NULL)
        n--;
    return n;
}

static bool read_hash(sqlite3_value *value, uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    const void *data = sqlite3_value_blob(value);
    if (sqlite3_value_bytes(value) != (int)WD_AUDIT_HASH_BYTES)
        return false;
    memcpy(ret_hash, data, WD_AUDIT_HASH_BYTES);
    return true;
}

static bool judge(sqlite3_value **values, const char *chain_id,
                  uint8_t ret_prev[WD_AUDIT_HASH_BYTES],
                  uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    encoding e;
    uint8_t stored[WD_AUDIT_HASH_BYTES];
    if (!read_hash(values[PREV_HASH], ret_prev) || !read_hash(values[HASH], stored))
        return false;
    int n = n_stored(values);
    start(&e, ret_prev);
    for (int i = 0; i < n; i++) {
        if (i == (int)WD_AUDIT_CHAIN_CELL)
            put_bytes(&e, chain_id, strlen(chain_id));
        put_value(&e, values[i]);
    }
    end(&e, ret_hash);
    return memcmp(ret_hash, stored, sizeof(stored)) == 0;
}

bool wd_cells_sound(sqlite3_stmt *stmt, const char *chain_id,
                    uint8_t ret_prev[WD_AUDIT_HASH_BYTES],
                    uint8_t ret_hash[WD_AUDIT_HASH_BYTES])
{
    sqlite3_value *values[COLUMNS]; /* this thread's, as their statement is */
    for (int i = 0; i < COLUMNS; i++)
        values[i] = sqlite3_column_value(stmt, i);
    return judge(values, chain_id, ret_prev, ret_hash);
}

/* --- by SQL ----------------------------------------------------------------------- */

static void row_function(sqlite3_context *context, int n, sqlite3_value **values)
{
    wd_row_found *found = sqlite3_value_pointer(values[0], POINTER_TYPE);
    WD_ASSERT(found != NULL && n == COLUMNS + 1);
    found->sound = judge(values + 1, found->chain_id, found->prev, found->hash);
    sqlite3_result_value(context, values[1]);
}

wd_status wd_row_register(sqlite3 *db, wd_error *err)
{
    if (sqlite3_create_function(db, "wd_row", COLUMNS + 1,
                                SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, row_function,
                                NULL, NULL) != SQLITE_OK)
        return wd_sql_fail(db, "add a function", err);
    return WD_OK;
}

void wd_row_bind(sqlite3_stmt *stmt, int at, wd_row_found *found)
{
    (void)sqlite3_bind_pointer(stmt, at, found, POINTER_TYPE, NULL);
}
