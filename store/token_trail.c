#include "store/token_trail.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "proto/c/sha256.h"
#include "store/audit_cells.h"
#include "store/token_body.h"

#define ISSUE  "token.issue"
#define REVOKE "token.revoke"

/* Half of a commitment: from it nobody can tell the digest that opens the gate. */
#define FINGERPRINT "warded-token-record-v1"

static inline void auto_json(json_t **object)
{
    json_decref(*object);
}
#define AUTO_JSON __attribute__((cleanup(auto_json))) json_t

/* --- what a row says ------------------------------------------------------------------ */

static char *to_text(json_t *object)
{
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

static json_t *fingerprint(const wd_token *token)
{
    uint8_t hash[WD_SHA256_BYTES];
    char text[WD_SHA256_HEX_BYTES];
    wd_sha256 sha;
    wd_sha256_init(&sha);
    wd_sha256_add(&sha, FINGERPRINT, strlen(FINGERPRINT));
    wd_sha256_add(&sha, wd_token_const_body_of(token)->digest, WD_TOKEN_DIGEST_BYTES);
    wd_sha256_end(&sha, hash);
    wd_hex((wd_span){hash, sizeof(hash)}, text);
    return json_string(text);
}

/* Nothing is said by halves: the object is whole, or there was no memory and it is NULL.
 * *Takes* the object and the value. */
static json_t *with(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *scopes(const wd_token *token)
{
    json_t *list = json_array();
    for (size_t i = 0; i < token->n_scopes; i++) {
        if (json_array_append_new(list, json_string(token->scopes[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* For those that would not fit into a row. */
static json_t *scopes_digest(const wd_token *token)
{
    uint8_t hash[WD_SHA256_BYTES];
    char hex[WD_SHA256_HEX_BYTES];
    WD_AUTO(wd_text) *text = wd_token_scopes_text(token->scopes, token->n_scopes);
    if (text == NULL)
        return NULL;
    wd_sha256_of((wd_span){(const uint8_t *)text, strlen(text)}, hash);
    wd_hex((wd_span){hash, sizeof(hash)}, hex);
    return json_pack("{s:I, s:s}", "count", (json_int_t)token->n_scopes, "sha256", hex);
}

static json_t *record_of(const wd_token *token)
{
    json_t *record = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:o}", "name", token->name, "kind",
        wd_token_kind_name(token->kind), "owner", token->owner, "bind", token->bind,
        "audience", token->audience, "scopes", scopes(token), "not_before_ms",
        (json_int_t)token->not_before_ms, "expires_ms", (json_int_t)token->expires_ms,
        "fingerprint", fingerprint(token));
    if (token->parent[0] == '\0')
        return record;
    return with(record, "parent", json_string(token->parent));
}

char *wd_token_issue_detail(const wd_token *token)
{
    WD_AUTO(wd_text) *text = to_text(record_of(token));
    if (text == NULL || strlen(text) <= WD_AUDIT_TEXT_BYTES)
        return WD_STEAL(text);
    return to_text(with(record_of(token), "scopes", scopes_digest(token)));
}

char *wd_token_revoke_detail(const char *reason)
{
    return to_text(json_pack("{s:s}", "reason", reason != NULL ? reason : ""));
}

/* --- whether the table says the same --------------------------------------------------- */

bool wd_token_trail_wants(const char *event)
{
    return strcmp(event, ISSUE) == 0 || strcmp(event, REVOKE) == 0;
}

/* The first member of `said` that the token does not have so, or NULL. Rows of older
 * builds say less; none says less than it must of a token that has a parent. */
static const char *difference(json_t *said, json_t *has)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(said, key, value)
    {
        if (!json_equal(value, json_object_get(has, key)))
            return key;
    }
    bool parent = json_object_get(has, "parent") != NULL;
    return parent && json_object_get(said, "parent") == NULL ? "parent" : NULL;
}

static wd_status check_issue(const wd_token *token, const wd_audit_row *row,
                             wd_error *err)
{
    AUTO_JSON *said = json_loads(row->detail != NULL ? row->detail : "", 0, NULL);
    AUTO_JSON *has = record_of(token);
    if (json_object_get(said, "cut_bytes") != NULL)
        return WD_OK; /* an older build: too long a detail was not kept at all */
    if (json_is_object(json_object_get(said, "scopes")))
        has = with(has, "scopes", scopes_digest(token));
    if (has == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token");
    const char *differs = json_is_object(said) ? difference(said, has) : "row";
    if (differs == NULL)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "token %s was changed in the tokens table: its %s is not what "
                     "audit row %llu says",
                     token->id, differs, (unsigned long long)row->seq);
}

wd_status wd_token_trail_row(wd_token_table *table, const wd_audit_row *row,
                             wd_error *err)
{
    WD_AUTO(wd_token) *token =
        wd_token_table_find(table, row->token_id != NULL ? row->token_id : "");
    if (token == NULL)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "token %.16s is gone from the tokens table: audit row %llu "
                         "tells of it",
                         row->token_id != NULL ? row->token_id : "",
                         (unsigned long long)row->seq);
    wd_token_body *body = wd_token_body_of(token);
    if (strcmp(row->event, REVOKE) == 0) {
        body->revoke_seq = row->seq;
        return WD_OK;
    }
    body->issue_seq = row->seq;
    return check_issue(token, row, err);
}

typedef struct ending {
    wd_status status;
    wd_error error;
    uint64_t seq;
} ending;

static void check_end(void *arg, wd_token *token)
{
    ending *e = arg;
    const wd_token_body *body = wd_token_const_body_of(token);
    bool revoked = wd_token_revoked_ms(token) != 0;
    if (e->status != WD_OK)
        return;
    e->seq = revoked || body->issue_seq == 0 ? body->issue_seq : body->revoke_seq;
    if (body->issue_seq == 0)
        e->status = wd_refuse(&e->error, WD_REASON_CHAIN_BROKEN,
                              "token %s is in the tokens table, but no audit row tells "
                              "of its issue",
                              token->id);
    else if (!revoked && body->revoke_seq != 0)
        e->status = wd_refuse(&e->error, WD_REASON_CHAIN_BROKEN,
                              "token %s is live in the tokens table, but audit row "
                              "%llu says that it was revoked",
                              token->id, (unsigned long long)body->revoke_seq);
    else if (revoked && body->revoke_seq == 0)
        e->status = wd_refuse(&e->error, WD_REASON_CHAIN_BROKEN,
                              "token %s is revoked in the tokens table, but no audit "
                              "row tells of that",
                              token->id);
}

wd_status wd_token_trail_end(wd_token_table *table, uint64_t *ret_seq, wd_error *err)
{
    ending e = {.status = WD_OK};
    wd_token_table_each(table, check_end, &e);
    *ret_seq = e.status != WD_OK ? e.seq : 0;
    if (e.status != WD_OK && err != NULL)
        *err = e.error;
    return e.status;
}

/* --- at the start ---------------------------------------------------------------------- */

wd_status wd_token_trail_hash(sqlite3_stmt *stmt, const char *chain_id, wd_error *err)
{
    wd_cell cells[WD_AUDIT_CELLS];
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t stored[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES] = {0};
    bool there = wd_cells_hashes(stmt, prev, stored);
    if (there) {
        wd_cells_of_stmt(stmt, chain_id, cells);
        wd_cells_hash(cells, prev, hash);
    }
    if (there && memcmp(hash, stored, sizeof(hash)) == 0)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "audit row %lld was changed: its content does not have its hash",
                     (long long)sqlite3_column_int64(stmt, 0));
}

typedef struct checking {
    const char *chain_id;
    wd_token_table *table;
} checking;

static wd_status check_one(void *arg, sqlite3_stmt *stmt, wd_error *err)
{
    const checking *c = arg;
    wd_audit_row row;
    wd_audit_row_read(stmt, c->chain_id, &row);
    WD_TRY(wd_sql_whole(stmt, err));
    if (!wd_token_trail_wants(row.event))
        return WD_OK;
    WD_TRY(wd_token_trail_hash(stmt, c->chain_id, err));
    return wd_token_trail_row(c->table, &row, err);
}

wd_status wd_token_trail_check(wd_trail *trail, wd_token_table *table, wd_error *err)
{
    checking c = {trail->place.chain_id, table};
    uint64_t seq = 0;
    WD_TRY(wd_trail_tokens(trail, check_one, &c, err));
    return wd_token_trail_end(table, &seq, err);
}
