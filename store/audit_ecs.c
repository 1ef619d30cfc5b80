#include "store/audit_ecs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/c/clock.h"
#include "proto/c/sha256.h"
#include "store/audit_address.h"
#include "store/audit_fields.h"

#define VERSION  "8.11.0"
#define ID_BYTES 128U

typedef struct category {
    const char *event; /* as wd_audit_event_fits has it */
    const char *category;
    const char *types[2];
} category;

/* The first that fits; the pairs are those that ECS expects. */
static const category categories[] = {
    {"auth", "authentication", {"start"}},
    {"tls.reject", "network", {"connection", "denied"}},
    {"conn", "network", {"connection", "denied"}},
    {"authz.deny", "api", {"access", "denied"}},
    {"token.issue", "iam", {"creation"}},
    {"token.revoke", "iam", {"deletion"}},
    {"token.retire", "iam", {"deletion"}},
    {"token.reuse_after_retire", "intrusion_detection", {"info"}},
    {"token.wrap_reuse", "intrusion_detection", {"info"}},
    {"token.", "iam", {"change"}},
    {"cert.", "iam", {"change"}},
    {"call.begin", "api", {"start"}},
    {"call.end", "api", {"end"}},
    {"session.", "session", {"info"}},
    {"sandbox.", "intrusion_detection", {"info"}},
    {"config.", "configuration", {"change"}},
    {"audit.prune", "database", {"change"}},
    {"audit.", "database", {"access"}},
    {"gate.start", "process", {"start"}},
    {"gate.stop", "process", {"end"}},
    {"gate.", "process", {"info"}},
    {"clock.", "host", {"change"}},
    {"", "api", {"info"}},
};

static const category *category_of(const char *event)
{
    const category *c = categories;
    while (!wd_audit_event_fits(c->event, event))
        c++;
    return c;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* A member that says nothing is left out: of an empty text in a field of type ip or date
 * Elasticsearch refuses the whole document. */
static int put_text(json_t *object, const char *key, const char *text)
{
    return or_empty(text)[0] == '\0'
               ? 0
               : json_object_set_new(object, key, json_string(text));
}

static int put_number(json_t *object, const char *key, uint64_t number)
{
    if (number == 0 || number > INT64_MAX)
        return 0;
    return json_object_set_new(object, key, json_integer((json_int_t)number));
}

/* In nanoseconds; one that is no long of Elasticsearch is left out. */
static int put_duration(json_t *object, const char *key, uint64_t us)
{
    return us > INT64_MAX / 1000 ? 0 : put_number(object, key, us * 1000);
}

/* Takes `value`; one that has come to nothing is left out. */
static int put_object(json_t *object, const char *key, json_t *value)
{
    if (value != NULL && json_object_size(value) == 0) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(object, key, value);
}

/* --- the sets of fields --------------------------------------------------------------- */

static const char *outcome_of(const wd_audit_row *row)
{
    const char *outcome = or_empty(row->outcome);
    if (outcome[0] == '\0')
        return "unknown";
    return strcmp(outcome, "ok") == 0 ? "success" : "failure";
}

static json_t *types_of(const category *c)
{
    json_t *types = json_array();
    for (size_t i = 0; i < 2 && c->types[i] != NULL; i++)
        if (json_array_append_new(types, json_string(c->types[i])) != 0) {
            json_decref(types);
            return NULL;
        }
    return types;
}

static json_t *event_of(const wd_audit_row *row)
{
    const category *c = category_of(row->event);
    char id[ID_BYTES];
    char hash[2 * WD_AUDIT_HASH_BYTES + 1];
    wd_hex((wd_span){row->hash, WD_AUDIT_HASH_BYTES}, hash);
    (void)snprintf(id, sizeof(id), "%.100s-%llu", or_empty(row->chain_id),
                   (unsigned long long)row->seq);
    json_t *event = json_pack(
        "{s:s, s:[s], s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "kind", "event",
        "category", c->category, "type", types_of(c), "action", row->event, "outcome",
        outcome_of(row), "id", id, "hash", hash, "provider", "warded", "dataset",
        "warded.audit", "sequence", (json_int_t)row->seq);
    if (event == NULL)
        return NULL;
    if ((put_text(event, "reason", row->reason) |
         put_duration(event, "duration", row->duration_us)) == 0)
        return event;
    json_decref(event);
    return NULL;
}

static json_t *source_of(const wd_audit_row *row, const wd_address *address)
{
    json_t *source = json_object();
    int failed = put_text(source, "address", row->peer_addr) |
                 put_number(source, "bytes", row->bytes_in);
    if (address != NULL)
        failed |= put_text(source, "ip", address->ip) |
                  put_number(source, "port", (uint64_t)address->port);
    if (failed == 0)
        return source;
    json_decref(source);
    return NULL;
}

/* ECS wants digests in upper case here. */
static json_t *tls_of(const char *peer_cert)
{
    char upper[2 * WD_SHA256_BYTES + 1];
    size_t size = 0;
    for (; peer_cert[size] != '\0' && size < sizeof(upper) - 1; size++)
        upper[size] = (char)toupper((unsigned char)peer_cert[size]);
    upper[size] = '\0';
    if (size == 0)
        return json_object();
    return json_pack("{s:{s:{s:s}}}", "client", "hash", "sha256", upper);
}

static json_t *one_text(const char *key, const char *text)
{
    json_t *object = json_object();
    if (put_text(object, key, text) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *error_of(const wd_audit_row *row)
{
    char code[16] = "";
    if (row->code != 0)
        (void)snprintf(code, sizeof(code), "%u", row->code);
    json_t *error = one_text("code", code);
    if (error != NULL && row->code != 0 && put_text(error, "type", row->reason) != 0) {
        json_decref(error);
        return NULL;
    }
    return error;
}

static json_t *user_of(const wd_audit_row *row)
{
    json_t *user = one_text("id", row->principal);
    if (user != NULL && put_text(user, "name", row->owner) != 0) {
        json_decref(user);
        return NULL;
    }
    return user;
}

/* --- all of them ---------------------------------------------------------------------- */

json_t *wd_ecs_document(const wd_audit_row *row, json_t *all)
{
    char when[WD_UTC_BYTES];
    wd_address parted;
    const bool known = wd_address_part(or_empty(row->peer_addr), &parted);
    json_t *document = json_pack("{s:{s:s}, s:{s:s, s:s}}", "ecs", "version", VERSION,
                                 "service", "name", "warded", "type", "warded");
    int failed =
        json_object_set_new(document, "warded", all); /* takes it in any case */
    if (wd_clock_format(row->wall_ms, when))
        failed |= put_text(document, "@timestamp", when);
    failed |= json_object_set_new(document, "event", event_of(row));
    failed |= put_object(document, "source", source_of(row, known ? &parted : NULL));
    failed |= put_object(document, "tls", tls_of(or_empty(row->peer_cert)));
    failed |= put_object(document, "user", user_of(row));
    failed |= put_object(document, "error", error_of(row));
    failed |= put_object(document, "trace", one_text("id", row->trace_id));
    failed |= put_object(document, "transaction", one_text("id", row->call_id));
    if (failed == 0)
        return document;
    json_decref(document);
    return NULL;
}
