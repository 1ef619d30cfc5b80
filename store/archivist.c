/* One pass: what is sealed leaves store.db, what is full or old is sealed. */
#include <stdlib.h>

#include "store/archive.h"
#include "store/internal.h"
#include "store/seal.h"

#define SAMPLE_ROWS 256 /* the newest, which tell how much a row takes */

struct wd_archivist {
    wd_archive_options options;
    wd_reader *reader;
    bool dropped; /* the rows of every segment have left store.db */
};

wd_status wd_archivist_open(const wd_archive_options *options,
                            wd_archivist **ret_archivist, wd_error *err)
{
    WD_AUTO(wd_archivist) *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the archivist");
    made->options = *options;
    if (options->segment_bytes == 0)
        made->options.segment_bytes = WD_ARCHIVE_SEGMENT_BYTES;
    if (options->segment_ms == 0)
        made->options.segment_ms = WD_ARCHIVE_SEGMENT_MS;
    WD_TRY(wd_reader_open(options->store->place.dir, options->store->vfs, &made->reader,
                          err));
    *ret_archivist = WD_STEAL(made);
    return WD_OK;
}

void wd_archivist_close(wd_archivist *archivist)
{
    if (archivist == NULL)
        return;
    wd_reader_close(archivist->reader);
    free(archivist);
}

/* Rows to delete; `job` is first. */
typedef struct deletion {
    wd_store_job job;
    uint64_t first, last;
} deletion;

/* --- what is sealed leaves store.db ----------------------------------------------- */

static wd_status delete_from(wd_store *store, const deletion *w, const char *sql,
                             wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    wd_status status = wd_sql_prepare(store->db, sql, &stmt, &cause);
    if (status == WD_OK) {
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)w->first);
        (void)sqlite3_bind_int64(stmt, 2, (int64_t)w->last);
        status = wd_sql_run(stmt, &cause);
    }
    if (status != WD_OK)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "sealed rows: %s", cause.msg);
    return WD_OK;
}

static wd_status apply_delete(wd_store *store, wd_store_job *job, wd_error *err)
{
    const deletion *w = (const deletion *)job;
    WD_TRY(delete_from(store, w, "DELETE FROM audit WHERE seq BETWEEN ?1 AND ?2", err));
    return delete_from(store, w, "DELETE FROM checkpoints WHERE seq BETWEEN ?1 AND ?2",
                       err);
}

static bool told_to_stop(const wd_archivist *a)
{
    return a->options.stop != NULL && atomic_load(a->options.stop);
}

static wd_status first_row(const wd_archivist *a, uint64_t after, uint64_t *ret_seq,
                           int64_t *ret_wall_ms, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    bool row = false;
    WD_TRY(wd_sql_prepare(a->reader->db,
                          "SELECT seq, wall_ms FROM audit WHERE seq > ?1"
                          " ORDER BY seq LIMIT 1",
                          &stmt, err));
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)after);
    WD_TRY(wd_sql_next(stmt, &row, err));
    *ret_seq = row ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    *ret_wall_ms = row ? sqlite3_column_int64(stmt, 1) : 0;
    return WD_OK;
}

static wd_status sealed_row(const wd_archivist *a, uint64_t *ret_seq, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_reader_trail(a->reader, &trail, err));
    *ret_seq = wd_trail_sealed(&trail);
    return WD_OK;
}

