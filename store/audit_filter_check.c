/* What each filter may be: a value that no row can have finds nothing, and "nothing"
 * would be read as "nothing happened". */
#include <string.h>

#include "proto/c/mask.h"
#include "proto/c/utf8.h"
#include "proto/c/uuid.h"
#include "proto/tls/cause.h"
#include "store/audit_filter.h"
#include "store/token.h"

#define TEXT_BYTES  512U /* the longest of a row */
#define URI_BYTES   1024U
#define TRACE_CHARS 32U

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* --- the shapes ------------------------------------------------------------------------ */

static bool only(const char *text, const char *chars)
{
    return text[strspn(text, chars)] == '\0';
}

static bool is_text(const char *text, size_t most)
{
    const wd_span span = {(const uint8_t *)text, strnlen(text, most + 1)};
    return span.size <= most && wd_utf8_printable(span, NULL) &&
           wd_token_here(text) == 0;
}

static bool is_event(const char *text)
{
    return strnlen(text, WD_AUDIT_EVENT_BYTES + 1) <= WD_AUDIT_EVENT_BYTES &&
           only(text, LOWER DIGITS "._*?[]^-");
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static bool is_outcome(const char *text)
{
    static const char *const outcomes[] = {"ok", "refused", "failed"};
    return is_one_of(text, outcomes, sizeof(outcomes) / sizeof(outcomes[0]));
}

/* Of a call, of a connection that was turned away, and two that only the trail has. */
static bool is_reason(const char *text)
{
    static const char *const reasons[] = {
#define X(name, number, status) #name,
        WD_REASON_MAP(X)
#undef X
#define X(name, text, alert) text,
            WD_TLS_CAUSE_MAP(X)
#undef X
                "NONE",
        "asked_again", "more_than_100_a_second"};
    return is_one_of(text, reasons, sizeof(reasons) / sizeof(reasons[0]));
}

/* "spiffe://...", "local:0"; "gate" is what the gate does by itself. */
static bool is_principal(const char *text)
{
    size_t scheme = strspn(text, LOWER);
    return is_text(text, URI_BYTES) && strchr(text, ' ') == NULL &&
           ((scheme > 0 && text[scheme] == ':' && text[scheme + 1] != '\0') ||
            strcmp(text, "gate") == 0);
}

static bool is_peer(const char *text)
{
    return is_text(text, WD_AUDIT_PEER_BYTES);
}

static bool is_method(const char *text)
{
    return text[0] == '/' && is_text(text, TEXT_BYTES) && strchr(text, ' ') == NULL;
}

/* As rows have it: an upper case letter would find nothing. */
static bool is_call(const char *text)
{
    uint8_t id[WD_UUID_BYTES];
    char again[WD_UUID_TEXT_BYTES];
    if (!wd_uuid_parse(text, id))
        return false;
    wd_uuid_format(id, again);
    return strcmp(text, again) == 0;
}

static bool is_trace(const char *text)
{
    return strlen(text) == TRACE_CHARS && only(text, DIGITS "abcdef");
}

static bool is_plain(const char *text)
{
    return is_text(text, TEXT_BYTES);
}

#define ID_ALLOWED   "the 10 characters of a token's id, of 0-9 A-Z a-z"
#define TEXT_ALLOWED "at most 512 bytes of printable text"

static const struct {
    size_t offset;
    const char *name; /* of the field; tokctl's option is its first word */
    bool (*fits)(const char *text);
    const char *allowed;
} shapes[] = {
#define FIELD(field) offsetof(wd_audit_filter, field), #field
    {FIELD(event), is_event,
     "a glob of at most 128 of a-z 0-9 . _ * ?, such as call.end or token.*"},
    {FIELD(outcome), is_outcome, "ok, refused or failed"},
    {FIELD(reason), is_reason,
     "a reason's name, such as TOKEN_EXPIRED, or of a connection, such as unknown_ca"},
    {FIELD(principal), is_principal,
     "a URI, such as spiffe://DOMAIN/ns/NS/owner/OWNER/client/NAME or local:0"},
    {FIELD(peer), is_peer,
     "a glob of at most 256 bytes over URI, address or certificate's digest"},
    {FIELD(token_id), wd_token_id_valid, ID_ALLOWED},
    {FIELD(family), wd_token_id_valid, ID_ALLOWED},
    {FIELD(owner), is_plain, TEXT_ALLOWED},
    {FIELD(method), is_method, "/SERVICE/METHOD, such as /warded.v1.Token/Issue"},
    {FIELD(pool), is_plain, TEXT_ALLOWED},
    {FIELD(session_id), is_plain, TEXT_ALLOWED},
    {FIELD(episode_id), is_plain, TEXT_ALLOWED},
    {FIELD(trajectory_id), is_plain, TEXT_ALLOWED},
    {FIELD(call_id), is_call, "a call's UUID, 36 characters in lower case"},
    {FIELD(trace_id), is_trace, "32 hexadecimal digits in lower case"},
    {FIELD(tool), is_plain, TEXT_ALLOWED},
#undef FIELD
};

/* --- checking ----------------------------------------------------------------------------- */

static wd_status check_texts(const wd_audit_filter *filter, wd_error *err)
{
    char shown[WD_SHOWN_BYTES];
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const char *text = NULL;
        memcpy(&text, (const char *)filter + shapes[i].offset, sizeof(text));
        if (text == NULL || text[0] == '\0' || shapes[i].fits(text))
            continue;
        const char *name = shapes[i].name;
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "%s (--%.*s): no row has \"%s\"; allowed: %s", name,
                         (int)strcspn(name, "_"), name, wd_shown(text, shown),
                         shapes[i].allowed);
    }
    return WD_OK;
}

static wd_status check_codes(const wd_audit_filter *filter, wd_error *err)
{
    if (filter->n_codes > WD_AUDIT_CODES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "%zu codes, at most %u",
                         filter->n_codes, WD_AUDIT_CODES);
    for (size_t i = 0; i < filter->n_codes; i++) {
        if (filter->codes[i] >= WD_AUDIT_CODES)
            return wd_refuse(err, WD_REASON_FIELD_INVALID, "code %u, at most %u",
                             filter->codes[i], WD_AUDIT_CODES - 1);
    }
    return WD_OK;
}

wd_status wd_filter_check(const wd_audit_filter *filter, wd_error *err)
{
    if (filter->limit > WD_AUDIT_QUERY_ROWS)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "limit is %u, at most %u rows",
                         filter->limit, WD_AUDIT_QUERY_ROWS);
    if (filter->from_seq > INT64_MAX || filter->to_seq > INT64_MAX)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a seq above 2^63-1");
    if (filter->since_ms < 0 || filter->until_ms < 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "a time above 2^63-1 ms");
    WD_TRY(check_codes(filter, err));
    return check_texts(filter, err);
}
