/* The tokens table of the database: its rows to tokens and back. */
#include "store/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/token_rows.h"

#define TOKEN_COLUMNS                                                                  \
    "id, kind, name, owner, purpose, audience, scopes, bind, digest, created_ms, "     \
    "not_before_ms, expires_ms, revoked_ms, revoked_reason, last_used_ms, parent, "    \
    "family, generation, ttl_ms, renewable_until_ms, idle_ms, max_uses, rate_calls, "  \
    "rate_per_ms, concurrency, retires_ms, retires_old, wraps, inner_ttl_ms, "         \
    "overlap_ms, unwrapped, reserved, last_peer, last_address"
#define TOKEN_PARAMETERS                                                               \
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "   \
    "?, ?, ?, ?, ?, ?, ?, ?"

/* --- writing ---------------------------------------------------------------------- */

static wd_status unwritable(const wd_error *cause, wd_error *err)
{
    return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "token store: %s", cause->msg);
}

static wd_status prepare(wd_store *store, const char *sql, sqlite3_stmt **ret_stmt,
                         wd_error *err)
{
    wd_error cause;
    if (wd_sql_prepare(store->db, sql, ret_stmt, &cause) != WD_OK)
        return unwritable(&cause, err);
    return WD_OK;
}

static wd_status run(sqlite3_stmt *stmt, wd_error *err)
{
    wd_error cause;
    return wd_sql_run(stmt, &cause) == WD_OK ? WD_OK : unwritable(&cause, err);
}

static void bind_number(sqlite3_stmt *stmt, int at, int64_t value)
{
    (void)sqlite3_bind_int64(stmt, at, value);
}

static void bind_what(sqlite3_stmt *stmt, const wd_token *token, const char *scopes)
{
    const wd_token_body *body = wd_token_const_body_of(token);
    wd_sql_bind_text(stmt, 1, token->id);
    wd_sql_bind_text(stmt, 2, wd_token_kind_name(token->kind));
    wd_sql_bind_text(stmt, 3, token->name);
    wd_sql_bind_text(stmt, 4, token->owner);
    wd_sql_bind_text(stmt, 5, token->purpose);
    wd_sql_bind_text(stmt, 6, token->audience);
    wd_sql_bind_text(stmt, 7, scopes);
    wd_sql_bind_text(stmt, 8, token->bind);
    (void)sqlite3_bind_blob(stmt, 9, body->digest, sizeof(body->digest), SQLITE_STATIC);
    wd_sql_bind_text(stmt, 16, token->parent);
    wd_sql_bind_text(stmt, 17, token->family);
    bind_number(stmt, 18, token->generation);
}

static void bind_bounds(sqlite3_stmt *stmt, const wd_token *token)
{
    bind_number(stmt, 10, token->created_ms);
    bind_number(stmt, 11, token->not_before_ms);
    bind_number(stmt, 12, wd_token_expires_ms(token));
    bind_number(stmt, 19, token->ttl_ms);
    bind_number(stmt, 20, token->renewable_until_ms);
    bind_number(stmt, 21, token->idle_ms);
    bind_number(stmt, 22, token->limits.max_uses);
    bind_number(stmt, 23, token->limits.rate_calls);
    bind_number(stmt, 24, token->limits.rate_per_ms);
    bind_number(stmt, 25, token->limits.concurrency);
    bind_number(stmt, 27, token->retires_old);
    wd_sql_bind_text(stmt, 28,
                     token->wraps != 0 ? wd_token_kind_name(token->wraps) : "");
    bind_number(stmt, 29, token->inner_ttl_ms);
    bind_number(stmt, 30, token->overlap_ms);
}

/* What a new token has not yet. */
static void bind_fresh(sqlite3_stmt *stmt)
{
    static const int numbers[] = {13, 15, 26, 32};
    static const int texts[] = {14, 31, 33, 34};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        bind_number(stmt, numbers[i], 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        wd_sql_bind_text(stmt, texts[i], "");
}

wd_status wd_tokens_insert_row(wd_store *store, const wd_token *token, wd_error *err)
{
    WD_AUTO(wd_text) *scopes = wd_token_scopes_text(token->scopes, token->n_scopes);
    if (scopes == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare(
        store, "INSERT INTO tokens (" TOKEN_COLUMNS ") VALUES (" TOKEN_PARAMETERS ")",
        &stmt, err));
    bind_what(stmt, token, scopes);
    bind_bounds(stmt, token);
    bind_fresh(stmt);
    return run(stmt, err);
}

static wd_status prepare_set(wd_store *store, const char *column, const char *id,
                             sqlite3_stmt **ret_stmt, wd_error *err)
{
    char sql[96];
    (void)snprintf(sql, sizeof(sql), "UPDATE tokens SET %s = ?2 WHERE id = ?1", column);
    WD_TRY(prepare(store, sql, ret_stmt, err));
    wd_sql_bind_text(*ret_stmt, 1, id);
    return WD_OK;
}

wd_status wd_tokens_set_number(wd_store *store, const char *column, const char *id,
                               int64_t value, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare_set(store, column, id, &stmt, err));
    bind_number(stmt, 2, value);
    return run(stmt, err);
}

