#include "store/audit_cef.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/c/sha256.h"
#include "proto/c/utf8.h"
#include "store/audit_address.h"
#include "store/audit_fields.h"

#define START         "CEF:0|Warded|Warded|" WD_VERSION "|"
#define SEVERITY_LOW  "2"
#define SEVERITY_MORE "5"
#define SEVERITY_HIGH "8"

static const struct {
    const char *event; /* as wd_audit_event_fits has it */
    const char *name;  /* for people */
    bool high;
} names[] = {
    {"auth", "Authentication", false},
    {"authz.deny", "Access denied", false},
    {"conn", "Connection closed by the gate", false},
    {"tls.reject", "TLS connection rejected", false},
    {"token.issue", "Token issued", false},
    {"token.renew", "Token renewed", false},
    {"token.rotate", "Token rotated", false},
    {"token.retire", "Token retired", false},
    {"token.revoke", "Token revoked", false},
    {"token.unwrap", "Token unwrapped", false},
    {"token.reuse_after_retire", "Retired token used", true},
    {"token.wrap_reuse", "One-time wrap used again", true},
    {"token.", "Token changed", false},
    {"call.begin", "Call began", false},
    {"call.end", "Call ended", false},
    {"call.", "Call", false},
    {"session.", "Session", false},
    {"sandbox.", "Sandbox violated", true},
    {"cert.", "Certificate changed", false},
    {"config.reload", "Configuration reloaded", false},
    {"audit.query", "Audit trail read", false},
    {"audit.export", "Audit trail exported", false},
    {"audit.prune", "Audit trail pruned", false},
    {"gate.start", "Gate started", false},
    {"gate.stop", "Gate stopped", false},
    {"gate.", "Gate", false},
    {"clock.jump", "Clock jumped", true},
    {"", "Event", false},
};

static size_t name_of(const char *event)
{
    size_t i = 0;
    while (!wd_audit_event_fits(names[i].event, event))
        i++;
    return i;
}

/* --- writing ---------------------------------------------------------------------------- */

static bool put(wd_buffer *out, const char *text)
{
    return wd_buffer_append(out, text, strlen(text));
}

/* What a backslash goes before, and what stands behind it; '\0': nothing. */
static char escape_of(char c, bool in_value)
{
    if (c == '\\' || c == (in_value ? '=' : '|'))
        return c;
    if (in_value && c == '\n')
        return 'n';
    return in_value && c == '\r' ? 'r' : '\0';
}

static bool put_char(wd_buffer *out, wd_span one, uint32_t point, bool in_value)
{
    const char escape = escape_of((char)one.data[0], in_value);
    if (escape != '\0')
        return put(out, "\\") && wd_buffer_append(out, &escape, 1);
    if (point != WD_UTF8_NONE && wd_utf8_printable_char(point))
        return wd_buffer_append(out, one.data, one.size);
    return put(out, "\\") && wd_utf8_append_escaped(out, one);
}

static bool put_escaped(wd_buffer *out, const char *text, bool in_value)
{
    wd_span rest = {(const uint8_t *)text, strlen(text)};
    while (rest.size > 0) {
        size_t size = 0;
        const uint32_t point = wd_utf8_next(rest, &size);
        if (point == WD_UTF8_NONE)
            size = 1; /* each byte by itself */
        if (!put_char(out, (wd_span){rest.data, size}, point, in_value))
            return false;
        rest = (wd_span){rest.data + size, rest.size - size};
    }
    return true;
}

static bool put_text(wd_buffer *out, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return true;
    return put(out, " ") && put(out, key) && put(out, "=") &&
           put_escaped(out, text, true);
}

static bool put_number(wd_buffer *out, const char *key, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    return number == 0 || put_text(out, key, text);
}

/* A custom field tells its own name: "cs1Label=tokenId cs1=...". */
static bool put_custom(wd_buffer *out, const char *key, const char *label,
                       const char *text)
{
    char name[16];
    if (text == NULL || text[0] == '\0')
        return true;
    (void)snprintf(name, sizeof(name), "%sLabel", key);
    return put_text(out, name, label) && put_text(out, key, text);
}

