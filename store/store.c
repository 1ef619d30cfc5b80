#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/audit_cells.h"
#include "store/checkpoint_file.h"
#include "store/internal.h"
#include "store/schema.h"
#include "store/token_family.h"
#include "store/token_trail.h"

#define WAL_BYTES "67108864" /* WD_WAL_BYTES: SQLite itself cuts it back to them */

static const char *const stmt_sql[WD_STMT_COUNT] = {
    [WD_STMT_BEGIN] = "BEGIN IMMEDIATE",
    [WD_STMT_SAVEPOINT] = "SAVEPOINT job",
    [WD_STMT_UNDO_JOB] = "ROLLBACK TO job",
    [WD_STMT_RELEASE] = "RELEASE job",
    [WD_STMT_COMMIT] = "COMMIT",
    [WD_STMT_ROLLBACK] = "ROLLBACK",
    [WD_STMT_KEEP_TIME] = "INSERT INTO meta VALUES ('highest_wall_ms', ?1),"
                          " ('kept_at_wall_ms', ?2), ('kept_at_mono', ?3)"
                          " ON CONFLICT DO UPDATE SET value = excluded.value",
    [WD_STMT_APPEND] =
        "INSERT INTO audit (" WD_AUDIT_COLUMNS ") VALUES (" WD_AUDIT_PARAMETERS ")",
};

/* --- what others ask -------------------------------------------------------------- */

/* It only grows: a wall clock that is set back leaves the time going on at the pace of
 * the monotonic one. */
static void see_time(wd_store *store, int64_t ahead_ms)
{
    int64_t most = atomic_load(&store->ahead_ms);
    while (ahead_ms > most &&
           !atomic_compare_exchange_weak(&store->ahead_ms, &most, ahead_ms))
        ;
}

int64_t wd_store_now_ms(wd_store *store)
{
    int64_t wall = wd_clock_wall_ms(store->clock); /* first: a pause makes it less */
    int64_t mono = wd_clock_mono_ms(store->clock);
    see_time(store, wall - mono);
    return mono + atomic_load(&store->ahead_ms);
}

int64_t wd_store_skew_ms(wd_store *store)
{
    return wd_store_now_ms(store) - wd_clock_wall_ms(store->clock);
}

wd_token_table *wd_store_tokens(wd_store *store)
{
    return store->tokens;
}

const char *wd_store_chain_id(const wd_store *store)
{
    return store->chain_id;
}

bool wd_store_degraded(const wd_store *store)
{
    return atomic_load(&store->degraded);
}

wd_head wd_audit_head(wd_store *store)
{
    (void)pthread_mutex_lock(&store->head_lock);
    wd_head head = store->durable;
    (void)pthread_mutex_unlock(&store->head_lock);
    return head;
}

void wd_store_publish_head(wd_store *store, const wd_head *head)
{
    (void)pthread_mutex_lock(&store->head_lock);
    store->durable = *head;
    (void)pthread_mutex_unlock(&store->head_lock);
}

/* --- opening ---------------------------------------------------------------------- */

static wd_status open_db(wd_store *store, const wd_store_options *options,
                         wd_error *err)
{
    WD_AUTO_FD int fd = -1; /* SQLite would make it with the umask's mode and our uid */
    WD_TRY(wd_place_file(&store->place, "store.db", options->create, &fd, err));
    WD_AUTO(wd_text) *path = NULL;
    if (asprintf(&path, "%s/store.db", store->place.dir) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    return wd_sql_open(path, SQLITE_OPEN_READWRITE, options->vfs, &store->db, err);
}

/* Everything in the WAL goes into the database now, synced: what an interrupted sync
 * may have left in the page cache alone is not believed. */
static wd_status write_back(wd_store *store, wd_error *err)
{
    int code = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                         NULL, NULL);
    if (code == SQLITE_BUSY)
        return wd_fail(
            err, WD_UNAVAILABLE,
            "another process has been reading %s/store.db for more than %d ms: "
            "stop it and start again",
            store->place.dir, WD_STORE_BUSY_MS);
    return code == SQLITE_OK ? WD_OK
                             : wd_sql_fail(store->db, "write the WAL back", err);
}

static wd_status set_up(wd_store *store, bool create, wd_error *err)
{
    if (!create)
        WD_TRY(wd_schema_used(store->db, err));
    WD_TRY(wd_sql_exec(store->db,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                       "PRAGMA journal_size_limit = " WAL_BYTES,
                       err));
    WD_TRY(wd_schema_migrate(store->db, wd_schema_steps, wd_schema_n_steps, err));
    WD_TRY(write_back(store, err));
    for (size_t i = 0; i < WD_STMT_COUNT; i++)
        WD_TRY(wd_sql_prepare(store->db, stmt_sql[i], &store->stmts[i], err));
    return WD_OK;
}

