/* What memory learns after a commit, and what is written now and then: last uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/c/limits.h"
#include "store/token_rows.h"

/* --- after the group -------------------------------------------------------------- */

wd_status wd_tokens_note(wd_store *store, const wd_token_change *change, wd_error *err)
{
    wd_token_change *kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token's change");
    *kept = *change;
    kept->token = wd_token_ref(change->token);
    kept->next = store->changes;
    store->changes = kept;
    return WD_OK;
}

static void drop(wd_token_change *change)
{
    wd_token_unref(change->token);
    free(change);
}

void wd_tokens_undo(wd_store *store, const wd_token_change *until)
{
    while (store->changes != NULL && store->changes != until) {
        wd_token_change *change = store->changes;
        store->changes = change->next;
        drop(change);
    }
}

/* The row is there and can't be taken back. Without memory the token is unknown until the
 * next start: nobody gets in by that. */
static void settle_add(wd_store *store, wd_token_change *change)
{
    if (wd_token_table_add(store->tokens, change->token, NULL) == WD_OK)
        (void)wd_token_ref(change->token);
}

static void settle_reserved(wd_token_change *change)
{
    wd_family *family = wd_token_body_of(change->token)->family;
    if (family != NULL)
        atomic_store(&family->reserved, change->value);
}

static void settle_one(wd_store *store, wd_token_change *change)
{
    wd_token_body *body = wd_token_body_of(change->token);
    switch (change->kind) {
    case WD_CHANGE_ADD:
        settle_add(store, change);
        break;
    case WD_CHANGE_EXPIRES:
        atomic_store(&body->expires_ms, change->value);
        break;
    case WD_CHANGE_RETIRES:
        atomic_store(&body->retires_ms, change->value);
        break;
    case WD_CHANGE_RESERVED:
        settle_reserved(change);
        break;
    case WD_CHANGE_UNWRAPPED:
        wd_token_keep_unwrapped(change->token, change->id);
        break;
    }
}

static wd_token_change *reversed(wd_token_change *newest_first)
{
    wd_token_change *oldest_first = NULL;
    while (newest_first != NULL) {
        wd_token_change *change = newest_first;
        newest_first = change->next;
        change->next = oldest_first;
        oldest_first = change;
    }
    return oldest_first;
}

void wd_tokens_settle(wd_store *store)
{
    wd_token_change *changes = reversed(store->changes);
    store->changes = NULL;
    while (changes != NULL) {
        wd_token_change *change = changes;
        changes = change->next;
        settle_one(store, change);
        drop(change);
    }
}

void wd_tokens_each_fresh(wd_store *store, void (*visit)(void *arg, wd_token *token),
                          void *arg)
{
    for (wd_token_change *at = store->changes; at != NULL; at = at->next) {
        if (at->kind == WD_CHANGE_ADD)
            visit(arg, at->token);
    }
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
    char uri[WD_URI_BYTES + 1];
    char address[WD_TOKEN_PEER_BYTES];
    if (used == body->flushed_ms || f->status != WD_OK)
        return;
    wd_token_last_peer(token, uri, address);
    wd_sql_bind_text(f->stmt, 1, token->id);
    (void)sqlite3_bind_int64(f->stmt, 2, used);
    wd_sql_bind_text(f->stmt, 3, uri);
    wd_sql_bind_text(f->stmt, 4, address);
    f->status = wd_sql_run(f->stmt, &f->error);
    if (f->status == WD_OK)
        body->flushed_ms = used;
}

static wd_status flush_apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    flush *f = (flush *)job;
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    f->status = wd_sql_prepare(store->db,
                               "UPDATE tokens SET last_used_ms = ?2, last_peer = ?3,"
                               " last_address = ?4 WHERE id = ?1",
                               &stmt, &f->error);
    f->stmt = stmt;
    wd_token_table_each(store->tokens, flush_one, f);
    if (f->status != WD_OK)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "token store: %s",
                         f->error.msg);
    return WD_OK;
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
