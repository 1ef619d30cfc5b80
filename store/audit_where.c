#include "store/audit_where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

static wd_status name_of(const wd_segment *segment, char *ret_where, wd_error *err)
{
    WD_AUTO(wd_text) *path = wd_segment_path("", segment);
    if (path == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a path");
    (void)snprintf(ret_where, WD_AUDIT_WHERE_BYTES, "%s", strrchr(path, '/') + 1);
    return WD_OK;
}

wd_status wd_audit_where(wd_reader *reader, uint64_t seq,
                         char ret_where[WD_AUDIT_WHERE_BYTES], wd_error *err)
{
    WD_AUTO_TRAIL trail = {0};
    WD_TRY(wd_reader_trail(reader, &trail, err));
    ret_where[0] = '\0';
    for (size_t i = 0; i < trail.segments.n; i++) {
        const wd_segment *segment = &trail.segments.list[i];
        if (seq >= segment->first && seq <= segment->last)
            return segment->kept_only ? WD_OK : name_of(segment, ret_where, err);
    }
    if (seq > trail.pruned)
        (void)snprintf(ret_where, WD_AUDIT_WHERE_BYTES, "open");
    return WD_OK;
}