static bool put_count(wd_buffer *out, const char *key, const char *label,
                      uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    return number == 0 || put_custom(out, key, label, text);
}

/* --- the extension ------------------------------------------------------------------------ */

static bool put_when(wd_buffer *out, const wd_audit_row *row)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "rt=%" PRId64, row->wall_ms);
    return put(out, text) && put_number(out, "externalId", row->seq) &&
           put_text(out, "deviceExternalId", row->chain_id);
}

static const char *outcome_of(const wd_audit_row *row)
{
    if (row->outcome == NULL || row->outcome[0] == '\0')
        return "";
    return strcmp(row->outcome, "ok") == 0 ? "success" : "failure";
}

static bool put_who(wd_buffer *out, const wd_audit_row *row)
{
    wd_address parted = {.port = 0};
    const bool known =
        wd_address_part(row->peer_addr != NULL ? row->peer_addr : "", &parted);
    if (!known && !put_text(out, "shost", row->peer_addr))
        return false;
    if (known && !parted.v6 && !put_text(out, "src", parted.ip))
        return false;
    if (known && parted.v6 &&
        !put_custom(out, "c6a2", "Source IPv6 Address", parted.ip))
        return false;
    return put_number(out, "spt", (uint64_t)parted.port) &&
           put_text(out, "suid", row->principal) && put_text(out, "suser", row->owner);
}

static bool put_what(wd_buffer *out, const wd_audit_row *row)
{
    return put_text(out, "outcome", outcome_of(row)) &&
           put_text(out, "reason", row->reason) &&
           put_text(out, "destinationServiceName", row->method) &&
           put_number(out, "in", row->bytes_in) &&
           put_number(out, "out", row->bytes_out);
}

static bool put_customs(wd_buffer *out, const wd_audit_row *row)
{
    char hash[2 * WD_AUDIT_HASH_BYTES + 1];
    wd_hex((wd_span){row->hash, WD_AUDIT_HASH_BYTES}, hash);
    return put_custom(out, "cs1", "tokenId", row->token_id) &&
           put_custom(out, "cs2", "peerCertificateSha256", row->peer_cert) &&
           put_custom(out, "cs3", "trajectoryId", row->trajectory_id) &&
           put_custom(out, "cs4", "callId", row->call_id) &&
           put_custom(out, "cs5", "rowHash", hash) &&
           put_custom(out, "cs6", "detail", row->detail) &&
           put_count(out, "cn1", "code", row->code) &&
           put_count(out, "cn2", "durationUs", row->duration_us) &&
           put_count(out, "cn3", "item", row->item);
}

/* Keys of our own, for what CEF's dictionary has no name for. */
static bool put_ours(wd_buffer *out, const wd_audit_row *row)
{
    return put_text(out, "WardedScope", row->scope) &&
           put_text(out, "WardedTool", row->tool) &&
           put_text(out, "WardedFamily", row->family) &&
           put_text(out, "WardedPool", row->pool) &&
           put_text(out, "WardedSession", row->session_id) &&
           put_text(out, "WardedEpisode", row->episode_id) &&
           put_text(out, "WardedTrace", row->trace_id) &&
           put_text(out, "WardedDigest", row->digest);
}

bool wd_cef_line(const wd_audit_row *row, wd_buffer *out)
{
    const size_t name = name_of(row->event);
    const bool failed = strcmp(outcome_of(row), "failure") == 0;
    const char *severity = failed ? SEVERITY_MORE : SEVERITY_LOW;
    if (names[name].high)
        severity = SEVERITY_HIGH;
    return put(out, START) && put_escaped(out, row->event, false) && put(out, "|") &&
           put(out, names[name].name) && put(out, "|") && put(out, severity) &&
           put(out, "|") && put_when(out, row) && put_what(out, row) &&
           put_who(out, row) && put_customs(out, row) && put_ours(out, row) &&
           put(out, "\n");
}
