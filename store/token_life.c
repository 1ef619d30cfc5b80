#include "store/token_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/token_rows.h"
#include "store/token_trail.h"

/* --- rows ------------------------------------------------------------------------- */

static wd_audit_row row_of(const char *event, const wd_token *token,
                           const wd_audit_row *by)
{
    wd_audit_row row = *by;
    row.event = event;
    row.outcome = "ok";
    row.token_id = token->id;
    row.owner = token->owner;
    row.family = token->family;
    return row;
}

/* Takes `detail`, which is from malloc; NULL: there was no memory for it. */
static wd_status append(wd_store *store, wd_audit_row row, char *detail, wd_error *err)
{
    WD_AUTO(wd_text) *owned = detail;
    if (owned == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token's record");
    row.detail = owned;
    return wd_audit_append(store, &row, err);
}

/* The token that the table has, or will have after the commit. */
static wd_token *kept_token(wd_store *store, const char *id)
{
    for (wd_token_change *at = store->changes; at != NULL; at = at->next) {
        if (at->kind == WD_CHANGE_ADD && strcmp(at->token->id, id) == 0)
            return wd_token_ref(at->token);
    }
    return wd_token_table_find(store->tokens, id);
}

static wd_status note(wd_store *store, wd_change_kind kind, const char *id,
                      int64_t value, wd_error *err)
{
    WD_AUTO(wd_token) *token = kept_token(store, id);
    const wd_token_change change = {.kind = kind, .token = token, .value = value};
    if (token == NULL)
        return wd_refuse(err, WD_REASON_BUG, "token %s is in no table", id);
    return wd_tokens_note(store, &change, err);
}

/* --- issue ------------------------------------------------------------------------ */

/* The caller's token may have been taken back since it was checked. */
static wd_status check_parent(wd_store *store, const wd_token *token, wd_error *err)
{
    if (token->parent[0] == '\0')
        return WD_OK;
    WD_AUTO(wd_token) *parent = wd_token_table_find(store->tokens, token->parent);
    int64_t now_ms = wd_store_now_ms(store);
    const wd_family *family = parent != NULL ? wd_token_body_of(parent)->family : NULL;
    if (family != NULL && wd_family_holds(family, now_ms))
        return WD_OK;
    return wd_refuse(err, WD_REASON_CONFLICT,
                     "token %s, with which it is issued, holds no more", token->parent);
}

static wd_status insert(wd_store *store, wd_token *token, const wd_audit_row *by,
                        wd_error *err)
{
    const wd_token_change add = {.kind = WD_CHANGE_ADD, .token = token};
    WD_TRY(wd_tokens_insert_row(store, token, err));
    WD_TRY(wd_tokens_note(store, &add, err));
    return append(store, row_of("token.issue", token, by), wd_token_issue_detail(token),
                  err);
}

wd_status wd_tokens_add(wd_store *store, wd_token *token, const wd_audit_row *by,
                        wd_error *err)
{
    WD_TRY(check_parent(store, token, err));
    return insert(store, token, by, err);
}

/* --- what is there now ------------------------------------------------------------ */

/* The newest generation of the family of `id`, and the one before it. */
static wd_status find_line(wd_store *store, const char *id, wd_token **ret_newest,
                           wd_token **ret_older, wd_error *err)
{
    WD_AUTO(wd_token) *asked = NULL;
    WD_TRY(wd_tokens_row(store, id, &asked, err));
    return wd_tokens_newest(store, asked->family, ret_newest, ret_older, err);
}

/* Not by its parents: that is the table's to know. */
static wd_status check_live(wd_store *store, const wd_token *token, wd_error *err)
{
    wd_token_state state = wd_token_state_at(token, wd_store_now_ms(store));
    if (state == WD_TOKEN_ACTIVE || state == WD_TOKEN_RETIRING ||
        state == WD_TOKEN_NOT_YET)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CONFLICT, "token %s is %s: issue a new one",
                     token->id, wd_token_state_name(state));
}

/* --- renew ------------------------------------------------------------------------ */

wd_status wd_tokens_renew(wd_store *store, const char *id, int64_t expires_ms,
                          const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *token = NULL;
    WD_TRY(wd_tokens_row(store, id, &token, err));
    if (wd_token_retires_ms(token) != 0)
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "token %s was rotated: the newest generation is the one to "
                         "renew",
                         id);
    WD_TRY(check_live(store, token, err));
    if (expires_ms <= wd_token_expires_ms(token))
        return WD_OK;
    WD_TRY(wd_tokens_set_number(store, "expires_ms", id, expires_ms, err));
    WD_TRY(note(store, WD_CHANGE_EXPIRES, id, expires_ms, err));
    return append(store, row_of("token.renew", token, by),
                  wd_token_number_detail("expires_ms", expires_ms, NULL), err);
}

/* --- rotate, retire ------------------------------------------------------------------ */

