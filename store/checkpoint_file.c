#include "store/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

wd_status wd_checkpoint_file_read(const char *dir, char ret_text[WD_CHECKPOINT_BYTES],
                                  wd_error *err)
{
    char path[4096];
    ret_text[0] = '\0';
    (void)snprintf(path, sizeof(path), "%s/checkpoint", dir);
    WD_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return WD_OK;
    ssize_t size = fd >= 0 ? read(fd, ret_text, WD_CHECKPOINT_BYTES) : -1;
    if (size < 0)
        return wd_fail(err, WD_UNAVAILABLE, "%s: %s", path, strerror(errno));
    if (size == WD_CHECKPOINT_BYTES)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "%s is no checkpoint: more than %u bytes", path,
                         WD_CHECKPOINT_BYTES - 1);
    ret_text[size] = '\0';
    return WD_OK;
}

static wd_status broken(const wd_trail *trail, wd_audit_fault fault, uint64_t seq,
                        wd_audit_report *ret_report, wd_error *err)
{
    const char *what = fault == WD_AUDIT_TAIL_CUT ? "is missing"
                       : fault == WD_AUDIT_FORKED ? "is not the row that it has seen"
                       : fault == WD_AUDIT_OTHER_CHAIN ? "is of another chain"
                                                       : "can't be read from it";
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
    if (wd_checkpoint_parse(text, &seen, NULL) != WD_OK)
        return broken(trail, WD_AUDIT_CHECKPOINT_BAD, 0, ret_report, err);
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
