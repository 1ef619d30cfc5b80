#include "store/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "store/internal.h"
#include "store/token_body.h"

#define TOKEN_COLUMNS                                                                  \
    "id, kind, name, owner, purpose, audience, scopes, bind, digest, created_ms, "     \
    "not_before_ms, expires_ms, revoked_ms, revoked_reason, "                          \
    "last_used_ms, parent"

/* --- inside a job ----------------------------------------------------------------- */

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

static void bind_token(sqlite3_stmt *stmt, const wd_token *token, const char *scopes)
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
    (void)sqlite3_bind_int64(stmt, 10, token->created_ms);
    (void)sqlite3_bind_int64(stmt, 11, token->not_before_ms);
    (void)sqlite3_bind_int64(stmt, 12, token->expires_ms);
    (void)sqlite3_bind_int64(stmt, 13, wd_token_revoked_ms(token));
    wd_sql_bind_text(stmt, 14, token->revoked_reason);
    (void)sqlite3_bind_int64(stmt, 15, wd_token_last_used_ms(token));
    wd_sql_bind_text(stmt, 16, token->parent);
}

wd_status wd_tokens_insert(wd_store *store, wd_token *token, wd_error *err)
{
    WD_AUTO(wd_text) *scopes = wd_token_scopes_text(token->scopes, token->n_scopes);
    if (scopes == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token");
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare(store,
                   "INSERT INTO tokens (" TOKEN_COLUMNS
                   ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   &stmt, err));
    bind_token(stmt, token, scopes);
    WD_TRY(run(stmt, err));
    wd_token_body_of(token)->next_fresh = store->fresh;
    store->fresh = wd_token_ref(token);
    return WD_OK;
}

static wd_status exists(wd_store *store, const char *id, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    bool row = false;
    WD_TRY(prepare(store, "SELECT 1 FROM tokens WHERE id = ?1", &stmt, err));
    wd_sql_bind_text(stmt, 1, id);
    if (wd_sql_next(stmt, &row, &cause) != WD_OK)
        return unwritable(&cause, err);
    if (!row)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "there is no token %.16s",
                         id);
    return WD_OK;
}

wd_status wd_tokens_revoke(wd_store *store, const char *id, const char *reason,
                           wd_error *err)
{
    WD_TRY(exists(store, id, err));
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare(store,
                   "UPDATE tokens SET revoked_ms = ?2, revoked_reason = ?3"
                   " WHERE id = ?1 AND revoked_ms = 0",
                   &stmt, err));
    wd_sql_bind_text(stmt, 1, id);
    (void)sqlite3_bind_int64(stmt, 2, wd_store_now_ms(store));
    wd_sql_bind_text(stmt, 3, reason != NULL ? reason : "");
    return run(stmt, err);
}

/* --- after the group -------------------------------------------------------------- */

static wd_token *pop_fresh(wd_store *store)
{
    wd_token *token = store->fresh;
    store->fresh = wd_token_body_of(token)->next_fresh;
    wd_token_body_of(token)->next_fresh = NULL;
    return token;
}

void wd_tokens_settle(wd_store *store)
{
    while (store->fresh != NULL)
        wd_token_table_add(store->tokens, pop_fresh(store));
}

void wd_tokens_undo(wd_store *store, const wd_token *until)
{
    while (store->fresh != NULL && store->fresh != until)
        wd_token_unref(pop_fresh(store));
}

/* --- last use --------------------------------------------------------------------- */

typedef struct flush {
    wd_store_job job; /* first */
    sqlite3_stmt *stmt;
    wd_status status;
    wd_error error;
} flush;

static void flush_one(void *arg, wd_token *token)
{
    flush *f = arg;
    wd_token_body *body = wd_token_body_of(token);
    int64_t used = wd_token_last_used_ms(token);
    if (used == body->flushed_ms || f->status != WD_OK)
        return;
    wd_sql_bind_text(f->stmt, 1, token->id);
    (void)sqlite3_bind_int64(f->stmt, 2, used);
    f->status = run(f->stmt, &f->error);
    if (f->status == WD_OK)
        body->flushed_ms = used;
}

static wd_status flush_apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    flush *f = (flush *)job;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(prepare(store, "UPDATE tokens SET last_used_ms = ?2 WHERE id = ?1", &stmt,
                   err));
    f->stmt = stmt;
    f->status = WD_OK;
    wd_token_table_each(store->tokens, flush_one, f);
    if (f->status != WD_OK)
        *err = f->error;
    return f->status;
}

/* What was undone is written the next time. */
static void forget_flush(void *arg, wd_token *token)
{
    (void)arg;
    wd_token_body_of(token)->flushed_ms = 0;
}

void wd_tokens_flush_used(wd_store *store)
{
    flush f = {.job.apply = flush_apply};
    if (wd_store_run(store, &f.job, NULL) != WD_OK)
        wd_token_table_each(store->tokens, forget_flush, NULL);
}

/* --- reading ---------------------------------------------------------------------- */

static wd_status read_token(sqlite3_stmt *stmt, wd_token **ret_token, wd_error *err)
{
    wd_token_fields fields = {
        .id = wd_sql_text(stmt, 0),
        .name = wd_sql_text(stmt, 2),
        .owner = wd_sql_text(stmt, 3),
        .purpose = wd_sql_text(stmt, 4),
        .audience = wd_sql_text(stmt, 5),
        .scopes = wd_sql_text(stmt, 6),
        .bind = wd_sql_text(stmt, 7),
        .digest = sqlite3_column_blob(stmt, 8),
        .created_ms = sqlite3_column_int64(stmt, 9),
        .not_before_ms = sqlite3_column_int64(stmt, 10),
        .expires_ms = sqlite3_column_int64(stmt, 11),
        .revoked_ms = sqlite3_column_int64(stmt, 12),
        .revoked_reason = wd_sql_text(stmt, 13),
        .last_used_ms = sqlite3_column_int64(stmt, 14),
        .parent = wd_sql_text(stmt, 15),
    };
    const char *kind = wd_sql_text(stmt, 1);
    WD_TRY(wd_sql_whole(stmt, err));
    if (!wd_token_id_valid(fields.id) || !wd_token_kind_parse(kind, &fields.kind) ||
        sqlite3_column_bytes(stmt, 8) != (int)WD_TOKEN_DIGEST_BYTES)
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

wd_status wd_tokens_load(sqlite3 *db, wd_token_table *table, wd_error *err)
{
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    WD_TRY(wd_sql_prepare(db, "SELECT " TOKEN_COLUMNS " FROM tokens", &stmt, err));
    for (;;) {
        wd_token *token = NULL;
        WD_TRY(next_token(stmt, &token, err));
        if (token == NULL)
            return WD_OK;
        wd_token_table_add(table, token);
    }
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