/* The names of the segments are made durable first: rows may not vanish from both. */
static wd_status sync_folder(const wd_archivist *a, wd_error *err)
{
    WD_AUTO(wd_text) *folder = wd_segment_file(a->reader->dir, "");
    if (folder == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    return wd_segment_sync(folder, err);
}

static wd_status drop(wd_archivist *a, uint64_t sealed, wd_error *err)
{
    int64_t wall_ms = 0;
    uint64_t first = 0;
    if (a->dropped || sealed == 0)
        return WD_OK;
    WD_TRY(sync_folder(a, err));
    WD_TRY(first_row(a, 0, &first, &wall_ms, err));
    while (first <= sealed && !told_to_stop(a)) {
        uint64_t last = first + WD_SEAL_DELETE_ROWS - 1;
        deletion w = {.job.apply = apply_delete,
                      .first = first,
                      .last = last < sealed ? last : sealed};
        WD_TRY(wd_store_change(a->options.store, a->options.writer, &w.job, err));
        first = w.last + 1;
    }
    a->dropped = first > sealed;
    return WD_OK;
}

/* --- what is due is sealed -------------------------------------------------------- */

/* What a row takes, from the newest ones: its text, its numbers, its place in an index. */
static wd_status row_bytes(const wd_archivist *a, int64_t *ret_bytes, wd_error *err)
{
    static const char sql[] =
        "SELECT 150 + coalesce(avg(coalesce(length(principal), 0)"
        " + coalesce(length(token_id), 0) + coalesce(length(peer_cert), 0)"
        " + coalesce(length(peer_addr), 0) + coalesce(length(method), 0)"
        " + coalesce(length(scope), 0) + coalesce(length(trajectory_id), 0)"
        " + 2 * coalesce(length(call_id), 0) + coalesce(length(digest), 0)"
        " + coalesce(length(detail), 0) + coalesce(length(owner), 0)), 0)"
        " FROM (SELECT * FROM audit ORDER BY seq DESC LIMIT 256)";
    return wd_sql_number(a->reader->db, sql, ret_bytes, err);
}

static wd_status seal_to(wd_archivist *a, uint64_t sealed, uint64_t last, wd_error *err)
{
    const wd_seal seal = {
        .db = a->reader->db,
        .place = wd_store_trail_place(a->options.store),
        .first = sealed + 1,
        .last = last,
        .stop = a->options.stop,
    };
    WD_TRY(wd_seal_build(&seal, err));
    a->dropped = false;
    return drop(a, last, err);
}

/* The last row of the segment that is due; 0: none is. However far the sealing is behind,
 * no segment is larger than it should be: a pass that is cut off loses little. */
static wd_status due_row(const wd_archivist *a, uint64_t sealed, uint64_t newest,
                         uint64_t *ret_last, wd_error *err)
{
    uint64_t first = 0;
    int64_t wall_ms = 0;
    int64_t bytes = 0;
    *ret_last = 0;
    WD_TRY(first_row(a, sealed, &first, &wall_ms, err));
    if (first == 0 || newest <= first)
        return WD_OK; /* the newest row stays */
    WD_TRY(row_bytes(a, &bytes, err));
    uint64_t rows = a->options.segment_bytes / (uint64_t)bytes + 1;
    bool old =
        wd_clock_wall_ms(a->options.store->clock) - wall_ms >= a->options.segment_ms;
    if (newest - sealed > rows)
        *ret_last = sealed + rows;
    else if (old)
        *ret_last = newest - 1;
    return WD_OK;
}

/* In one step or none: leftovers first, so that at most one segment is in both. */
static wd_status settle(wd_archivist *a, uint64_t *ret_sealed, wd_error *err)
{
    WD_TRY(sealed_row(a, ret_sealed, err));
    return drop(a, *ret_sealed, err);
}

wd_status wd_archivist_seal(wd_archivist *archivist, wd_error *err)
{
    uint64_t sealed = 0;
    uint64_t newest = wd_audit_head(archivist->options.store).seq;
    WD_TRY(settle(archivist, &sealed, err));
    if (newest <= sealed + 1)
        return WD_OK;
    return seal_to(archivist, sealed, newest - 1, err);
}

wd_status wd_archivist_pass(wd_archivist *archivist, wd_error *err)
{
    uint64_t newest = wd_audit_head(archivist->options.store).seq;
    while (!told_to_stop(archivist)) {
        uint64_t sealed = 0;
        uint64_t last = 0;
        WD_TRY(settle(archivist, &sealed, err));
        WD_TRY(due_row(archivist, sealed, newest, &last, err));
        if (last == 0)
            return WD_OK;
        WD_TRY(seal_to(archivist, sealed, last, err));
    }
    return WD_OK;
}
