/* A token by somebody's wish: the wish checked, the secret drawn, the digest kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"
#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "store/token_body.h"

#define BIND_URI     "uri:"
#define BIND_UNBOUND "unbound"

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
}

static wd_status check_name(const char *name, wd_error *err)
{
    size_t size = strnlen(or_empty(name), WD_TOKEN_NAME_BYTES + 1);
    if (size == 0 || size > WD_TOKEN_NAME_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "name: 1 to %u characters",
                         WD_TOKEN_NAME_BYTES);
    for (size_t i = 0; i < size; i++) {
        if (!is_name_char(name[i]))
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "name: only letters, digits and . _ - (character %zu)",
                             i + 1);
    }
    return WD_OK;
}

static wd_status check_text(const char *field, const char *text, size_t most,
                            wd_error *err)
{
    wd_span span = {(const uint8_t *)or_empty(text), strnlen(or_empty(text), most + 1)};
    if (span.size > most)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s: at most %zu bytes", field,
                         most);
    if (!wd_utf8_valid(span, NULL))
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s: not UTF-8", field);
    return WD_OK;
}

/* Printable ASCII without a space: what a URI, or a glob over URIs, is made of. */
static bool is_uri_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

static wd_status check_audience(const char *audience, wd_error *err)
{
    WD_TRY(check_text("audience", audience, WD_URI_BYTES, err));
    if (!is_uri_text(or_empty(audience)))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "audience: a glob over gate URIs, printable, without spaces");
    return WD_OK;
}

static wd_status check_scopes(const wd_token_spec *spec, wd_error *err)
{
    if (spec->n_scopes == 0 || spec->n_scopes > WD_SCOPES_COUNT)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "scopes: %zu given, 1 to %u allowed", spec->n_scopes,
                         WD_SCOPES_COUNT);
    for (size_t i = 0; i < spec->n_scopes; i++) {
        if (!wd_scope_valid(spec->scopes[i]))
            return wd_refuse(
                err, WD_REASON_FIELD_INVALID,
                "scopes: number %zu is not of the form area:object, such as "
                "observe:python_code or env:*; at most %u characters",
                i + 1, WD_SCOPE_BYTES);
    }
    return WD_OK;
}

static wd_status check_bind(const wd_token_spec *spec, wd_error *err)
{
    const char *bind = or_empty(spec->bind);
    if (strcmp(bind, BIND_UNBOUND) == 0 && spec->allow_unbound)
        return WD_OK;
    if (strcmp(bind, BIND_UNBOUND) == 0)
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "bind: an unbound token works for whoever steals it, and was not "
            "asked for with --unbound");
    if (strncmp(bind, BIND_URI "spiffe://", 13) != 0 || bind[13] == '\0' ||
        !is_uri_text(bind))
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "bind: must be uri:spiffe://... of the client that may use it");
    return check_text("bind", bind, WD_URI_BYTES + strlen(BIND_URI), err);
}

static wd_status check_times(const wd_token_spec *spec, int64_t now_ms, wd_error *err)
{
    int64_t ttl = spec->ttl_ms;
    if (ttl != 0 && (ttl < WD_TOKEN_TTL_MIN_MS || ttl > WD_TOKEN_TTL_MAX_MS))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "ttl: %lld ms, allowed are 1 s to 30 d (there is no never)",
                         (long long)ttl);
    if (spec->not_before_ms < 0 || spec->not_before_ms > now_ms + WD_TOKEN_TTL_MAX_MS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "not_before: at most 30 d ahead of now");
    return WD_OK;
}

static wd_status check(const wd_token_spec *spec, int64_t now_ms, wd_error *err)
{
    if (spec->kind != 0 && spec->kind != WD_TOKEN_DATA && spec->kind != WD_TOKEN_ADMIN)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "kind: data or admin");
    WD_TRY(check_name(spec->name, err));
    WD_TRY(check_text("owner", spec->owner, WD_TOKEN_OWNER_BYTES, err));
    WD_TRY(check_text("purpose", spec->purpose, WD_TOKEN_PURPOSE_BYTES, err));
    WD_TRY(check_audience(spec->audience, err));
    WD_TRY(check_scopes(spec, err));
    WD_TRY(check_bind(spec, err));
    return check_times(spec, now_ms, err);
}

static int64_t ttl_of(const wd_token_spec *spec)
{
    if (spec->ttl_ms != 0)
        return spec->ttl_ms;
    return spec->kind == WD_TOKEN_ADMIN ? WD_TOKEN_TTL_ADMIN_MS : WD_TOKEN_TTL_DATA_MS;
}

static wd_status build(const wd_token_spec *spec, int64_t now_ms, const char *secret,
                       wd_token **ret_token, wd_error *err)
{
    WD_AUTO(wd_text) *scopes = wd_token_scopes_text(spec->scopes, spec->n_scopes);
    if (scopes == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token");
    wd_token_name name;
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    WD_ASSERT(wd_token_parse(secret, &name));
    wd_token_digest(secret, digest);
    int64_t start = spec->not_before_ms != 0 ? spec->not_before_ms : now_ms;
    wd_token_fields fields = {
        .id = name.id,
        .kind = name.kind,
        .name = spec->name,
        .owner = or_empty(spec->owner),
        .purpose = or_empty(spec->purpose),
        .audience = or_empty(spec->audience),
        .scopes = scopes,
        .bind = spec->bind,
        .parent = or_empty(spec->parent),
        .digest = digest,
        .created_ms = now_ms,
        .not_before_ms = start,
        .expires_ms = start + ttl_of(spec),
        .revoked_reason = "",
    };
    return wd_token_build(&fields, ret_token, err);
}

wd_status wd_token_make(const wd_token_spec *spec, int64_t now_ms,
                        wd_token_issued *ret_issued, wd_error *err)
{
    WD_TRY(check(spec, now_ms, err));
    wd_token_kind kind = spec->kind != 0 ? spec->kind : WD_TOKEN_DATA;
    WD_AUTO_ISSUED made = {0};
    wd_token_mint(kind, NULL, NULL, &made.text);
    WD_TRY(build(spec, now_ms, made.text.chars, &made.token, err));
    ret_issued->token = WD_STEAL(made.token);
    ret_issued->text = made.text;
    return WD_OK;
}

void wd_token_issued_done(wd_token_issued *issued)
{
    wd_token_text_wipe(&issued->text);
    wd_token_unref(issued->token);
    issued->token = NULL;
}