static wd_status set_retires(wd_store *store, const wd_token *token, int64_t at_ms,
                             wd_error *err)
{
    WD_TRY(wd_tokens_set_number(store, "retires_ms", token->id, at_ms, err));
    return note(store, WD_CHANGE_RETIRES, token->id, at_ms, err);
}

static bool is_open(wd_store *store, const wd_token *token)
{
    return token != NULL && wd_token_retires_ms(token) != 0 &&
           check_live(store, token, NULL) == WD_OK;
}

static wd_status retire(wd_store *store, const wd_token *token, const char *why,
                        const wd_audit_row *by, wd_error *err)
{
    int64_t now_ms = wd_store_now_ms(store);
    WD_TRY(set_retires(store, token, now_ms, err));
    return append(store, row_of("token.retire", token, by),
                  wd_token_number_detail("retires_ms", now_ms, why), err);
}

static wd_status check_two(wd_store *store, const wd_token *older, bool force,
                           const wd_audit_row *by, wd_error *err)
{
    if (!is_open(store, older))
        return WD_OK;
    if (force)
        return retire(store, older, "forced", by, err);
    return wd_refuse(
        err, WD_REASON_CONFLICT,
        "the overlap of token %s is open for %lld ms more, and at most two "
        "generations are live: retire it first, or force",
        older->id, (long long)(wd_token_retires_ms(older) - wd_store_now_ms(store)));
}

/* The old one never holds longer for being rotated. */
static wd_status make_retiring(wd_store *store, const wd_token *old,
                               const wd_token_rotation *rotation,
                               const wd_audit_row *by, wd_error *err)
{
    int64_t at_ms = wd_store_now_ms(store) + rotation->overlap_ms;
    if (at_ms > wd_token_expires_ms(old))
        at_ms = wd_token_expires_ms(old);
    WD_TRY(set_retires(store, old, at_ms, err));
    return append(store, row_of("token.rotate", old, by),
                  wd_token_number_detail("retires_ms", at_ms, rotation->fresh->id),
                  err);
}

static wd_status check_next(const wd_token *newest, const wd_token *fresh,
                            wd_error *err)
{
    if (newest != NULL && fresh->generation == newest->generation + 1)
        return WD_OK;
    return wd_refuse(err, WD_REASON_CONFLICT,
                     "the family %s was rotated by somebody else at the same time",
                     fresh->family);
}

static wd_status go_on(wd_store *store, const wd_token_rotation *rotation,
                       const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *newest = NULL;
    WD_AUTO(wd_token) *older = NULL;
    wd_token *fresh = rotation->fresh;
    WD_TRY(wd_tokens_newest(store, fresh->family, &newest, &older, err));
    WD_TRY(check_next(newest, fresh, err));
    WD_TRY(check_live(store, newest, err));
    WD_TRY(check_two(store, older, rotation->force, by, err));
    WD_TRY(make_retiring(store, newest, rotation, by, err));
    return insert(store, fresh, by, err);
}

wd_status wd_tokens_rotate(wd_store *store, const wd_token_rotation *rotation,
                           const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *newest = NULL;
    WD_AUTO(wd_token) *older = NULL;
    if (rotation->fresh->wraps == 0)
        return go_on(store, rotation, by, err);
    WD_TRY(wd_tokens_newest(store, rotation->fresh->family, &newest, &older, err));
    WD_TRY(check_two(store, older, rotation->force, by, err));
    return insert(store, rotation->fresh, by, err);
}

wd_status wd_tokens_retire(wd_store *store, wd_token_retirement *retirement,
                           const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *newest = NULL;
    WD_AUTO(wd_token) *older = NULL;
    WD_TRY(find_line(store, retirement->id, &newest, &older, err));
    if (!is_open(store, older))
        return wd_refuse(err, WD_REASON_CONFLICT,
                         "no overlap of token %s is open: there is nothing to retire",
                         retirement->id);
    memcpy(retirement->old, older->id, sizeof(older->id));
    return retire(store, older, retirement->why, by, err);
}

/* --- uses ------------------------------------------------------------------------- */

static wd_status reserve(wd_store *store, wd_family *family, const wd_audit_row *by,
                         wd_error *err)
{
    int64_t reserved = 0;
    const char *id = family->first->id;
    WD_TRY(wd_tokens_reserved(store, id, &reserved, err));
    int64_t more = wd_family_lacks(family, reserved);
    if (more == 0)
        return WD_OK;
    WD_TRY(wd_tokens_set_number(store, "reserved", id, reserved + more, err));
    WD_TRY(note(store, WD_CHANGE_RESERVED, id, reserved + more, err));
    return append(store, row_of("token.uses", family->first, by),
                  wd_token_number_detail("reserved", reserved + more, NULL), err);
}

wd_status wd_tokens_reserve(wd_store *store, const char *id, const wd_audit_row *by,
                            wd_error *err)
{
    WD_AUTO(wd_token) *token = wd_token_table_find(store->tokens, id);
    wd_family *family = token != NULL ? wd_token_body_of(token)->family : NULL;
    for (; family != NULL; family = family->parent)
        WD_TRY(reserve(store, family, by, err));
    return WD_OK;
}

