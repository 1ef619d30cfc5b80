#include "store/prune_export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/c/buffer.h"
#include "store/audit_cells.h"
#include "store/audit_export.h"
#include "store/gentle_sync.h"

#define PIECE_BYTES (256U << 10)
#define OTHERS      0022 /* may write */

/* One file being written. */
typedef struct writing {
    const wd_prune_export *to;
    int folder;
    int fd;
    wd_buffer piece;
    wd_sha256 sha;
    uint64_t bytes;
    wd_tombstone *t;
} writing;

static void writing_done(writing *w)
{
    wd_buffer_done(&w->piece);
    wd_auto_fd(&w->fd);
    wd_auto_fd(&w->folder);
}

/* What an errno of the exports' disk means. */
static wd_status disk_fails(const writing *w, const char *doing, wd_error *err)
{
    const int code = errno;
    const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
    return wd_fail(err, full ? WD_RESOURCE_EXHAUSTED : WD_UNAVAILABLE,
                   "could not %s %s in %s: %s", doing, w->t->file, w->to->folder,
                   strerrordesc_np(code));
}

/* --- the folder ------------------------------------------------------------------- */

static wd_status check_folder(const wd_prune_export *to, int fd, wd_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s: %s", to->folder,
                       strerrordesc_np(errno));
    if ((st.st_mode & OTHERS) != 0)
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "%s can be written to by others (mode %04o), who could take an "
                       "export away: chmod go-w it",
                       to->folder, st.st_mode & 07777);
    return WD_OK;
}

/* Root may work on a store of the gate's user, who must be able to read it. */
static bool give_to_owner(const wd_prune_export *to, int fd)
{
    struct stat st;
    return geteuid() != 0 ||
           (stat(to->dir, &st) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0);
}

static wd_status open_folder(const wd_prune_export *to, int *ret_fd, wd_error *err)
{
    const bool made = mkdir(to->folder, 0700) == 0;
    if (!made && errno != EEXIST)
        return wd_fail(err, errno == ENOSPC ? WD_RESOURCE_EXHAUSTED : WD_UNAVAILABLE,
                       "could not make the folder of exports %s: %s", to->folder,
                       strerrordesc_np(errno));
    WD_AUTO_FD int fd = open(to->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return wd_fail(err, errno == ENOTDIR ? WD_FAILED_PRECONDITION : WD_UNAVAILABLE,
                       "could not open the folder of exports %s: %s", to->folder,
                       strerrordesc_np(errno));
    if (made && !give_to_owner(to, fd))
        return wd_fail(err, WD_UNAVAILABLE,
                       "could not give %s to the store's owner: %s", to->folder,
                       strerrordesc_np(errno));
    WD_TRY(check_folder(to, fd, err));
    *ret_fd = WD_STEAL_FD(fd);
    return WD_OK;
}

/* --- rows ------------------------------------------------------------------------- */

static wd_status put(const writing *w, int fd, wd_span data, wd_error *err)
{
    for (size_t at = 0; at < data.size;) {
        ssize_t n = write(fd, data.data + at, data.size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return disk_fails(w, "write", err);
        at += (size_t)n;
    }
    return WD_OK;
}

static wd_status flush(writing *w, wd_error *err)
{
    const wd_span piece = wd_buffer_span(&w->piece);
    wd_sha256_add(&w->sha, piece.data, piece.size);
    w->bytes += piece.size;
    WD_TRY(put(w, w->fd, piece, err));
    wd_buffer_clear(&w->piece);
    return WD_OK;
}

static wd_status add_row(writing *w, sqlite3_stmt *stmt, wd_error *err)
{
    wd_audit_row row;
    wd_audit_row_read(stmt, w->to->chain_id, &row);
    WD_TRY(wd_sql_whole(stmt, err));
    if (!wd_export_row(WD_EXPORT_JSONL, &row, &w->piece))
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for an export");
    return w->piece.size >= PIECE_BYTES ? flush(w, err) : WD_OK;
}

static wd_status add_rows(writing *w, const wd_source *source, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(
        source->db, "SELECT " WD_AUDIT_COLUMNS " FROM audit ORDER BY seq", &stmt, err));
    for (uint64_t seq = source->first;; seq++) {
        bool more = false;
        WD_TRY(wd_sql_next(stmt, &more, err));
        if (!more && seq == source->last + 1)
            return flush(w, err);
        if (!more || sqlite3_column_int64(stmt, 0) != (int64_t)seq)
            return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                             "audit row %llu is missing: nothing is pruned",
                             (unsigned long long)seq);
        if (w->to->stop != NULL && atomic_load(w->to->stop))
            return wd_refuse(err, WD_REASON_CANCELLED, "exporting was told to stop");
        WD_TRY(add_row(w, stmt, err));
    }
}

