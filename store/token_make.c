/* A token by somebody's wish: the wish checked, the secret drawn, the digest kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"
#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "store/token_body.h"

#define BIND_URI     "uri:"
#define BIND_KEY     "key:"
#define BIND_CERT    "cert:"
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
    size_t bad_at = 0;
    if (span.size > most)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s: at most %zu bytes", field,
                         most);
    if (!wd_utf8_valid(span, NULL))
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s: not UTF-8", field);
    if (!wd_utf8_printable(span, &bad_at))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "%s: a control character or another that is not printable, at "
                         "byte %zu",
                         field, bad_at);
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

/* 64 lower-case hex digits: a SHA-256. */
static bool is_hash(const char *text)
{
    size_t hex = WD_SHA256_HEX_BYTES - 1;
    return strlen(text) == hex && strspn(text, "0123456789abcdef") == hex;
}

static bool bind_valid(const char *bind)
{
    if (strncmp(bind, BIND_KEY, strlen(BIND_KEY)) == 0)
        return is_hash(bind + strlen(BIND_KEY));
    if (strncmp(bind, BIND_CERT, strlen(BIND_CERT)) == 0)
        return is_hash(bind + strlen(BIND_CERT));
    return strncmp(bind, BIND_URI "spiffe://", 13) == 0 && bind[13] != '\0' &&
           is_uri_text(bind);
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
    if (!bind_valid(bind))
        return wd_refuse(
            err, WD_REASON_FIELD_INVALID,
            "bind: must be uri:spiffe://... of the client that may use it, or key: or "
            "cert: and the 64 hex digits of the SHA-256 of its public key or "
            "certificate");
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

/* --- bounds ----------------------------------------------------------------------- */

static wd_status check_number(const char *field, int64_t value, int64_t least,
                              int64_t most, wd_error *err)
{
    if (value == 0 || (value >= least && value <= most))
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s: %lld, allowed are %lld to %lld",
                     field, (long long)value, (long long)least, (long long)most);
}

static wd_status check_limits(const wd_token_limits *limits, wd_error *err)
{
    WD_TRY(check_number("max_uses", limits->max_uses, 1, WD_TOKEN_USES_MAX, err));
    WD_TRY(check_number("rate.calls", limits->rate_calls, 1, WD_TOKEN_RATE_CALLS_MAX,
                        err));
    WD_TRY(check_number("rate.per_ms", limits->rate_per_ms, WD_TOKEN_RATE_MS_MIN,
                        WD_TOKEN_RATE_MS_MAX, err));
    WD_TRY(check_number("concurrency", limits->concurrency, 1, WD_TOKEN_CONCURRENCY_MAX,
                        err));
    if ((limits->rate_calls == 0) != (limits->rate_per_ms == 0))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "rate: calls and per_ms, both or none");
    return WD_OK;
}

static int64_t ttl_of(const wd_token_spec *spec)
{
    if (spec->ttl_ms != 0)
        return spec->ttl_ms;
    return spec->kind == WD_TOKEN_ADMIN ? WD_TOKEN_TTL_ADMIN_MS : WD_TOKEN_TTL_DATA_MS;
}

static wd_status check_wrap(const wd_token_spec *spec, wd_error *err)
{
    WD_TRY(check_number("wrap_ttl_ms", spec->wrap_ttl_ms, WD_TOKEN_TTL_MIN_MS,
                        WD_TOKEN_WRAP_MAX_MS, err));
    if (spec->wrap_ttl_ms != 0 && spec->not_before_ms != 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "not_before_ms: a wrapped token holds from its unwrapping on");
    if (spec->wrap_ttl_ms >= ttl_of(spec))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "wrap_ttl_ms: %lld, and the token inside ends after %lld",
                         (long long)spec->wrap_ttl_ms, (long long)ttl_of(spec));
    return WD_OK;
}

static wd_status check_bounds(const wd_token_spec *spec, int64_t now_ms, wd_error *err)
{
    WD_TRY(check_times(spec, now_ms, err));
    WD_TRY(check_number("renewable_ms", spec->renewable_ms, ttl_of(spec),
                        WD_TOKEN_TTL_MAX_MS, err));
    WD_TRY(check_number("idle_ms", spec->idle_ms, WD_TOKEN_IDLE_MIN_MS,
                        WD_TOKEN_TTL_MAX_MS, err));
    WD_TRY(check_limits(&spec->limits, err));
    return check_wrap(spec, err);
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
    return check_bounds(spec, now_ms, err);
}

/* --- making ----------------------------------------------------------------------- */