typedef struct giving {
    wd_store_job job; /* first */
    wd_store *store;
    wd_status status;
    wd_error error;
} giving;

static void give_back(void *arg, wd_family *family)
{
    giving *g = arg;
    const wd_audit_row by = {.principal = "gate"};
    int64_t spent = atomic_load(&family->spent);
    const char *id = family->first->id;
    if (g->status != WD_OK || spent >= atomic_load(&family->reserved))
        return;
    g->status = wd_tokens_set_number(g->store, "reserved", id, spent, &g->error);
    if (g->status == WD_OK)
        g->status = append(g->store, row_of("token.uses", family->first, &by),
                           wd_token_number_detail("reserved", spent, NULL), &g->error);
}

static wd_status give_apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    giving *g = (giving *)job;
    g->store = store;
    g->status = WD_OK;
    wd_token_table_each_family(store->tokens, give_back, g);
    if (g->status != WD_OK)
        *err = g->error;
    return g->status;
}

void wd_tokens_give_back(wd_store *store)
{
    giving g = {.job.apply = give_apply};
    (void)!wd_store_run(store, &g.job, NULL); /* they are lost then: as by a crash */
}

/* --- unwrap ----------------------------------------------------------------------- */

static wd_status open_wrap(wd_store *store, const wd_token *wrap, const wd_token *fresh,
                           const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *kept = kept_token(store, wrap->id);
    wd_token_change change = {.kind = WD_CHANGE_UNWRAPPED, .token = kept};
    if (kept == NULL)
        return wd_refuse(err, WD_REASON_BUG, "token %s is in no table", wrap->id);
    memcpy(change.id, fresh->id, sizeof(change.id));
    WD_TRY(wd_tokens_set_text(store, "unwrapped", wrap->id, fresh->id, err));
    WD_TRY(wd_tokens_note(store, &change, err));
    return append(store, row_of("token.unwrap", wrap, by),
                  wd_token_text_detail("token", fresh->id), err);
}

wd_status wd_tokens_unwrap(wd_store *store, const wd_token *wrap, wd_token *fresh,
                           const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *now = NULL;
    WD_TRY(wd_tokens_row(store, wrap->id, &now, err));
    if (wd_token_unwrapped(now)[0] != '\0')
        return wd_refuse(err, WD_REASON_TOKEN_RETIRED, "wrap %s was opened before",
                         wrap->id);
    WD_TRY(check_live(store, now, err));
    WD_TRY(check_parent(store, fresh, err));
    WD_TRY(open_wrap(store, wrap, fresh, by, err));
    if (fresh->generation == 1)
        return insert(store, fresh, by, err);
    const wd_token_rotation rotation = {.fresh = fresh, .overlap_ms = wrap->overlap_ms};
    return go_on(store, &rotation, by, err);
}

/* --- revoke ----------------------------------------------------------------------- */

wd_status wd_tokens_revoke(wd_store *store, const char *id, const char *reason,
                           const wd_audit_row *by, wd_error *err)
{
    WD_AUTO(wd_token) *token = NULL;
    WD_TRY(wd_tokens_row(store, id, &token, err));
    WD_AUTO(sqlite3_stmt) *stmt = NULL;
    wd_error cause;
    if (wd_sql_prepare(store->db,
                       "UPDATE tokens SET revoked_ms = ?2, revoked_reason = ?3"
                       " WHERE id = ?1 AND revoked_ms = 0",
                       &stmt, &cause) != WD_OK)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "token store: %s", cause.msg);
    wd_sql_bind_text(stmt, 1, id);
    (void)sqlite3_bind_int64(stmt, 2, wd_store_now_ms(store));
    wd_sql_bind_text(stmt, 3, reason != NULL ? reason : "");
    if (wd_sql_run(stmt, &cause) != WD_OK)
        return wd_refuse(err, WD_REASON_AUDIT_UNWRITABLE, "token store: %s", cause.msg);
    return append(store, row_of("token.revoke", token, by),
                  wd_token_text_detail("reason", reason != NULL ? reason : ""), err);
}

wd_status wd_tokens_wrap_reused(wd_store *store, const wd_token *wrap,
                                const wd_audit_row *by, wd_error *err)
{
    const char *reason = WD_TOKEN_WRAP_REUSED;
    WD_AUTO(wd_token) *now = NULL;
    WD_TRY(wd_tokens_row(store, wrap->id, &now, err));
    const char *inner = wd_token_unwrapped(now);
    WD_AUTO(wd_token) *token = kept_token(store, inner);
    if (token != NULL)
        (void)wd_token_revoke_now(token, reason, wd_store_now_ms(store));
    WD_TRY(append(store, row_of("token.wrap_reuse", wrap, by),
                  wd_token_text_detail("token", inner), err));
    return wd_tokens_revoke(store, inner, reason, by, err);
}
