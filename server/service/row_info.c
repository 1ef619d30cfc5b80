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
