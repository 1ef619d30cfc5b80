/* audit_follow.h - the newest rows of the trail, and those that come after a cursor.
 *
 * Threads: the thread of the reader.
 * Source:  docs/audit.md, "Following". */
#ifndef WD_STORE_AUDIT_FOLLOW_H
#define WD_STORE_AUDIT_FOLLOW_H

#include "store/audit.h"

typedef struct wd_followed {
    wd_head head;      /* up to which was looked */
    uint64_t next_seq; /* where to go on, never 0 */
} wd_followed;

/* The rows from filter->from_seq on, or the newest where that is 0, up to the head that is
 * then told; each row once, whatever is written meanwhile. A filter that names neither
 * event nor method passes no rows that reading the trail makes (without_reads): else who
 * follows would wake himself.
 * Errors: as wd_audit_query */
WD_MUST_USE wd_status wd_audit_follow(wd_reader *reader, const wd_audit_filter *filter,
                                      const wd_audit_sink *sink, wd_followed *ret,
                                      wd_error *err);

#endif
