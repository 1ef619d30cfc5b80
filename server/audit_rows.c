#include "server/audit_rows.h"

#include <stdio.h>
#include <string.h>

#include "server/parts.h"
#include "store/token_table.h"

/* The trace id of a W3C traceparent, "00-<32 hex>-<16 hex>-<2 hex>". */
static const char *trace_id(const wd_request *request, char text[33])
{
    const char *value = wd_request_metadata(request, "traceparent");

    if (value == NULL || strlen(value) < 35 ||
        strspn(value + 3, "0123456789abcdef") != 32)
        return NULL;
    memcpy(text, value + 3, 32);
    text[32] = '\0';
    return text;
}

static void base_request(const wd_call *call, wd_row_text *text, wd_audit_row *row)
{
    const wd_request *request = call->request;

    if (request == NULL)
        return;
    row->method = request->kind == WD_REQUEST_CANCEL ? "CANCEL" : request->method;
    row->trace_id = trace_id(request, text->trace_id);
    if (call->token != NULL)
        row->token_id = call->token->id;
    else if (wd_token_claimed_id(request->token, text->token_id))
        row->token_id = text->token_id;
}

void wd_rows_base(const wd_call *call, wd_row_text *text, wd_audit_row *ret_row)
{
    memset(text, 0, sizeof(*text));
    *ret_row = (wd_audit_row){
        .principal = call->peer->identity.uri,
        .peer_cert = call->peer->cert_hex,
        .peer_addr = call->peer->address,
        .call_id = call->id_text,
        .bytes_in = call->frame.size,
        .pool = call->gate->pool,
    };
    base_request(call, text, ret_row);
    if (call->token != NULL)
        ret_row->owner = call->token->owner;
    if (call->token != NULL)
        ret_row->family = call->token->family;
    if (call->route != NULL && call->token != NULL)
        ret_row->scope = call->route->method->scope;
}

wd_audit_row wd_rows_by(const wd_call *call)
{
    return (wd_audit_row){
        .principal = call->peer->identity.uri,
        .peer_cert = call->peer->cert_hex,
        .peer_addr = call->peer->address,
        .call_id = call->id_text,
        .pool = call->gate->pool,
    };
}

const char *wd_rows_refusal_event(const wd_error *error)
{
    if (error->reason == WD_REASON_TOKEN_RETIRED)
        return "token.reuse_after_retire";
    if (error->status == WD_UNAUTHENTICATED)
        return "auth";
    return error->status == WD_PERMISSION_DENIED ? "authz.deny" : "call.refused";
}

void wd_rows_refusal(const wd_call *call, wd_row_text *text, wd_audit_row *ret_row)
{
    const wd_error *error = &call->error;

    wd_rows_base(call, text, ret_row);
    wd_rows_detail(text->detail, sizeof(text->detail), "message", error->msg);
    ret_row->event = wd_rows_refusal_event(error);
    ret_row->outcome = "refused";
    ret_row->code = (uint32_t)error->status;
    ret_row->reason = wd_reason_name(error->reason);
    ret_row->detail = text->detail;
}

void wd_rows_pair(const wd_pair *pair, wd_audit_row *row)
{
    row->trajectory_id = pair->trajectory_id;
    row->tool = pair->tool;
    row->item = pair->item;
    row->digest = pair->digest;
    if (pair->scope != NULL)
        row->scope = pair->scope;
}

const char *wd_rows_outcome(wd_status status)
{
    switch (status) {
    case WD_OK:
        return "ok";
    case WD_INVALID_ARGUMENT:
    case WD_NOT_FOUND:
    case WD_PERMISSION_DENIED:
    case WD_RESOURCE_EXHAUSTED:
    case WD_FAILED_PRECONDITION:
    case WD_UNIMPLEMENTED:
    case WD_UNAUTHENTICATED:
        return "refused";
    case WD_CANCELLED:
    case WD_DEADLINE_EXCEEDED:
    case WD_ABORTED:
    case WD_INTERNAL:
    case WD_UNAVAILABLE:
    case WD_DATA_LOSS:
        return "failed";
    }
    return "failed";
}

/* One character of a JSON string; returns how many bytes it takes, at most 6. */
static size_t escape(unsigned char c, char out[8])
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(out, 8, "\\%c", c);
    if (c < 0x20 || c == 0x7F)
        return (size_t)snprintf(out, 8, "\\u%04x", c);
    out[0] = (char)c;
    return 1;
}

void wd_rows_detail(char *out, size_t size, const char *key, const char *text)
{
    size_t at = (size_t)snprintf(out, size, "{\"%s\":\"", key);
    size_t room = size - 3; /* quote, brace, NUL */

    for (; *text != '\0'; text++) {
        char piece[8];
        size_t length = escape((unsigned char)*text, piece);
        if (at + length > room)
            break;
        memcpy(out + at, piece, length);
        at += length;
    }
    while (at > 0 && *text != '\0' && ((unsigned char)out[at - 1] & 0x80) != 0)
        at--; /* the cut may have split a character */
    (void)snprintf(out + at, size - at, "\"}");
}