/* Draws id and secret; a family is called as its first token, unless it has a name. */
static wd_status draw(wd_token *what, wd_token_issued *ret_issued, wd_error *err)
{
    WD_AUTO(wd_text) *scopes = wd_token_scopes_text(what->scopes, what->n_scopes);
    wd_token_fields fields = {.token = *what, .scopes = scopes};
    uint8_t digest[WD_TOKEN_DIGEST_BYTES];
    wd_token_name name;
    WD_AUTO_ISSUED made = {0};
    if (scopes == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    wd_token_mint(what->kind, NULL, NULL, &made.text);
    WD_ASSERT(wd_token_parse(made.text.chars, &name));
    wd_token_digest(made.text.chars, digest);
    memcpy(fields.token.id, name.id, sizeof(name.id));
    if (what->family[0] == '\0')
        memcpy(fields.token.family, name.id, sizeof(name.id));
    fields.digest = digest;
    fields.expires_ms = what->not_before_ms + what->ttl_ms;
    WD_TRY(wd_token_build(&fields, &made.token, err));
    ret_issued->token = WD_STEAL(made.token);
    ret_issued->text = made.text;
    return WD_OK;
}

/* Turns a token that is to be made into the wrap of it. */
static void wrap(wd_token *what, int64_t wrap_ttl_ms)
{
    what->wraps = what->kind;
    what->inner_ttl_ms = what->ttl_ms;
    what->kind = WD_TOKEN_WRAP;
    what->ttl_ms = wrap_ttl_ms;
    what->generation = 0;
}

wd_status wd_token_make(const wd_token_spec *spec, int64_t now_ms,
                        wd_token_issued *ret_issued, wd_error *err)
{
    WD_TRY(check(spec, now_ms, err));
    int64_t start = spec->not_before_ms != 0 ? spec->not_before_ms : now_ms;
    int64_t longest =
        spec->renewable_ms != 0 ? spec->renewable_ms : WD_TOKEN_TTL_MAX_MS;
    wd_token what = {
        .kind = spec->kind != 0 ? spec->kind : WD_TOKEN_DATA,
        .generation = 1,
        .name = spec->name,
        .owner = or_empty(spec->owner),
        .purpose = or_empty(spec->purpose),
        .audience = or_empty(spec->audience),
        .scopes = spec->scopes,
        .n_scopes = spec->n_scopes,
        .bind = spec->bind,
        .parent = or_empty(spec->parent),
        .created_ms = now_ms,
        .not_before_ms = start,
        .ttl_ms = ttl_of(spec),
        .renewable_until_ms = start + longest,
        .idle_ms = spec->idle_ms,
        .limits = spec->limits,
    };
    if (spec->wrap_ttl_ms != 0)
        wrap(&what, spec->wrap_ttl_ms);
    return draw(&what, ret_issued, err);
}

wd_status wd_token_make_next(const wd_token *old, const wd_token_next *next,
                             int64_t now_ms, wd_token_issued *ret_issued, wd_error *err)
{
    wd_token what = *old;
    WD_TRY(check_number("ttl_ms", next->ttl_ms, WD_TOKEN_TTL_MIN_MS,
                        WD_TOKEN_TTL_MAX_MS, err));
    WD_TRY(check_number("overlap_ms", next->overlap_ms, WD_TOKEN_TTL_MIN_MS,
                        WD_TOKEN_OVERLAP_MAX_MS, err));
    WD_TRY(check_number("wrap_ttl_ms", next->wrap_ttl_ms, WD_TOKEN_TTL_MIN_MS,
                        WD_TOKEN_WRAP_MAX_MS, err));
    what.generation = old->generation + 1;
    what.created_ms = now_ms;
    what.not_before_ms = now_ms;
    what.ttl_ms = next->ttl_ms != 0 ? next->ttl_ms : old->ttl_ms;
    what.retires_old = next->retire_on_first_use;
    if (next->renewable_ms != 0)
        what.renewable_until_ms = next->renewable_ms;
    if (next->wrap_ttl_ms >= what.ttl_ms)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "wrap_ttl_ms: %lld, and the token inside ends after %lld",
                         (long long)next->wrap_ttl_ms, (long long)what.ttl_ms);
    if (next->wrap_ttl_ms != 0) {
        wrap(&what, next->wrap_ttl_ms);
        what.overlap_ms =
            next->overlap_ms != 0 ? next->overlap_ms : WD_TOKEN_OVERLAP_MS;
    }
    return draw(&what, ret_issued, err);
}

wd_status wd_token_make_unwrapped(const wd_token *wrapped, uint32_t generation,
                                  int64_t now_ms, wd_token_issued *ret_issued,
                                  wd_error *err)
{
    wd_token what = *wrapped;
    what.kind = wrapped->wraps;
    what.generation = generation;
    what.created_ms = now_ms;
    what.not_before_ms = now_ms;
    what.ttl_ms = wrapped->not_before_ms + wrapped->inner_ttl_ms - now_ms;
    what.wraps = 0;
    what.inner_ttl_ms = 0;
    what.overlap_ms = 0;
    if (what.ttl_ms <= 0)
        return wd_refuse(err, WD_REASON_CONFLICT, "the token inside wrap %s has ended",
                         wrapped->id);
    return draw(&what, ret_issued, err);
}

void wd_token_issued_done(wd_token_issued *issued)
{
    wd_token_text_wipe(&issued->text);
    wd_token_unref(issued->token);
    issued->token = NULL;
}
