#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/cleanup.h"
#include "proto/c/sha256.h"
#include "store/tokctl/find.h"
#include "store/tokctl/scan.h"

#define PIECE_BYTES (64U << 10)

/* What the finder hands back. */
typedef struct place {
    wd_scan *scan;
    const char *path;
} place;

static bool found(void *arg, const wd_token_text *token, size_t line)
{
    const place *at = arg;
    const wd_sighting sighting = {at->path, line, token};
    return at->scan->found(at->scan->arg, &sighting);
}

static void unreadable(wd_scan *scan, const char *path, int error)
{
    scan->unreadable++;
    (void)fprintf(stderr, "tokctl scan: %s: %s\n", path, strerrordesc_np(error));
}

/* false: enough. */
static bool scan_file(wd_scan *scan, const char *path)
{
    place at = {scan, path};
    wd_finder finder = {.arg = &at, .found = found};
    uint8_t piece[PIECE_BYTES];
    bool more = true;
    ssize_t size = 0;
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        unreadable(scan, path, errno);
        return true;
    }
    scan->files++;
    while (more && (size = read(fd, piece, sizeof(piece))) > 0)
        more = wd_finder_feed(&finder, (wd_span){piece, (size_t)size});
    if (size < 0)
        unreadable(scan, path, errno);
    more = wd_finder_end(&finder) && more;
    wd_wipe(piece, sizeof(piece));
    return more;
}

/* false: enough. */
static bool visit(wd_scan *scan, FTS *tree, FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_D:
        if (strcmp(entry->fts_name, ".git") == 0 && entry->fts_level > 0)
            (void)fts_set(tree, entry, FTS_SKIP);
        return true;
    case FTS_F:
        return scan_file(scan, entry->fts_path);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        unreadable(scan, entry->fts_path, entry->fts_errno);
        return true;
    default:
        return true;
    }
}

wd_status wd_scan_tree(wd_scan *scan, const char *path, wd_error *err)
{
    union { /* fts_open's signature lacks const */
        const char *in;
        char *out;
    } root = {path};
    char *const roots[] = {root.out, NULL};
    if (access(path, F_OK) != 0)
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerrordesc_np(errno));
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (tree == NULL)
        return wd_fail(err, WD_NOT_FOUND, "%s: %s", path, strerrordesc_np(errno));
    bool more = true;
    for (FTSENT *entry = fts_read(tree); more && entry != NULL; entry = fts_read(tree))
        more = visit(scan, tree, entry);
    (void)fts_close(tree);
    return WD_OK;
}
