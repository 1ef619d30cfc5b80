#include "server/config_retention.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool wd_path_is_inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || folder[n - 1] == '/');
}

static wd_status check_limits(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    const uint64_t age = c->audit.retention.age_ms;
    const uint64_t bytes = c->audit.retention.bytes;
    f->key = "audit.retention.age_ms";
    if (age != 0 && age < WD_RETENTION_LEAST_MS)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "audit.retention.age_ms: %" PRIu64 ": allowed: 0 (never), or %u "
                       "and more: rows of the last hour are never pruned",
                       age, WD_RETENTION_LEAST_MS);
    f->key = "audit.retention.bytes";
    if (bytes != 0 && bytes < c->audit.segment_bytes)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "audit.retention.bytes: %" PRIu64 ": allowed: 0 (no limit), or "
                       "audit.segment_bytes, %" PRIu64 ", and more",
                       bytes, c->audit.segment_bytes);
    return WD_OK;
}

/* Not among the segments, which it is to outlive. */
static wd_status check_exports(wd_config *c, wd_rule_failure *f, wd_error *err)
{
    char *segments = wd_path_join(c->store.path, "audit");
    if (segments == NULL)
        return wd_fail(err, WD_INTERNAL, "out of memory");
    bool among = wd_path_is_inside(c->audit.export_dir, segments);
    free(segments);
    f->key = "audit.export_dir";
    if (among || strcmp(c->audit.export_dir, "/") == 0)
        return wd_fail(
            err, WD_INVALID_ARGUMENT,
            "audit.export_dir: \"%.200s\": allowed: a folder of its own, not "
            "that of the sealed segments",
            c->audit.export_dir);
    return WD_OK;
}

wd_status wd_retention_check(wd_config *config, wd_rule_failure *ret_failure,
                             wd_error *err)
{
    WD_TRY(check_limits(config, ret_failure, err));
    return check_exports(config, ret_failure, err);
}