/* --- files ------------------------------------------------------------------------ */

static wd_status digest_of(int fd, wd_tombstone *ret, wd_error *err)
{
    uint8_t buffer[16384];
    uint8_t digest[WD_SHA256_BYTES];
    wd_sha256 sha;
    wd_sha256_init(&sha);
    ret->bytes = 0;
    for (;;) {
        ssize_t n = read(fd, buffer, sizeof(buffer));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return wd_fail(err, WD_PERMISSION_DENIED, "it could not be read: %s",
                           strerrordesc_np(errno));
        if (n == 0)
            break;
        wd_sha256_add(&sha, buffer, (size_t)n);
        ret->bytes += (uint64_t)n;
    }
    wd_sha256_end(&sha, digest);
    wd_hex((wd_span){digest, sizeof(digest)}, ret->sha256);
    return WD_OK;
}

static bool same_file(const wd_tombstone *a, const wd_tombstone *b)
{
    return a->bytes == b->bytes && strcmp(a->sha256, b->sha256) == 0;
}

static wd_status make_part(writing *w, const char *part, wd_error *err)
{
    (void)unlinkat(w->folder, part, 0);
    w->fd = openat(w->folder, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600);
    return w->fd >= 0 && give_to_owner(w->to, w->fd) ? WD_OK
                                                     : disk_fails(w, "make", err);
}

/* What is on the disk is what was written. */
static wd_status settle_part(writing *w, wd_error *err)
{
    wd_tombstone found = {.seq = 0};
    if (fchmod(w->fd, 0400) != 0 || wd_gentle_sync(w->fd) != 0)
        return disk_fails(w, "sync", err);
    if (lseek(w->fd, 0, SEEK_SET) != 0)
        return disk_fails(w, "read", err);
    WD_TRY(digest_of(w->fd, &found, err));
    if (!same_file(&found, w->t))
        return wd_fail(err, WD_DATA_LOSS,
                       "%s in %s is not what was written: its disk fails", w->t->file,
                       w->to->folder);
    return WD_OK;
}

/* There is one of this name already: a crash left it, or it is of another trail. */
static wd_status compare_old(const writing *w, int fd, wd_error *err)
{
    wd_tombstone found = {.seq = 0};
    WD_TRY(digest_of(fd, &found, err));
    if (!same_file(&found, w->t))
        return wd_fail(err, WD_FAILED_PRECONDITION,
                       "%s/%s is there already and says something else: it may be of a "
                       "copy of this store; move it away",
                       w->to->folder, w->t->file);
    return fsync(fd) == 0 ? WD_OK : disk_fails(w, "sync", err);
}

