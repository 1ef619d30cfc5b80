#include "store/audit_follow.h"

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

wd_status wd_audit_follow(wd_reader *reader, const wd_audit_filter *filter,
                          const wd_audit_sink *sink, wd_followed *ret, wd_error *err)
{
    wd_audit_filter up = *filter;
    wd_head head;
    uint64_t next = 0;
    WD_TRY(wd_audit_read_head(reader, &head, err));
    up.to_seq = head.seq;
    up.without_reads = !is_set(filter->event) && !is_set(filter->method);
    if (up.from_seq == 0)
        WD_TRY(wd_audit_tail(reader, &up, sink, err));
    else if (up.from_seq <= up.to_seq)
        WD_TRY(wd_audit_query(reader, &up, sink, &next, err));
    if (next == 0)
        next = head.seq + 1;
    *ret = (wd_followed){head, up.from_seq > next ? up.from_seq : next};
    return WD_OK;
}
