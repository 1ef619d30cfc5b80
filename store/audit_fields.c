#include "store/audit_fields.h"

#include <string.h>

#include "proto/c/sha256.h"

#define ROW(name, kind) {#name, offsetof(wd_audit_row, name), WD_FIELD_##kind}
const wd_audit_field wd_audit_fields[WD_AUDIT_FIELDS] = {
    ROW(seq, UINT64),       ROW(chain_id, TEXT),      ROW(wall_ms, INT64),
    ROW(mono_ns, INT64),    ROW(event, TEXT),         ROW(outcome, TEXT),
    ROW(code, UINT32),      ROW(reason, TEXT),        ROW(principal, TEXT),
    ROW(token_id, TEXT),    ROW(peer_cert, TEXT),     ROW(peer_addr, TEXT),
    ROW(method, TEXT),      ROW(scope, TEXT),         ROW(trajectory_id, TEXT),
    ROW(session_id, TEXT),  ROW(episode_id, TEXT),    ROW(call_id, TEXT),
    ROW(trace_id, TEXT),    ROW(duration_us, UINT64), ROW(bytes_in, UINT64),
    ROW(bytes_out, UINT64), ROW(digest, TEXT),        ROW(detail, TEXT),
    ROW(prev_hash, HASH),   ROW(hash, HASH),          ROW(tool, TEXT),
    ROW(item, UINT32),      ROW(owner, TEXT),         ROW(family, TEXT),
    ROW(pool, TEXT),
};
#undef ROW

bool wd_audit_event_fits(const char *entry, const char *event)
{
    const size_t size = strlen(entry);
    const bool begins = size == 0 || entry[size - 1] == '.';
    return begins ? strncmp(event, entry, size) == 0 : strcmp(event, entry) == 0;
}

static const void *place_of(const wd_audit_row *row, const wd_audit_field *field)
{
    return (const char *)row + field->offset;
}

const char *wd_field_text(const wd_audit_row *row, const wd_audit_field *field)
{
    const char *text = NULL;
    memcpy(&text, place_of(row, field), sizeof(text));
    return text != NULL ? text : "";
}

int64_t wd_field_number(const wd_audit_row *row, const wd_audit_field *field)
{
    uint32_t small = 0;
    int64_t number = 0;
    if (field->kind == WD_FIELD_UINT32) {
        memcpy(&small, place_of(row, field), sizeof(small));
        return (int64_t)small;
    }
    memcpy(&number, place_of(row, field), sizeof(number));
    return number;
}

void wd_field_hex(const wd_audit_row *row, const wd_audit_field *field,
                  char ret_text[WD_FIELD_HEX])
{
    wd_hex((wd_span){place_of(row, field), WD_AUDIT_HASH_BYTES}, ret_text);
}