static wd_status name_part(const writing *w, const char *part, wd_error *err)
{
    WD_AUTO_FD int old =
        openat(w->folder, w->t->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (old >= 0)
        WD_TRY(compare_old(w, old, err));
    else if (errno != ENOENT)
        return disk_fails(w, "open", err);
    else if (renameat(w->folder, part, w->folder, w->t->file) != 0)
        return disk_fails(w, "name", err);
    return fsync(w->folder) == 0 ? WD_OK : disk_fails(w, "sync", err);
}

/* For people: the tombstone is what counts. */
static wd_status write_digest(writing *w, wd_error *err)
{
    char name[WD_TOMBSTONE_EXPORT_BYTES + 8];
    char line[WD_TOMBSTONE_EXPORT_BYTES + WD_SHA256_HEX_BYTES + 4];
    (void)snprintf(name, sizeof(name), "%s.sha256", w->t->file);
    int size = snprintf(line, sizeof(line), "%s  %s\n", w->t->sha256, w->t->file);
    (void)unlinkat(w->folder, name, 0);
    WD_AUTO_FD int fd = openat(
        w->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (fd < 0 || !give_to_owner(w->to, fd))
        return disk_fails(w, "make the digest of", err);
    WD_TRY(put(w, fd, (wd_span){(const uint8_t *)line, (size_t)size}, err));
    return fsync(fd) == 0 ? WD_OK : disk_fails(w, "sync the digest of", err);
}

static wd_status write_part(writing *w, const char *part, const wd_source *source,
                            wd_error *err)
{
    uint8_t digest[WD_SHA256_BYTES];
    wd_sha256_init(&w->sha);
    WD_TRY(make_part(w, part, err));
    WD_TRY(add_rows(w, source, err));
    wd_sha256_end(&w->sha, digest);
    wd_hex((wd_span){digest, sizeof(digest)}, w->t->sha256);
    w->t->bytes = w->bytes;
    WD_TRY(settle_part(w, err));
    WD_TRY(write_digest(w, err));
    return name_part(w, part, err);
}

wd_status wd_prune_export_write(const wd_prune_export *to, const wd_source *source,
                                wd_tombstone *t, wd_error *err)
{
    __attribute__((cleanup(writing_done))) writing w = {
        .to = to, .folder = -1, .fd = -1, .t = t};
    char part[WD_TOMBSTONE_EXPORT_BYTES + 8];
    (void)snprintf(t->file, sizeof(t->file), "%s-%llu-%llu.jsonl", to->chain_id,
                   (unsigned long long)source->first, (unsigned long long)source->last);
    (void)snprintf(part, sizeof(part), ".%s.part", t->file);
    WD_TRY(open_folder(to, &w.folder, err));
    wd_status status = write_part(&w, part, source, err);
    (void)unlinkat(w.folder, part, 0);
    return status;
}

/* --- looked at -------------------------------------------------------------------- */

static wd_status look(const char *folder, const wd_tombstone *t, wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    wd_tombstone found = {.seq = 0};
    if (asprintf(&path, "%s/%s", folder, t->file) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return wd_fail(err, WD_DATA_LOSS, "it is not in %s", folder);
    if (fd < 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "could not look at %s: %s", path,
                       strerrordesc_np(errno));
    WD_TRY(digest_of(fd, &found, err));
    if (!same_file(&found, t))
        return wd_fail(err, WD_DATA_LOSS,
                       "%s is another file: %llu bytes with SHA-256 %.16s..., not %llu "
                       "with %.16s...",
                       path, (unsigned long long)found.bytes, found.sha256,
                       (unsigned long long)t->bytes, t->sha256);
    return WD_OK;
}

wd_status wd_prune_export_check(const char *folder, const wd_tombstone *t,
                                wd_error *err)
{
    wd_error cause;
    wd_status status = look(folder, t, &cause);
    if (status == WD_OK)
        return WD_OK;
    return wd_fail(err, status, "the export of rows %llu to %llu, %s: %s",
                   (unsigned long long)t->first, (unsigned long long)t->last, t->file,
                   cause.msg);
}

/* --- rows that somebody saw --------------------------------------------------------- */

/* The hash of a line: no text of a row has these bytes, for its quotes are escaped. */
static bool line_has(const char *line, const wd_head *head)
{
    static const char name[] = ",\"hash\":\"";
    char want[WD_SHA256_HEX_BYTES];
    const char *at = strstr(line, name);
    wd_hex((wd_span){head->hash, sizeof(head->hash)}, want);
    return at != NULL &&
           strncmp(at + sizeof(name) - 1, want, WD_SHA256_HEX_BYTES - 1) == 0;
}

static uint64_t first_bad(FILE *file, const wd_tombstone *t, const wd_seen_head *seen,
                          size_t n)
{
    WD_AUTO(wd_text) *line = NULL;
    size_t room = 0;
    for (uint64_t seq = t->first; n > 0; seq++) {
        if (getline(&line, &room, file) < 0)
            return seen->head.seq;
        for (; n > 0 && seen->head.seq == seq; seen++, n--)
            if (!line_has(line, &seen->head))
                return seq;
    }
    return 0;
}

wd_status wd_prune_export_seen(const char *folder, const wd_tombstone *t,
                               wd_export_seen *seen, wd_error *err)
{
    WD_AUTO(wd_text) *path = NULL;
    if (asprintf(&path, "%s/%s", folder, t->file) < 0)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    WD_AUTO_FILE FILE *file = fopen(path, "re");
    if (file == NULL)
        return wd_fail(err, WD_PERMISSION_DENIED, "could not look into %s: %s", path,
                       strerrordesc_np(errno));
    seen->bad_seq = first_bad(file, t, seen->list, seen->n);
    if (ferror(file) != 0)
        return wd_fail(err, WD_PERMISSION_DENIED, "%s could not be read", path);
    return WD_OK;
}
