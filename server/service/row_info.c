#include "server/service/row_info.h"

#include <string.h>

#include "server/service/pb.h"

typedef struct copying {
    wd_budget *budget;
    bool full; /* the budget is spent */
} copying;

static char *copy(copying *g, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return wd_pb_text("");
    char *kept = wd_budget_text(g->budget, text, strlen(text));
    if (kept == NULL)
        g->full = true;
    return kept != NULL ? kept : wd_pb_text("");
}

static ProtobufCBinaryData copy_hash(copying *g, const uint8_t *hash)
{
    void *kept = wd_budget_take(g->budget, WD_AUDIT_HASH_BYTES);

    if (kept == NULL) {
        g->full = true;
        return (ProtobufCBinaryData){0, NULL};
    }
    memcpy(kept, hash, WD_AUDIT_HASH_BYTES);
    return wd_pb_bytes(kept, WD_AUDIT_HASH_BYTES);
}

static void copy_texts(copying *g, Warded__V1__AuditRow *to, const wd_audit_row *row)
{
    to->chain_id = copy(g, row->chain_id);
    to->event = copy(g, row->event);
    to->outcome = copy(g, row->outcome);
    to->reason = copy(g, row->reason);
    to->principal = copy(g, row->principal);
    to->token_id = copy(g, row->token_id);
    to->peer_cert = copy(g, row->peer_cert);
    to->peer_addr = copy(g, row->peer_addr);
    to->method = copy(g, row->method);
    to->scope = copy(g, row->scope);
    to->trajectory_id = copy(g, row->trajectory_id);
    to->session_id = copy(g, row->session_id);
    to->episode_id = copy(g, row->episode_id);
    to->call_id = copy(g, row->call_id);
    to->trace_id = copy(g, row->trace_id);
    to->digest = copy(g, row->digest);
    to->detail = copy(g, row->detail);
    to->tool = copy(g, row->tool);
    to->owner = copy(g, row->owner);
    to->family = copy(g, row->family);
    to->pool = copy(g, row->pool);
}

static void copy_numbers(Warded__V1__AuditRow *to, const wd_audit_row *row)
{
    to->seq = row->seq;
    to->wall_ms = (uint64_t)row->wall_ms;
    to->mono_ns = (uint64_t)row->mono_ns;
    to->code = row->code;
    to->duration_us = row->duration_us;
    to->bytes_in = row->bytes_in;
    to->bytes_out = row->bytes_out;
    to->item = row->item;
}

Warded__V1__AuditRow *wd_row_info_copy(const wd_audit_row *row, wd_budget *budget)
{
    copying g = {.budget = budget};
    Warded__V1__AuditRow *to = wd_budget_take(budget, sizeof(*to));

    if (to == NULL)
        return NULL;
    warded__v1__audit_row__init(to);
    copy_texts(&g, to, row);
    copy_numbers(to, row);
    to->prev_hash = copy_hash(&g, row->prev_hash);
    to->hash = copy_hash(&g, row->hash);
    return g.full ? NULL : to;
}

void wd_row_filter(const Warded__V1__AuditFilter *asked, wd_audit_filter *filter)
{
    if (asked == NULL)
        return;
    filter->since_ms = (int64_t)asked->since_ms;
    filter->until_ms = (int64_t)asked->until_ms;
    filter->event = asked->event;
    filter->outcome = asked->outcome;
    filter->codes = asked->codes;
    filter->n_codes = asked->n_codes;
    filter->reason = asked->reason;
    filter->principal = asked->principal;
    filter->peer = asked->peer;
    filter->token_id = asked->token_id;
    filter->family = asked->family;
    filter->owner = asked->owner;
    filter->method = asked->method;
    filter->pool = asked->pool;
    filter->session_id = asked->session_id;
    filter->episode_id = asked->episode_id;
    filter->trajectory_id = asked->trajectory_id;
    filter->call_id = asked->call_id;
    filter->trace_id = asked->trace_id;
    filter->tool = asked->tool;
}

/* --- what was pruned ------------------------------------------------------------------- */

Warded__V1__AuditGap *wd_row_gap_copy(const wd_tombstone *tombstone, wd_budget *budget)
{
    copying g = {.budget = budget};
    Warded__V1__AuditGap *to = wd_budget_take(budget, sizeof(*to));

    if (to == NULL)
        return NULL;
    warded__v1__audit_gap__init(to);
    to->first_seq = tombstone->first;
    to->last_seq = tombstone->last;
    to->tombstone_seq = tombstone->seq;
    to->export = copy(&g, tombstone->file);
    to->sha256 = copy(&g, tombstone->sha256);
    return g.full ? NULL : to;
}

Warded__V1__AuditGap **wd_row_gaps_copy(const wd_tombstones *all, wd_budget *budget,
                                        size_t *ret_n)
{
    Warded__V1__AuditGap **list =
        wd_budget_take(budget, (all->n + 1) * sizeof(Warded__V1__AuditGap *));

    for (size_t i = 0; list != NULL && i < all->n; i++) {
        list[i] = wd_row_gap_copy(&all->list[i], budget);
        if (list[i] == NULL)
            return NULL;
    }
    *ret_n = all->n;
    return list;
}

wd_status wd_row_gaps(wd_reader *reader, const wd_audit_filter *filter, uint64_t next,
                      wd_tombstones *ret, wd_error *err)
{
    uint64_t low = filter->newest_first ? filter->to_seq : filter->from_seq;
    uint64_t high = filter->newest_first ? filter->from_seq : filter->to_seq;

    if (high == 0)
        high = INT64_MAX;
    if (next != 0 && filter->newest_first)
        low = next + 1;
    else if (next != 0)
        high = next - 1;
    return wd_tombstones_between(reader, low, high, ret, err);
}
