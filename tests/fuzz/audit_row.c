/* One cell of a chained trail overwritten by whatever the input holds: reading it harms
 * nobody, and verifying finds the row. The store is made once; SQL changes it as an
 * outsider would. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/audit.h"
#include "store/audit_verify.h"
#include "store/writer.h"
#include "tests/fuzz/fuzz.h"

#define ROWS 4

/* The columns by the types that STRICT tables hold them to. */
static const char *const texts[] = {
    "event",     "outcome",  "reason", "principal",     "token_id",   "peer_cert",
    "peer_addr", "method",   "scope",  "trajectory_id", "session_id", "episode_id",
    "call_id",   "trace_id", "digest", "detail",        "tool",
};
static const char *const numbers[] = {"wall_ms",  "mono_ns",   "code", "duration_us",
                                      "bytes_in", "bytes_out", "item"};
static const char *const blobs[] = {"prev_hash", "hash"};

typedef struct trail {
    char dir[64];
    sqlite3 *db;
    wd_reader *reader;
} trail;

static wd_status add_row(wd_store *store, struct wd_store_job *job, wd_error *err)
{
    static const wd_audit_row row = {.event = "call.begin",
                                     .outcome = "ok",
                                     .principal = "spiffe://d/ns/a/owner/b/client/c",
                                     .call_id = "0192",
                                     .detail = "{}"};
    (void)job;
    return wd_audit_append(store, &row, err);
}

static void no_news(struct wd_store_job *job)
{
    (void)job;
}

static void fill(wd_store *store)
{
    wd_store_job jobs[ROWS];
    wd_writer *writer = NULL;

    FUZZ_CHECK(wd_writer_start(store, &writer, NULL) == WD_OK);
    memset(jobs, 0, sizeof(jobs));
    for (size_t i = 0; i < ROWS; i++) {
        jobs[i].apply = add_row;
        jobs[i].done = no_news;
        wd_writer_submit(writer, &jobs[i]);
    }
    wd_writer_stop(writer);
}

static void run(sqlite3 *db, const char *sql)
{
    FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void remove_trail(void)
{
    char command[96];

    (void)snprintf(command, sizeof(command), "rm -rf /dev/shm/wd-fuzz-%d", getpid());
    if (system(command) != 0) /* NOLINT(cert-env33-c): at its end */
        perror(command);
}

static trail *open_trail(void)
{
    static trail t;
    char path[96];
    WD_AUTO(wd_store) *store = NULL;
    wd_store_options options = {
        .dir = t.dir, .create = true, .reserve_bytes = 1U << 20};

    if (t.db != NULL)
        return &t;
    (void)snprintf(t.dir, sizeof(t.dir), "/dev/shm/wd-fuzz-%d", getpid());
    FUZZ_CHECK(wd_store_open(&options, &store, NULL) == WD_OK);
    (void)atexit(remove_trail);
    fill(store);
    wd_store_close(store);
    store = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", t.dir);
    FUZZ_CHECK(sqlite3_open(path, &t.db) == SQLITE_OK);
    run(t.db, "PRAGMA synchronous=OFF; CREATE TEMP TABLE kept AS SELECT * FROM audit");
    FUZZ_CHECK(wd_reader_open(t.dir, NULL, &t.reader, NULL) == WD_OK);
    return &t;
}

static bool read_row(void *arg, const wd_audit_row *row)
{
    size_t *n = arg;

    FUZZ_CHECK(row->seq > 0);
    (*n)++;
    return true;
}

/* Overwrites a cell. false: SQLite would not have it, or it had held just that. */
static bool change(sqlite3 *db, const char *column, wd_span value, char type)
{
    char sql[160];
    sqlite3_stmt *stmt = NULL;

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE audit SET %s = ?1 WHERE seq = 2 AND %s IS NOT ?1", column,
                   column);
    FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
    if (type == 'n') {
        uint64_t high = fuzz_u32(&value);
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)(high << 32 | fuzz_u32(&value)));
    } else if (type == 't') {
        (void)sqlite3_bind_text(stmt, 1, (const char *)value.data, (int)value.size,
                                SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_blob(stmt, 1, value.data, (int)value.size, SQLITE_STATIC);
    }
    bool changed = sqlite3_step(stmt) == SQLITE_DONE && sqlite3_changes(db) == 1;
    (void)sqlite3_finalize(stmt);
    return changed;
}

static void check_changed(const trail *t, const char *column, wd_span value, char type)
{
    const wd_audit_range all = {0};
    const wd_audit_filter none = {0};
    size_t rows = 0;
    uint64_t next = 0;
    wd_audit_report report;
    wd_error err = {.status = WD_OK};

    if (!change(t->db, column, value, type))
        return;
    wd_status status = wd_audit_verify(t->reader, &all, &report, &err);
    FUZZ_CHECK(status == WD_DATA_LOSS && err.reason == WD_REASON_CHAIN_BROKEN);
    fuzz_check_refusal(status, &err);
    FUZZ_CHECK(report.bad_seq == 2 || report.bad_seq == 3);
    FUZZ_CHECK(report.fault != WD_AUDIT_SOUND);
    wd_audit_sink sink = {read_row, &rows};
    FUZZ_CHECK(wd_audit_query(t->reader, &none, &sink, &next, &err) == WD_OK);
    FUZZ_CHECK(rows == ROWS);
    run(t->db, "REPLACE INTO audit SELECT * FROM kept WHERE seq = 2");
    FUZZ_CHECK(wd_audit_verify(t->reader, &all, &report, &err) == WD_OK);
}

#define PICK(names, byte) (names)[(byte) % (sizeof(names) / sizeof((names)[0]))]

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const trail *t = open_trail();
    wd_span in = {data, size};
    uint8_t type = fuzz_byte(&in);
    uint8_t which = fuzz_byte(&in);

    if (type % 3 == 0)
        check_changed(t, PICK(texts, which), in, 't');
    else if (type % 3 == 1)
        check_changed(t, PICK(numbers, which), in, 'n');
    else
        check_changed(t, PICK(blobs, which), in, 'b');
    return 0;
}
