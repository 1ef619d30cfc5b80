#include "store/token_detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "proto/c/sha256.h"
#include "store/audit.h"
#include "store/token_body.h"

/* Half of a commitment: from it nobody can tell the digest that opens the gate. */
#define FINGERPRINT "warded-token-record-v1"

static inline void auto_json(json_t **object)
{
    json_decref(*object);
}
#define AUTO_JSON __attribute__((cleanup(auto_json))) json_t

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

/* What every row of every build tells. */
static json_t *common_of(const wd_token *token)
{
    int64_t first_end = token->not_before_ms + token->ttl_ms;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:o}", "name",
                     token->name, "kind", wd_token_kind_name(token->kind), "owner",
                     token->owner, "bind", token->bind, "audience", token->audience,
                     "scopes", scopes(token), "not_before_ms",
                     (json_int_t)token->not_before_ms, "expires_ms",
                     (json_int_t)first_end, "fingerprint", fingerprint(token));
}

static json_t *with_text(json_t *record, const char *key, const char *text)
{
    return text[0] != '\0' ? with(record, key, json_string(text)) : record;
}

static json_t *with_number(json_t *record, const char *key, int64_t number)
{
    return number != 0 ? with(record, key, json_integer((json_int_t)number)) : record;
}

/* What is said only when it is not as usual: so rows of older builds say it too. */
static json_t *record_of(const wd_token *token)
{
    int64_t renewable = token->renewable_until_ms - token->not_before_ms;
    bool first = strcmp(token->family, token->id) == 0;
    json_t *r = common_of(token);
    r = with_text(r, "parent", token->parent);
    r = with_text(r, "family", first ? "" : token->family);
    r = with_number(r, "generation",
                    first && token->wraps == 0 ? token->generation - 1
                                               : token->generation);
    r = with_number(r, "renewable_until_ms",
                    renewable != WD_TOKEN_TTL_MAX_MS ? token->renewable_until_ms : 0);
    r = with_number(r, "idle_ms", token->idle_ms);
    r = with_number(r, "max_uses", token->limits.max_uses);
    r = with_number(r, "rate_calls", token->limits.rate_calls);
    r = with_number(r, "rate_per_ms", token->limits.rate_per_ms);
    r = with_number(r, "concurrency", token->limits.concurrency);
    r = with_number(r, "retires_old", token->retires_old);
    r = with_text(r, "wraps",
                  token->wraps != 0 ? wd_token_kind_name(token->wraps) : "");
    r = with_number(r, "inner_ttl_ms", token->inner_ttl_ms);
    return with_number(r, "overlap_ms", token->overlap_ms);
}

char *wd_token_issue_detail(const wd_token *token)
{
    WD_AUTO(wd_text) *text = to_text(record_of(token));
    if (text == NULL || strlen(text) <= WD_AUDIT_TEXT_BYTES)
        return WD_STEAL(text);
    return to_text(with(record_of(token), "scopes", scopes_digest(token)));
}

char *wd_token_text_detail(const char *key, const char *text)
{
    return to_text(json_pack("{s:s}", key, text));
}

char *wd_token_number_detail(const char *key, int64_t number, const char *word)
{
    json_t *object = json_pack("{s:I}", key, (json_int_t)number);
    if (word == NULL)
        return to_text(object);
    return to_text(
        with(object, wd_token_id_valid(word) ? "successor" : "why", json_string(word)));
}

/* --- read again -------------------------------------------------------------------- */

static wd_status no_memory(wd_error *err)
{
    return wd_refuse(err, WD_REASON_CAPACITY, "no memory for what a row says");
}

/* *ret_said: NULL: that is no JSON. */
static wd_status load(const char *detail, json_t **ret_said, wd_error *err)
{
    json_error_t why;
    *ret_said = json_loads(detail != NULL ? detail : "", 0, &why);
    if (*ret_said == NULL && json_error_code(&why) == json_error_out_of_memory)
        return no_memory(err);
    return WD_OK;
}

/* What the first builds may have left out. */
static bool may_be_unsaid(const char *key)
{
    static const char *const first[] = {"name",          "kind",       "owner",
                                        "bind",          "audience",   "scopes",
                                        "not_before_ms", "expires_ms", "fingerprint"};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        if (strcmp(key, first[i]) == 0)
            return true;
    }
    return false;
}

static const char *static_name(const char *key)
{
    static const char *const names[] = {
        "name",        "kind",         "owner",      "bind",
        "audience",    "scopes",       "expires_ms", "not_before_ms",
        "fingerprint", "parent",       "family",     "generation",
        "idle_ms",     "max_uses",     "rate_calls", "renewable_until_ms",
        "rate_per_ms", "concurrency",  "wraps",      "retires_old",
        "overlap_ms",  "inner_ttl_ms",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(key, names[i]) == 0)
            return names[i];
    }
    return "row";
}

/* The first member that one of them has and the other has not so, or NULL. */
static const char *difference(json_t *said, json_t *has)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(said, key, value)
    {
        if (!json_equal(value, json_object_get(has, key)))
            return static_name(key);
    }
    json_object_foreach(has, key, value)
    {
        if (json_object_get(said, key) == NULL && !may_be_unsaid(key))
            return static_name(key);
    }
    return NULL;
}

wd_status wd_token_issue_differs(const wd_token *token, const char *detail,
                                 int64_t *ret_expires_ms, const char **ret_differs,
                                 wd_error *err)
{
    AUTO_JSON *said = NULL;
    AUTO_JSON *has = record_of(token);
    WD_TRY(load(detail, &said, err));
    if (json_is_object(json_object_get(said, "scopes")))
        has = with(has, "scopes", scopes_digest(token));
    if (has == NULL)
        return no_memory(err);
    *ret_expires_ms = token->not_before_ms + token->ttl_ms;
    *ret_differs = NULL;
    if (json_object_get(said, "cut_bytes") != NULL)
        return WD_OK; /* an older build: too long a detail was not kept at all */
    *ret_differs = json_is_object(said) ? difference(said, has) : "row";
    return WD_OK;
}

static wd_status not_said(const char *key, wd_error *err)
{
    return wd_fail(err, WD_NOT_FOUND, "the row does not say %s", key);
}

wd_status wd_token_detail_number(const char *detail, const char *key,
                                 int64_t *ret_number, wd_error *err)
{
    AUTO_JSON *said = NULL;
    WD_TRY(load(detail, &said, err));
    const json_t *value = json_object_get(said, key);
    if (!json_is_integer(value))
        return not_said(key, err);
    *ret_number = json_integer_value(value);
    return WD_OK;
}

wd_status wd_token_detail_id(const char *detail, const char *key,
                             char ret_id[WD_TOKEN_ID_CHARS + 1], wd_error *err)
{
    AUTO_JSON *said = NULL;
    WD_TRY(load(detail, &said, err));
    const char *text = json_string_value(json_object_get(said, key));
    if (text == NULL || !wd_token_id_valid(text))
        return not_said(key, err);
    memcpy(ret_id, text, WD_TOKEN_ID_CHARS + 1);
    return WD_OK;
}
