#include "store/tokctl/views.h"

#include "proto/c/sha256.h"

const wd_column wd_token_columns[] = {
    {"ID", "id", WD_COLUMN_TEXT},
    {"NAME", "name", WD_COLUMN_TEXT},
    {"KIND", "kind", WD_COLUMN_TEXT},
    {"OWNER", "owner", WD_COLUMN_TEXT},
    {"STATE", "state", WD_COLUMN_TEXT},
    {"SCOPES", "scopes", WD_COLUMN_TEXT},
    {"EXPIRES", "expires_ms", WD_COLUMN_TIME},
    {"LAST USED", "last_used_ms", WD_COLUMN_TIME},
    {"BIND", "bind", WD_COLUMN_WHO},
    {NULL, NULL, WD_COLUMN_TEXT},
};

const wd_column wd_token_members[] = {
    {"id", "id", WD_COLUMN_TEXT},
    {"kind", "kind", WD_COLUMN_TEXT},
    {"name", "name", WD_COLUMN_TEXT},
    {"owner", "owner", WD_COLUMN_TEXT},
    {"purpose", "purpose", WD_COLUMN_TEXT},
    {"audience", "audience", WD_COLUMN_TEXT},
    {"scopes", "scopes", WD_COLUMN_TEXT},
    {"bind", "bind", WD_COLUMN_TEXT},
    {"state", "state", WD_COLUMN_TEXT},
    {"created", "created_ms", WD_COLUMN_TIME},
    {"not before", "not_before_ms", WD_COLUMN_TIME},
    {"expires", "expires_ms", WD_COLUMN_TIME},
    {"revoked", "revoked_ms", WD_COLUMN_TIME},
    {"revoked because", "revoked_reason", WD_COLUMN_TEXT},
    {"last used", "last_used_ms", WD_COLUMN_TIME},
    {NULL, NULL, WD_COLUMN_TEXT},
};

const wd_column wd_row_columns[] = {
    {"SEQ", "seq", WD_COLUMN_TEXT},
    {"TIME", "wall_ms", WD_COLUMN_TIME},
    {"EVENT", "event", WD_COLUMN_TEXT},
    {"OUTCOME", "outcome", WD_COLUMN_TEXT},
    {"REASON", "reason", WD_COLUMN_TEXT},
    {"WHO", "principal", WD_COLUMN_WHO},
    {"TOKEN", "token_id", WD_COLUMN_TEXT},
    {"METHOD", "method", WD_COLUMN_METHOD},
    {"TRAJECTORY", "trajectory_id", WD_COLUMN_TEXT},
    {"TOOL", "tool", WD_COLUMN_TEXT},
    {"CALL", "call_id", WD_COLUMN_TEXT},
    {"ITEM", "item", WD_COLUMN_TEXT},
    {"DETAIL", "detail", WD_COLUMN_TEXT},
    {NULL, NULL, WD_COLUMN_TEXT},
};

static void set_text(json_t *object, const char *member, const char *text)
{
    (void)json_object_set_new(object, member, wd_output_text(text));
}

static void set_number(json_t *object, const char *member, int64_t number)
{
    (void)json_object_set_new(object, member, json_integer(number));
}

json_t *wd_token_view(const wd_token *token, int64_t now_ms)
{
    json_t *view = json_object();
    json_t *scopes = json_array();
    for (size_t i = 0; i < token->n_scopes; i++)
        (void)json_array_append_new(scopes, wd_output_text(token->scopes[i]));
    set_text(view, "id", token->id);
    set_text(view, "kind", wd_token_kind_name(token->kind));
    set_text(view, "name", token->name);
    set_text(view, "owner", token->owner);
    set_text(view, "purpose", token->purpose);
    set_text(view, "audience", token->audience);
    (void)json_object_set_new(view, "scopes", scopes);
    set_text(view, "bind", token->bind);
    set_text(view, "state", wd_token_state_name(wd_token_state_at(token, now_ms)));
    set_number(view, "created_ms", token->created_ms);
    set_number(view, "not_before_ms", token->not_before_ms);
    set_number(view, "expires_ms", wd_token_expires_ms(token));
    set_number(view, "revoked_ms", wd_token_revoked_ms(token));
    set_text(view, "revoked_reason", wd_token_revoked_reason(token));
    set_number(view, "last_used_ms", wd_token_last_used_ms(token));
    return view;
}

static void set_hash(json_t *object, const char *member,
                     const uint8_t hash[WD_AUDIT_HASH_BYTES])
{
    char text[WD_SHA256_HEX_BYTES];
    wd_hex((wd_span){hash, WD_AUDIT_HASH_BYTES}, text);
    set_text(object, member, text);
}

static void set_names(json_t *view, const wd_audit_row *row)
{
    set_text(view, "reason", row->reason);
    set_text(view, "principal", row->principal);
    set_text(view, "token_id", row->token_id);
    set_text(view, "peer_cert", row->peer_cert);
    set_text(view, "peer_addr", row->peer_addr);
    set_text(view, "method", row->method);
    set_text(view, "scope", row->scope);
    set_text(view, "trajectory_id", row->trajectory_id);
    set_text(view, "session_id", row->session_id);
    set_text(view, "episode_id", row->episode_id);
    set_text(view, "call_id", row->call_id);
    set_text(view, "trace_id", row->trace_id);
}

json_t *wd_row_view(const wd_audit_row *row)
{
    json_t *view = json_object();
    set_number(view, "seq", (int64_t)row->seq);
    set_text(view, "chain_id", row->chain_id);
    set_number(view, "wall_ms", row->wall_ms);
    set_number(view, "mono_ns", row->mono_ns);
    set_text(view, "event", row->event);
    set_text(view, "outcome", row->outcome);
    set_number(view, "code", row->code);
    set_names(view, row);
    set_number(view, "duration_us", (int64_t)row->duration_us);
    set_number(view, "bytes_in", (int64_t)row->bytes_in);
    set_number(view, "bytes_out", (int64_t)row->bytes_out);
    set_text(view, "digest", row->digest);
    set_text(view, "detail", row->detail);
    set_hash(view, "prev_hash", row->prev_hash);
    set_hash(view, "hash", row->hash);
    set_text(view, "tool", row->tool);
    set_number(view, "item", row->item);
    return view;
}

bool wd_row_print(void *arg, const wd_audit_row *row)
{
    wd_output_add(arg, wd_row_view(row));
    return true;
}
