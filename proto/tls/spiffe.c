#include "proto/tls/spiffe.h"

#include <string.h>

#include "proto/c/limits.h"

/* What is left to read. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool segment_ok(const char *text, size_t size, size_t longest)
{
    if (size == 0 || size > longest || !lower_or_digit(text[0]))
        return false;
    for (size_t i = 1; i < size; i++)
        if (!lower_or_digit(text[i]) && text[i] != '.' && text[i] != '_' &&
            text[i] != '-')
            return false;
    return true;
}

bool wd_spiffe_segment_ok(const char *text)
{
    return segment_ok(text, strlen(text), WD_SPIFFE_SEGMENT_BYTES - 1);
}

static bool take_literal(cursor *in, const char *literal)
{
    size_t size = strlen(literal);

    if ((size_t)(in->end - in->at) < size || memcmp(in->at, literal, size) != 0)
        return false;
    in->at += size;
    return true;
}

/* Everything up to the next '/' or the end, into `out` of `room` bytes. */
static wd_status take_segment(cursor *in, const char *what, char *out, size_t room,
                              wd_error *err)
{
    const char *slash = memchr(in->at, '/', (size_t)(in->end - in->at));
    size_t size = (size_t)((slash != NULL ? slash : in->end) - in->at);

    if (!segment_ok(in->at, size, room - 1))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "SPIFFE id: the %s must be [a-z0-9][a-z0-9._-]*, 1 to %zu long",
                       what, room - 1);
    memcpy(out, in->at, size);
    out[size] = '\0';
    in->at += size;
    return WD_OK;
}

static wd_status parse_holder(cursor *in, wd_spiffe *out, wd_error *err)
{
    if (take_literal(in, "/client/")) {
        out->kind = WD_SPIFFE_CLIENT;
        return take_segment(in, "client", out->name, sizeof out->name, err);
    }
    if (take_literal(in, "/pool/"))
        WD_TRY(take_segment(in, "pool", out->pool, sizeof out->pool, err));
    if (!take_literal(in, "/gate/"))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "SPIFFE id: after the owner comes [/pool/<pool>]/gate/<id> or "
                       "/client/<name>");
    out->kind = WD_SPIFFE_GATE;
    return take_segment(in, "gate", out->name, sizeof out->name, err);
}

static wd_status parse_all(cursor *in, wd_spiffe *out, wd_error *err)
{
    if (!take_literal(in, "spiffe://"))
        return wd_fail(err, WD_INVALID_ARGUMENT, "SPIFFE id: begins with spiffe://");
    WD_TRY(take_segment(in, "domain", out->domain, sizeof out->domain, err));
    if (!take_literal(in, "/ns/"))
        return wd_fail(err, WD_INVALID_ARGUMENT, "SPIFFE id: /ns/ follows the domain");
    WD_TRY(take_segment(in, "namespace", out->ns, sizeof out->ns, err));
    if (!take_literal(in, "/owner/"))
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "SPIFFE id: /owner/ follows the namespace");
    WD_TRY(take_segment(in, "owner", out->owner, sizeof out->owner, err));
    WD_TRY(parse_holder(in, out, err));
    if (in->at != in->end)
        return wd_fail(err, WD_INVALID_ARGUMENT, "SPIFFE id: something follows the %s",
                       out->kind == WD_SPIFFE_GATE ? "gate" : "client");
    return WD_OK;
}

wd_status wd_spiffe_parse(const char *text, size_t size, wd_spiffe *ret, wd_error *err)
{
    cursor in = {text, text + size};
    wd_spiffe out;

    memset(&out, 0, sizeof out);
    if (size > WD_URI_BYTES)
        return wd_fail(err, WD_INVALID_ARGUMENT,
                       "SPIFFE id: %zu bytes, at most %u are allowed", size,
                       WD_URI_BYTES);
    WD_TRY(parse_all(&in, &out, err));
    *ret = out;
    return WD_OK;
}
