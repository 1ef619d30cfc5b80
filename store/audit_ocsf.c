#include "store/audit_ocsf.h"

#include <string.h>

#include "store/audit_address.h"
#include "store/audit_fields.h"

#define VERSION       "1.3.0"
#define SUCCESS       1
#define FAILURE       2
#define INFORMATIONAL 1
#define MEDIUM        3

typedef struct mapping {
    const char *event; /* as wd_audit_event_fits has it */
    int category;
    int class_uid;
    int activity;
} mapping;

/* The first that fits. Activities: of 3004 create 1, update 3, delete 4; of 3002 logon 1;
 * of 6003 create 1, read 2, delete 4, other 99. */
static const mapping mappings[] = {
    {"auth", 3, 3002, 1},         {"tls.reject", 3, 3002, 1},
    {"conn", 3, 3002, 1},         {"token.issue", 3, 3004, 1},
    {"token.revoke", 3, 3004, 4}, {"token.retire", 3, 3004, 4},
    {"token.", 3, 3004, 3},       {"cert.", 3, 3004, 3},
    {"audit.query", 6, 6003, 2},  {"audit.export", 6, 6003, 2},
    {"audit.prune", 6, 6003, 4},  {"", 6, 6003, 99},
};

static const mapping *mapping_of(const char *event)
{
    const mapping *m = mappings;
    while (!wd_audit_event_fits(m->event, event))
        m++;
    return m;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static json_t *endpoint_of(const char *address)
{
    wd_address parted;
    if (!wd_address_part(address, &parted))
        return json_pack("{s:s}", "name", address);
    return json_pack("{s:s, s:i}", "ip", parted.ip, "port", parted.port);
}

/* What every class has. */
static json_t *base_of(const wd_audit_row *row, const mapping *m)
{
    const char *outcome = or_empty(row->outcome);
    bool failed = strcmp(outcome, "refused") == 0 || strcmp(outcome, "failed") == 0;
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:I, s:{s:s, s:I, s:s, s:s, s:{s:s, "
        "s:s}}}",
        "category_uid", m->category, "class_uid", m->class_uid, "activity_id",
        m->activity, "type_uid", m->class_uid * 100 + m->activity, "severity_id",
        failed ? MEDIUM : INFORMATIONAL, "status_id", failed ? FAILURE : SUCCESS,
        "status_detail", or_empty(row->reason), "time", (json_int_t)row->wall_ms,
        "metadata", "version", VERSION, "sequence", (json_int_t)row->seq, "log_name",
        or_empty(row->chain_id), "event_code", row->event, "product", "name", "Warded",
        "vendor_name", "Warded");
}

/* Who: the certificate's URI, for whom the token is, and with which token. */
static json_t *actor_of(const wd_audit_row *row)
{
    return json_pack("{s:{s:s, s:s, s:s}}", "user", "uid", or_empty(row->principal),
                     "name", or_empty(row->owner), "credential_uid",
                     or_empty(row->token_id));
}

static int set(json_t *event, const char *key, json_t *value)
{
    return json_object_set_new(event, key, value);
}

/* What one class has and others have not. */
static int add_class(json_t *event, const wd_audit_row *row, const mapping *m)
{
    if (m->class_uid == 3002)
        return set(event, "user",
                   json_pack("{s:s, s:s}", "uid", or_empty(row->principal), "name",
                             or_empty(row->owner)));
    if (m->class_uid == 3004)
        return set(
            event, "entity",
            json_pack("{s:s, s:s}", "uid", or_empty(row->token_id), "type", "token"));
    const char *operation = or_empty(row->method);
    return set(event, "api",
               json_pack("{s:s, s:{s:s}}", "operation",
                         operation[0] != '\0' ? operation : row->event, "request",
                         "uid", or_empty(row->call_id)));
}

json_t *wd_ocsf_event(const wd_audit_row *row, json_t *all)
{
    const mapping *m = mapping_of(row->event);
    json_t *event = base_of(row, m);
    int failed = set(event, "unmapped", all); /* takes it in any case */
    failed |= set(event, "actor", actor_of(row));
    failed |= set(event, "src_endpoint", endpoint_of(or_empty(row->peer_addr)));
    failed |= add_class(event, row, m);
    if (failed == 0)
        return event;
    json_decref(event);
    return NULL;
}
