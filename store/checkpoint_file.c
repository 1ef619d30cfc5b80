#include "store/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CURE                                                                           \
    "Put back the copy that is kept elsewhere; or, to go on without what it proves, "  \
    "move it away: the next signature makes it anew. Tell whoever relies on the trail"

/* What has its name and is no checkpoint: nothing that a gate writes. */
static wd_status refuse_file(const char *dir, const char *what, wd_error *err)
{
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "%.300s/checkpoint, the newest signature of the trail, can't be "
                     "used: %s. " CURE,
                     dir, what);
}

wd_status wd_checkpoint_file_read(const char *dir, char ret_text[WD_CHECKPOINT_BYTES],
                                  wd_error *err)
{
    char path[4096];
    struct stat st;
    ret_text[0] = '\0';
    (void)snprintf(path, sizeof(path), "%s/checkpoint", dir);
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return WD_OK;
    if (fd < 0 && errno == ELOOP)
        return refuse_file(dir, "it is a symbolic link", err);
    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        return refuse_file(dir, "it is no regular file", err);
    ssize_t size = fd >= 0 ? read(fd, ret_text, WD_CHECKPOINT_BYTES) : -1;
    if (size < 0)
        return wd_fail(err, WD_UNAVAILABLE,
                       "%s: %s; check its owner and its mode, and the disk", path,
                       strerrordesc_np(errno));
    if (size == 0)
        return refuse_file(dir, "it is empty", err);
    if (size == WD_CHECKPOINT_BYTES)
        return refuse_file(dir, "it is longer than one can be", err);
    ret_text[size] = '\0';
    if (strlen(ret_text) != (size_t)size)
        return refuse_file(dir, "it is no text", err);
    return WD_OK;
}

static wd_status broken(const wd_trail *trail, wd_audit_fault fault, uint64_t seq,
                        wd_audit_report *ret_report, wd_error *err)
{
    const char *what = fault == WD_AUDIT_TAIL_CUT ? "is missing"
                       : fault == WD_AUDIT_FORKED ? "is not the row that it has seen"
                                                  : "is of another chain";
    ret_report->fault = fault;
    ret_report->bad_seq = seq;
    return wd_refuse(
        err, WD_REASON_CHAIN_BROKEN,
        "%.300s/checkpoint was signed when more was on record: audit row "
        "%llu %s. A file of the store was damaged, or is an older copy: put "
        "the newest back; to go on without those rows, move the file "
        "'checkpoint' away and tell whoever relies on the trail",
        trail->place.dir, (unsigned long long)seq, what);
}

wd_status wd_checkpoint_file_check(const char *text, wd_trail *trail,
                                   wd_audit_report *ret_report, wd_error *err)
{
    wd_checkpoint seen;
    uint8_t hash[WD_AUDIT_HASH_BYTES];
    if (text[0] == '\0')
        return WD_OK;
    wd_error why = {0};
    if (wd_checkpoint_parse(text, &seen, &why) != WD_OK) {
        ret_report->fault = WD_AUDIT_CHECKPOINT_BAD;
        return refuse_file(trail->place.dir, why.msg, err);
    }
    const uint64_t seq = seen.head.seq;
    if (strcmp(seen.chain_id, trail->place.chain_id) != 0)
        return broken(trail, WD_AUDIT_OTHER_CHAIN, seq, ret_report, err);
    if (seq < trail->pruned)
        return WD_OK;
    wd_status status = wd_trail_hash(trail, seq, hash, err);
    if (status == WD_NOT_FOUND)
        return broken(trail, WD_AUDIT_TAIL_CUT, seq, ret_report, err);
    if (status == WD_OK && memcmp(hash, seen.head.hash, sizeof(hash)) != 0)
        return broken(trail, WD_AUDIT_FORKED, seq, ret_report, err);
    return status;
}