wd_status wd_meta_read(sqlite3 *db, const char *name, char *ret_value, size_t size,
                       wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "SELECT value FROM meta WHERE name = ?1", &stmt, err));
    wd_sql_bind_text(stmt, 1, name);
    bool row = false;
    WD_TRY(wd_sql_next(stmt, &row, err));
    (void)snprintf(ret_value, size, "%s", row ? wd_sql_text(stmt, 0) : "");
    return wd_sql_whole(stmt, err);
}

static wd_status name_chain(wd_store *store, wd_error *err)
{
    uint8_t id[WD_UUID_BYTES];
    WD_TRY(wd_meta_read(store->db, "chain_id", store->chain_id, sizeof(store->chain_id),
                        err));
    if (store->chain_id[0] != '\0')
        return WD_OK;
    wd_uuid7_make(wd_clock_wall_ms(store->clock), id);
    wd_uuid_format(id, store->chain_id);
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(store->db, "INSERT INTO meta VALUES ('chain_id', ?1)", &stmt,
                          err));
    wd_sql_bind_text(stmt, 1, store->chain_id);
    return wd_sql_run(stmt, err);
}

static wd_status distrust(const wd_store *store, const wd_error *cause, wd_error *err)
{
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "store %s does not verify: %s; keep it for inspection, restore a "
                     "backup, or start a new store",
                     store->place.dir, cause->msg);
}

wd_trail_place wd_store_trail_place(const wd_store *store)
{
    return (wd_trail_place){store->place.dir, store->vfs, store->chain_id, NULL};
}

/* At least the newest row is never sealed: without it the chain would begin anew. */
static wd_status check_newest(const wd_head *head, const wd_trail *trail, wd_error *err)
{
    uint64_t sealed = wd_trail_sealed(trail);
    if (sealed == 0 || head->seq > sealed)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "audit row %llu is missing and everything after it: the rows up "
                     "to it are sealed, and store.db has no later one",
                     (unsigned long long)sealed + 1);
}

static wd_status verify_tail(wd_store *store, wd_trail *trail, wd_error *err)
{
    wd_head head;
    wd_audit_report report;
    wd_error cause;
    WD_TRY(wd_head_read(store->db, &head, err));
    wd_audit_range range = {.last = head.seq};
    if (head.seq > WD_STORE_TAIL_ROWS)
        range.first = head.seq - WD_STORE_TAIL_ROWS + 1;
    if (check_newest(&head, trail, &cause) != WD_OK ||
        wd_chain_verify(trail, &range, &report, &cause) != WD_OK)
        return distrust(store, &cause, err);
    store->pending = head;
    store->durable = head;
    return WD_OK;
}

/* What decides who may come in is what the trail says, wherever its rows are. */
static wd_status verify_tokens(wd_store *store, wd_trail *trail, wd_error *err)
{
    wd_error cause;
    wd_status status = wd_token_trail_check(trail, store->tokens, &cause);
    if (status == WD_OK)
        return WD_OK;
    if (cause.reason == WD_REASON_CHAIN_BROKEN)
        return distrust(store, &cause, err);
    *err = cause;
    return status;
}

static wd_status read_time(wd_store *store, const char *name, int64_t *ret_ms,
                           wd_error *err)
{
    char text[24];
    WD_TRY(wd_meta_read(store->db, name, text, sizeof(text), err));
    *ret_ms = strtoll(text, NULL, 10);
    return WD_OK;
}

/* The time at which it was kept, and what has passed by the monotonic clock since, whatever
 * the wall clock says; 0: the machine was started again since. */
static wd_status kept_and_gone(wd_store *store, int64_t *ret_ms, wd_error *err)
{
    char text[WD_STORE_KEPT_BYTES];
    char *end = NULL;
    int64_t now = wd_clock_mono_ms(store->clock);
    WD_TRY(wd_meta_read(store->db, "kept_at_mono", text, sizeof(text), err));
    int64_t mono = strtoll(text, &end, 10);
    bool same_boot = *end == ' ' && strcmp(end + 1, store->boot_id) == 0;
    *ret_ms = same_boot && now > mono ? store->kept_highest_ms + now - mono : 0;
    return WD_OK;
}

/* The kept time, and the newest rows': a kill may have come before it was kept. What
 * has passed since it was kept counts too, as far as the wall clock tells: it may have
 * stood far behind the kept time then, as it does now. */
