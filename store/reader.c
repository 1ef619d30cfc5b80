#include "store/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"
#include "store/schema.h"

#define PROGRESS_STEPS 1000 /* of SQLite's machine between two looks at the clock */

static wd_status find_db(const char *dir, char **ret_path, wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    if (asprintf(&path, "%s/store.db", dir) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return wd_fail(err, WD_FAILED_PRECONDITION, "%s is no regular file", path);
    if (access(path, R_OK) != 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return wd_fail(err, absent ? WD_NOT_FOUND : WD_PERMISSION_DENIED,
                       absent ? "no store in %s: %s: %s%s"
                              : "can't read the store in %s: %s: %s%s",
                       dir, path, strerrordesc_np(errno), wd_rights_cure(errno));
    }
    *ret_path = WD_STEAL(path);
    return WD_OK;
}

static wd_status set_up(wd_reader *reader, wd_error *err)
{
    WD_TRY(wd_sql_exec(reader->db, "PRAGMA query_only = 1", err));
    WD_TRY(wd_schema_check(reader->db, err));
    return wd_meta_read(reader->db, "chain_id", reader->chain_id,
                        sizeof(reader->chain_id), err);
}

wd_status wd_reader_open(const char *dir, const char *vfs, wd_reader **ret_reader,
                         wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    WD_TRY(find_db(dir, &path, err));
    WD_AUTO(wd_reader) *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a reader");
    reader->vfs = vfs;
    reader->dir = strdup(dir);
    if (reader->dir == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a reader");
    WD_TRY(wd_sql_open(path, SQLITE_OPEN_READONLY, vfs, &reader->db, err));
    WD_TRY(set_up(reader, err));
    *ret_reader = WD_STEAL(reader);
    return WD_OK;
}

void wd_reader_close(wd_reader *reader)
{
    if (reader == NULL)
        return;
    (void)sqlite3_close_v2(reader->db);
    free(reader->dir);
    free(reader);
}

wd_status wd_reader_trail(wd_reader *reader, wd_trail *ret_trail, wd_error *err)
{
    const wd_trail_place place = {reader->dir, reader->vfs, reader->chain_id,
                                  &reader->deadline_ms};
    return wd_trail_begin(reader->db, &place, ret_trail, err);
}

/* SQLite asks every so often: other than 0 ends the statement. */
static int is_late(void *arg)
{
    const wd_reader *reader = arg;
    return wd_clock_mono_ms(wd_clock_system()) >= reader->deadline_ms;
}

void wd_reader_set_deadline(wd_reader *reader, int64_t mono_ms)
{
    reader->deadline_ms = mono_ms;
    sqlite3_progress_handler(reader->db, PROGRESS_STEPS, mono_ms != 0 ? is_late : NULL,
                             reader);
}

int64_t wd_reader_highest_ms(const wd_reader *reader)
{
    char kept[24];
    if (wd_meta_read(reader->db, "highest_wall_ms", kept, sizeof(kept), NULL) != WD_OK)
        return 0;
    return strtoll(kept, NULL, 10);
}