wd_status wd_tokens_set_text(wd_store *store, const char *column, const char *id,
                             const char *text, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare_set(store, column, id, &stmt, err));
    wd_sql_bind_text(stmt, 2, text);
    return run(stmt, err);
}

/* --- reading ---------------------------------------------------------------------- */

static bool read_ids(sqlite3_stmt *stmt, wd_token *token)
{
    const char *wraps = wd_sql_text(stmt, 27);
    (void)snprintf(token->id, sizeof(token->id), "%s", wd_sql_text(stmt, 0));
    (void)snprintf(token->family, sizeof(token->family), "%s", wd_sql_text(stmt, 16));
    return wd_token_id_valid(wd_sql_text(stmt, 0)) &&
           wd_token_id_valid(wd_sql_text(stmt, 16)) &&
           wd_token_kind_parse(wd_sql_text(stmt, 1), &token->kind) &&
           (wraps[0] == '\0' || wd_token_kind_parse(wraps, &token->wraps)) &&
           sqlite3_column_bytes(stmt, 8) == (int)WD_TOKEN_DIGEST_BYTES;
}

static void read_what(sqlite3_stmt *stmt, wd_token *token)
{
    token->name = wd_sql_text(stmt, 2);
    token->owner = wd_sql_text(stmt, 3);
    token->purpose = wd_sql_text(stmt, 4);
    token->audience = wd_sql_text(stmt, 5);
    token->bind = wd_sql_text(stmt, 7);
    token->parent = wd_sql_text(stmt, 15);
    token->generation = (uint32_t)sqlite3_column_int64(stmt, 17);
}

static void read_bounds(sqlite3_stmt *stmt, wd_token *token)
{
    token->created_ms = sqlite3_column_int64(stmt, 9);
    token->not_before_ms = sqlite3_column_int64(stmt, 10);
    token->ttl_ms = sqlite3_column_int64(stmt, 18);
    token->renewable_until_ms = sqlite3_column_int64(stmt, 19);
    token->idle_ms = sqlite3_column_int64(stmt, 20);
    token->limits = (wd_token_limits){
        .max_uses = sqlite3_column_int64(stmt, 21),
        .rate_calls = (uint32_t)sqlite3_column_int64(stmt, 22),
        .rate_per_ms = (uint32_t)sqlite3_column_int64(stmt, 23),
        .concurrency = (uint32_t)sqlite3_column_int64(stmt, 24),
    };
    token->retires_old = sqlite3_column_int64(stmt, 26) != 0;
    token->inner_ttl_ms = sqlite3_column_int64(stmt, 28);
    token->overlap_ms = sqlite3_column_int64(stmt, 29);
}

static wd_status read_token(sqlite3_stmt *stmt, wd_token **ret_token, wd_error *err)
{
    wd_token_fields fields = {
        .scopes = wd_sql_text(stmt, 6),
        .digest = sqlite3_column_blob(stmt, 8),
        .expires_ms = sqlite3_column_int64(stmt, 11),
        .revoked_ms = sqlite3_column_int64(stmt, 12),
        .revoked_reason = wd_sql_text(stmt, 13),
        .last_used_ms = sqlite3_column_int64(stmt, 14),
        .retires_ms = sqlite3_column_int64(stmt, 25),
        .unwrapped = wd_sql_text(stmt, 30),
        .reserved = sqlite3_column_int64(stmt, 31),
        .last_peer = wd_sql_text(stmt, 32),
        .last_address = wd_sql_text(stmt, 33),
    };
    bool ours = read_ids(stmt, &fields.token);
    read_what(stmt, &fields.token);
    read_bounds(stmt, &fields.token);
    WD_TRY(wd_sql_whole(stmt, err));
    if (!ours)
        return wd_fail(
            err, WD_DATA_LOSS,
            "the tokens table holds a row that Warded did not write; keep the "
            "database for inspection and restore a backup");
    return wd_token_build(&fields, ret_token, err);
}

static wd_status next_token(sqlite3_stmt *stmt, wd_token **ret_token, wd_error *err)
{
    bool row = false;
    *ret_token = NULL;
    WD_TRY(wd_sql_next(stmt, &row, err));
    return row ? read_token(stmt, ret_token, err) : WD_OK;
}

