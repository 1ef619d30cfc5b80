#include "store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/internal.h"
#include "store/segment.h"

#define STEP_PAGES 256
#define COPY_BYTES (1U << 20)
#define SEGMENTS   "audit"
#define BUSY_MS    20 /* while a commit has the database */

/* --- the database -------------------------------------------------------------------------- */

static void auto_backup(sqlite3_backup **backup)
{
    (void)sqlite3_backup_finish(*backup);
}

static wd_status copy_pages(sqlite3 *from, sqlite3 *to,
                            const wd_backup_progress *progress, wd_error *err)
{
    __attribute__((cleanup(auto_backup))) sqlite3_backup *backup =
        sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL)
        return wd_sql_fail(to, "begin the backup", err);
    for (;;) {
        int rc = sqlite3_backup_step(backup, STEP_PAGES);
        const int left = sqlite3_backup_remaining(backup);
        const int of = sqlite3_backup_pagecount(backup);
        if (progress != NULL)
            progress->copied(progress->arg, (uint64_t)(of - left), (uint64_t)of);
        if (rc == SQLITE_DONE)
            return WD_OK;
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
            (void)sqlite3_sleep(BUSY_MS);
        else if (rc != SQLITE_OK)
            return wd_sql_fail(to, "back the database up", err);
    }
}

/* A file of its own: no WAL beside it, all on disk. */
static wd_status copy_database(const char *dir, const char *path,
                               const wd_backup_progress *progress, wd_error *err)
{
    __attribute__((cleanup(wd_auto_sqlite3))) sqlite3 *to = NULL;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO_TRAIL moment = {0}; /* of one moment: else each commit begins it anew */
    WD_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s", path,
                       strerrordesc_np(errno));
    WD_TRY(wd_reader_open(dir, NULL, &reader, err));
    WD_TRY(wd_reader_trail(reader, &moment, err));
    WD_TRY(wd_sql_open(path, SQLITE_OPEN_READWRITE, NULL, &to, err));
    WD_TRY(copy_pages(reader->db, to, progress, err));
    return wd_sql_exec(to, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

/* --- sealed segments -------------------------------------------------------------------------- */

static wd_status copy_bytes(int from, int to, const char *name, wd_error *err)
{
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
        if (n < 0)
            return wd_fail(err, errno == ENOSPC ? WD_RESOURCE_EXHAUSTED : WD_DATA_LOSS,
                           "segment %s: %s", name, strerrordesc_np(errno));
        if (n == 0)
            break;
    }
    if (fsync(to) != 0)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "segment %s: %s", name,
                       strerrordesc_np(errno));
    return WD_OK;
}

static wd_status copy_segment(int from_dir, int to_dir, const char *name, wd_error *err)
{
    WD_AUTO_FD int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0 && errno == ENOENT)
        return WD_OK; /* pruned in the meantime: what is kept of it comes with the next pass */
    WD_AUTO_FD int to =
        openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (from >= 0 && to < 0 && errno == EEXIST)
        return WD_OK; /* by the pass before: segments never change */
    if (from < 0 || to < 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "segment %s: %s", name,
                       strerrordesc_np(errno));
    return copy_bytes(from, to, name, err);
}

/* "1-500.db", "1-500.kept"; not new.db, which is in the making. */
static bool is_segment(const char *name)
{
    const char *dot = strrchr(name, '.');
    return name[0] >= '0' && name[0] <= '9' && dot != NULL &&
           (strcmp(dot, ".db") == 0 || strcmp(dot, ".kept") == 0);
}

static void auto_dir(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

/* Those that are not in the copy yet. */
static wd_status copy_segments(const char *dir, const char *to, wd_error *err)
{
    WD_AUTO(wd_text) *from_path = NULL;
    WD_AUTO(wd_text) *to_path = NULL;
    if (asprintf(&from_path, "%s/" WD_SEGMENT_FOLDER, dir) < 0 ||
        asprintf(&to_path, "%s/" WD_SEGMENT_FOLDER, to) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    __attribute__((cleanup(auto_dir))) DIR *folder = opendir(from_path);
    if (folder == NULL)
        return WD_OK; /* nothing was sealed yet */
    bool there = mkdir(to_path, 0700) == 0 || errno == EEXIST; /* by the pass before */
    WD_AUTO_FD int to_dir =
        there ? open(to_path, O_RDONLY | O_CLOEXEC | O_DIRECTORY) : -1;
    if (to_dir < 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s: %s", to_path,
                       strerrordesc_np(errno));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        if (is_segment(e->d_name))
            WD_TRY(copy_segment(dirfd(folder), to_dir, e->d_name, err));
    return WD_OK;
}

/* --- all of it --------------------------------------------------------------------------------- */

static void remove_files(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        (void)unlinkat(dirfd(folder), e->d_name, 0);
    (void)closedir(folder);
    (void)rmdir(path);
}

static void remove_copy(const char *to)
{
    WD_AUTO(wd_text) *segments = NULL;
    if (asprintf(&segments, "%s/" WD_SEGMENT_FOLDER, to) >= 0)
        remove_files(segments);
    remove_files(to);
}

static wd_status copy_all(const char *dir, const char *to,
                          const wd_backup_progress *progress, wd_error *err)
{
    WD_AUTO(wd_text) *database = NULL;
    WD_AUTO(wd_reader) *reader = NULL;
    if (asprintf(&database, "%s/store.db", to) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_TRY(wd_reader_open(dir, NULL, &reader, err)); /* is there a store at all? */
    /* Twice: what is pruned while the database is copied is then in the first pass, what
     * is sealed in the second. A row that is in both places counts once. */
    WD_TRY(copy_segments(dir, to, err));
    WD_TRY(copy_database(dir, database, progress, err));
    return copy_segments(dir, to, err);
}

wd_status wd_store_backup(const char *dir, const char *to,
                          const wd_backup_progress *progress, wd_error *err)
{
    if (mkdir(to, 0700) != 0)
        return wd_fail(err,
                       errno == EEXIST ? WD_FAILED_PRECONDITION : WD_PERMISSION_DENIED,
                       "%s: %s", to, strerrordesc_np(errno));
    wd_status status = copy_all(dir, to, progress, err);
    if (status != WD_OK)
        remove_copy(to);
    return status;
}