static wd_status load_highest(wd_store *store, wd_error *err)
{
    int64_t rows = 0;
    int64_t kept_at = 0;
    int64_t now = wd_clock_wall_ms(store->clock);
    WD_TRY(read_time(store, "highest_wall_ms", &store->kept_highest_ms, err));
    WD_TRY(read_time(store, "kept_at_wall_ms", &kept_at, err));
    WD_TRY(wd_sql_number(store->db,
                         "SELECT max(wall_ms) FROM"
                         " (SELECT wall_ms FROM audit ORDER BY seq DESC LIMIT 1000)",
                         &rows, err));
    int64_t gone = 0;
    WD_TRY(kept_and_gone(store, &gone, err));
    int64_t highest = store->kept_highest_ms;
    if (kept_at != 0 && now > kept_at)
        highest += now - kept_at;
    if (rows > highest)
        highest = rows;
    if (gone > highest)
        highest = gone;
    atomic_store(&store->ahead_ms, highest - wd_clock_mono_ms(store->clock));
    return WD_OK;
}

/* The end of the trail, also against what was signed when it was longer. */
static wd_status load_trail(wd_store *store, wd_trail *trail, wd_error *err)
{
    char newest[WD_CHECKPOINT_BYTES];
    wd_audit_report report;
    const wd_trail_place place = wd_store_trail_place(store);
    WD_TRY(wd_checkpoint_file_read(store->place.dir, newest, err));
    WD_TRY(wd_trail_begin(store->db, &place, trail, err));
    WD_TRY(verify_tail(store, trail, err));
    return wd_checkpoint_file_check(newest, trail, &report, err);
}

static wd_status load(wd_store *store, wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(name_chain(store, err));
    WD_TRY(load_trail(store, &trail, err));
    WD_TRY(load_highest(store, err));
    WD_TRY(wd_token_table_new(&store->tokens, err));
    WD_TRY(wd_tokens_load(store->db, store->tokens, err));
    wd_token_table_empty_rates(store->tokens, wd_clock_mono_ns(store->clock));
    return verify_tokens(store, &trail, err);
}

/* "": not known, which is like no other. */
static void read_boot_id(const wd_store_options *options, char *ret_id, size_t size)
{
    WD_AUTO_FD int fd = -1;
    ssize_t got = 0;
    if (options->boot_id != NULL) {
        (void)snprintf(ret_id, size, "%s", options->boot_id);
        return;
    }
    fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        got = read(fd, ret_id, size - 1);
    ret_id[got > 0 ? got : 0] = '\0';
    ret_id[strcspn(ret_id, "\n")] = '\0';
}

static wd_store *store_new(const wd_store_options *options)
{
    wd_store *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return NULL;
    store->place.lock_fd = -1;
    store->place.reserve_fd = -1;
    store->clock = options->clock != NULL ? options->clock : wd_clock_system();
    store->vfs = options->vfs;
    (void)pthread_mutex_init(&store->head_lock, NULL);
    read_boot_id(options, store->boot_id, sizeof(store->boot_id));
    return store;
}

wd_status wd_store_open(const wd_store_options *options, wd_store **ret_store,
                        wd_error *err)
{
    WD_AUTO(wd_store) *store = store_new(options);
    if (store == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for the store");
    WD_TRY(wd_place_open(&store->place, options, err));
    WD_TRY(open_db(store, options, err));
    WD_TRY(set_up(store, options->create, err));
    WD_TRY(load(store, err));
    *ret_store = WD_STEAL(store);
    return WD_OK;
}

/* --- closing ---------------------------------------------------------------------- */

/* Best effort: a store that cannot be written any more closes all the same. */
static void keep_last(wd_store *store)
{
    wd_error ignored;
    if (store->tokens == NULL)
        return; /* never opened whole */
    (void)wd_store_now_ms(store);
    store->kept_highest_ms = 0; /* keep it to the millisecond */
    wd_tokens_give_back(store);
    wd_tokens_flush_used(store);
    if (write_back(store, &ignored) != WD_OK)
        return; /* the WAL stays for the next start */
}

void wd_store_close(wd_store *store)
{
    if (store == NULL)
        return;
    keep_last(store);
    wd_token_table_free(store->tokens);
    for (size_t i = 0; i < WD_STMT_COUNT; i++)
        (void)sqlite3_finalize(store->stmts[i]);
    (void)sqlite3_close_v2(store->db);
    wd_place_close(&store->place);
    (void)pthread_mutex_destroy(&store->head_lock);
    free(store);
}
