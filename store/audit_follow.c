#include "store/audit_follow.h"

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

wd_status wd_audit_follow(wd_reader *reader, const wd_audit_filter *filter,
                          const wd_audit_sink *sink, wd_head *ret_head,
                          uint64_t *ret_next_seq, wd_error *err)
{
    wd_audit_filter up = *filter;
    uint64_t next = 0;
    WD_TRY(wd_audit_read_head(reader, ret_head, err));
    up.to_seq = ret_head->seq;
    up.without_reads = !is_set(filter->event) && !is_set(filter->method);
    if (up.from_seq == 0)
        WD_TRY(wd_audit_tail(reader, &up, sink, err));
    else if (up.from_seq <= up.to_seq)
        WD_TRY(wd_audit_query(reader, &up, sink, &next, err));
    *ret_next_seq = next != 0 ? next : ret_head->seq + 1;
    if (up.from_seq > *ret_next_seq)
        *ret_next_seq = up.from_seq;
    return WD_OK;
}
