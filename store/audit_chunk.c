#include "store/audit_chunk.h"

#include <string.h>

#include "store/audit_hash.h"

typedef struct walk {
    wd_chunk *chunk;
    size_t next_head;
    wd_row_found row;
} walk;

/* false: the walk is over. */
static bool found(walk *w, wd_audit_fault fault, uint64_t seq)
{
    w->chunk->fault = fault;
    w->chunk->bad_seq = seq;
    return false;
}

/* The first head that is not before the chunk. */
static size_t first_head(const wd_chunk *chunk)
{
    size_t low = 0;
    size_t high = chunk->n_heads;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chunk->heads[middle].head.seq < chunk->first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What was seen of the row that has just been found sound. */
static bool heads_agree(walk *w, uint64_t seq)
{
    wd_chunk *chunk = w->chunk;
    for (; w->next_head < chunk->n_heads; w->next_head++) {
        const wd_head *head = &chunk->heads[w->next_head].head;
        if (head->seq > seq)
            return true;
        if (memcmp(head->hash, chunk->hash, WD_AUDIT_HASH_BYTES) != 0)
            return found(w, WD_AUDIT_FORKED, seq);
        chunk->n_matched++;
    }
    return true;
}

/* The row by itself, then as the successor of the one before it. */
static bool row_is_sound(walk *w, int64_t seq, uint64_t expected)
{
    wd_chunk *chunk = w->chunk;
    const wd_row_found *row = &w->row;
    if (seq < (int64_t)expected || seq > (int64_t)chunk->last)
        return found(w, WD_AUDIT_ROW_UNLINKED, (uint64_t)seq);
    if (seq > (int64_t)expected)
        return found(w, WD_AUDIT_ROW_MISSING, expected);
    if (!row->sound)
        return found(w, WD_AUDIT_ROW_CHANGED, expected);
    if (chunk->rows == 0)
        memcpy(chunk->prev, row->prev, sizeof(row->prev));
    else if (memcmp(row->prev, chunk->hash, sizeof(row->prev)) != 0)
        return found(w, WD_AUDIT_ROW_UNLINKED, expected);
    memcpy(chunk->hash, row->hash, sizeof(row->hash));
    chunk->rows++;
    return heads_agree(w, expected);
}

static wd_status walk_rows(walk *w, sqlite3_stmt *stmt, wd_error *err)
{
    for (uint64_t expected = w->chunk->first;; expected++) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more && expected <= w->chunk->last)
            (void)found(w, WD_AUDIT_ROW_MISSING, expected);
        if (!more)
            return WD_OK;
        if (!row_is_sound(w, sqlite3_column_int64(stmt, 0), expected))
            return wd_sql_whole(stmt, err);
    }
}

wd_status wd_chunk_verify(sqlite3 *db, const char *chain_id, wd_chunk *chunk,
                          wd_error *err)
{
    walk w = {chunk, first_head(chunk), {.chain_id = chain_id}};
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    chunk->rows = 0;
    chunk->n_matched = 0;
    chunk->fault = WD_AUDIT_SOUND;
    WD_TRY(wd_row_register(db, err));
    WD_TRY(wd_sql_prepare(
        db,
        "SELECT " WD_ROW_FUNCTION("?3") " FROM audit"
                                        " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, chunk->opens ? INT64_MIN : (int64_t)chunk->first);
    (void)sqlite3_bind_int64(stmt, 2, chunk->closes ? INT64_MAX : (int64_t)chunk->last);
    wd_row_bind(stmt, 3, &w.row);
    return walk_rows(&w, stmt, err);
}