/* A revocation holds in memory before it is on disk. */
static void follow_memory(wd_store *store, wd_token *token)
{
    WD_AUTO(wd_token) *known = wd_token_table_find(store->tokens, token->id);
    if (known != NULL && wd_token_revoked_ms(token) == 0)
        atomic_store(&wd_token_body_of(token)->revoked_ms, wd_token_revoked_ms(known));
    if (known != NULL)
        atomic_store(&wd_token_body_of(token)->last_used_ms,
                     wd_token_last_used_ms(known));
}

static wd_status next_row(wd_store *store, sqlite3_stmt *stmt, wd_token **ret_token,
                          wd_error *err)
{
    wd_error cause = {0};
    if (next_token(stmt, ret_token, &cause) != WD_OK)
        return unwritable(&cause, err);
    if (*ret_token != NULL)
        follow_memory(store, *ret_token);
    return WD_OK;
}

wd_status wd_tokens_row(wd_store *store, const char *id, wd_token **ret_token,
                        wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_token *token = NULL;
    WD_TRY(prepare(store, "SELECT " TOKEN_COLUMNS " FROM tokens WHERE id = ?1", &stmt,
                   err));
    wd_sql_bind_text(stmt, 1, id);
    WD_TRY(next_row(store, stmt, &token, err));
    if (token == NULL)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "there is no token %.16s",
                         id);
    *ret_token = token;
    return WD_OK;
}

wd_status wd_tokens_newest(wd_store *store, const char *family, wd_token **ret_newest,
                           wd_token **ret_older, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_AUTO(wd_token) *newest = NULL;
    WD_AUTO(wd_token) *older = NULL;
    WD_TRY(prepare(store,
                   "SELECT " TOKEN_COLUMNS " FROM tokens WHERE family = ?1"
                   " AND generation > 0 ORDER BY generation DESC LIMIT 2",
                   &stmt, err));
    wd_sql_bind_text(stmt, 1, family);
    WD_TRY(next_row(store, stmt, &newest, err));
    if (newest != NULL)
        WD_TRY(next_row(store, stmt, &older, err));
    *ret_newest = WD_STEAL(newest);
    *ret_older = WD_STEAL(older);
    return WD_OK;
}

wd_status wd_tokens_reserved(wd_store *store, const char *family, int64_t *ret_reserved,
                             wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    bool row = false;
    WD_TRY(prepare(store, "SELECT reserved FROM tokens WHERE id = ?1", &stmt, err));
    wd_sql_bind_text(stmt, 1, family);
    if (wd_sql_next(stmt, &row, &cause) != WD_OK)
        return unwritable(&cause, err);
    *ret_reserved = row ? sqlite3_column_int64(stmt, 0) : 0;
    return WD_OK;
}

/* --- all of them ------------------------------------------------------------------ */

wd_status wd_tokens_load(sqlite3 *db, wd_token_table *table, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "SELECT " TOKEN_COLUMNS " FROM tokens ORDER BY rowid",
                          &stmt, err));
    for (;;) {
        WD_AUTO(wd_token) *token = NULL;
        WD_TRY(next_token(stmt, &token, err));
        if (token == NULL)
            return WD_OK;
        WD_TRY(wd_token_table_add(table, token, err));
        token = NULL;
    }
}

wd_status wd_tokens_read(wd_reader *reader, wd_token_table **ret_table, wd_error *err)
{
    WD_AUTO(wd_token_table) *table = NULL;
    WD_TRY(wd_token_table_new(&table, err));
    WD_TRY(wd_tokens_load(reader->db, table, err));
    *ret_table = WD_STEAL(table);
    return WD_OK;
}

wd_status wd_tokens_list(wd_reader *reader, wd_token_each *each, void *arg,
                         wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(
        reader->db, "SELECT " TOKEN_COLUMNS " FROM tokens ORDER BY rowid", &stmt, err));
    for (;;) {
        WD_AUTO(wd_token) *token = NULL;
        WD_TRY(next_token(stmt, &token, err));
        if (token == NULL || !each(arg, token))
            return WD_OK;
    }
}

wd_status wd_tokens_find(wd_reader *reader, const char *id, wd_token **ret_token,
                         wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(
        reader->db, "SELECT " TOKEN_COLUMNS " FROM tokens WHERE id = ?1", &stmt, err));
    wd_sql_bind_text(stmt, 1, id);
    wd_token *token = NULL;
    WD_TRY(next_token(stmt, &token, err));
    if (token == NULL)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "there is no token %.16s",
                         id);
    *ret_token = token;
    return WD_OK;
}
