#include "store/token_trail.h"

#include <stdlib.h>
#include <string.h>

#include "store/audit_hash.h"
#include "store/token_body.h"

/* What the rows have said of a token so far. */
typedef struct wd_token_said {
    uint64_t issue_seq; /* 0: there was no such row */
    uint64_t revoke_seq;
    uint64_t last_seq;
    int64_t expires_ms;
    int64_t retires_ms;
    int64_t reserved;
    char unwrapped[WD_TOKEN_ID_CHARS + 1];
} wd_token_said;

/* --- row by row ------------------------------------------------------------------------ */

static wd_status changed(const wd_token *token, const char *field, uint64_t seq,
                         wd_error *err)
{
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "token %s was changed in the tokens table: its %s is not what "
                     "audit row %llu says",
                     token->id, field, (unsigned long long)seq);
}

static wd_status said_issue(wd_token *token, wd_token_said *said,
                            const wd_audit_row *row, wd_error *err)
{
    const char *differs = NULL;
    WD_TRY(
        wd_token_issue_differs(token, row->detail, &said->expires_ms, &differs, err));
    said->issue_seq = row->seq;
    return differs == NULL ? WD_OK : changed(token, differs, row->seq, err);
}

static wd_status said_revoke(wd_token *token, wd_token_said *said,
                             const wd_audit_row *row, wd_error *err)
{
    (void)token;
    (void)err;
    said->revoke_seq = row->seq;
    return WD_OK;
}

/* A row that does not say what it must, or `status` by itself. */
static wd_status heard(wd_status status, const wd_token *token, const wd_audit_row *row,
                       const wd_error *cause, wd_error *err)
{
    if (status == WD_OK)
        return WD_OK;
    if (status == WD_NOT_FOUND)
        return changed(token, "row", row->seq, err);
    if (err != NULL)
        *err = *cause;
    return status;
}

static wd_status number(const wd_token *token, const wd_audit_row *row, const char *key,
                        int64_t *ret_number, wd_error *err)
{
    wd_error cause = {0};
    wd_status status = wd_token_detail_number(row->detail, key, ret_number, &cause);
    return heard(status, token, row, &cause, err);
}

static wd_status said_renew(wd_token *token, wd_token_said *said,
                            const wd_audit_row *row, wd_error *err)
{
    return number(token, row, "expires_ms", &said->expires_ms, err);
}

static wd_status said_retires(wd_token *token, wd_token_said *said,
                              const wd_audit_row *row, wd_error *err)
{
    return number(token, row, "retires_ms", &said->retires_ms, err);
}

static wd_status said_uses(wd_token *token, wd_token_said *said,
                           const wd_audit_row *row, wd_error *err)
{
    return number(token, row, "reserved", &said->reserved, err);
}

static wd_status said_unwrap(wd_token *token, wd_token_said *said,
                             const wd_audit_row *row, wd_error *err)
{
    wd_error cause = {0};
    wd_status status =
        wd_token_detail_id(row->detail, "token", said->unwrapped, &cause);
    return heard(status, token, row, &cause, err);
}

typedef struct saying {
    const char *event;
    wd_status (*take)(wd_token *token, wd_token_said *said, const wd_audit_row *row,
                      wd_error *err);
} saying;

static const saying sayings[] = {
    {"token.issue", said_issue},    {"token.revoke", said_revoke},
    {"token.renew", said_renew},    {"token.rotate", said_retires},
    {"token.retire", said_retires}, {"token.uses", said_uses},
    {"token.unwrap", said_unwrap},
};

static const saying *find_saying(const char *event)
{
    for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++) {
        if (strcmp(event, sayings[i].event) == 0)
            return &sayings[i];
    }
    return NULL;
}

bool wd_token_trail_wants(const char *event)
{
    return find_saying(event) != NULL;
}

wd_status wd_token_trail_row(wd_token_table *table, const wd_audit_row *row,
                             wd_error *err)
{
    const saying *what = find_saying(row->event);
    WD_AUTO(wd_token) *token =
        wd_token_table_find(table, row->token_id != NULL ? row->token_id : "");
    if (token == NULL)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "token %.16s is gone from the tokens table: audit row %llu "
                         "tells of it",
                         row->token_id != NULL ? row->token_id : "",
                         (unsigned long long)row->seq);
    wd_token_body *body = wd_token_body_of(token);
    if (body->said == NULL)
        body->said = calloc(1, sizeof(*body->said));
    if (body->said == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "no memory for a token");
    body->said->last_seq = row->seq;
    return what != NULL ? what->take(token, body->said, row, err) : WD_OK;
}

/* --- after the last row ----------------------------------------------------------------- */

typedef struct ending {
    wd_status status;
    wd_error error;
    uint64_t seq;
} ending;

static wd_status check_revoked(const wd_token *token, const wd_token_said *said,
                               wd_error *err)
{
    bool revoked = wd_token_revoked_ms(token) != 0;
    if (revoked == (said->revoke_seq != 0))
        return WD_OK;
    if (revoked)
        return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                         "token %s is revoked in the tokens table, but no audit "
                         "row tells of that",
                         token->id);
    return wd_refuse(err, WD_REASON_CHAIN_BROKEN,
                     "token %s is live in the tokens table, but audit row "
                     "%llu says that it was revoked",
                     token->id, (unsigned long long)said->revoke_seq);
}

static wd_status check_life(const wd_token *token, const wd_token_said *said,
                            wd_error *err)
{
    const wd_token_body *body = wd_token_const_body_of(token);
    const char *differs = NULL;
    if (wd_token_expires_ms(token) != said->expires_ms)
        differs = "expires_ms";
    else if (wd_token_retires_ms(token) != said->retires_ms)
        differs = "retires_ms";
    else if (body->reserved != said->reserved)
        differs = "uses";
    else if (strcmp(wd_token_unwrapped(token), said->unwrapped) != 0)
        differs = "unwrapping";
    return differs == NULL ? WD_OK : changed(token, differs, said->last_seq, err);
}

static wd_status check_token(const wd_token *token, const wd_token_said *said,
                             ending *e)
{
    e->seq = 0;
    if (said == NULL || said->issue_seq == 0)
        return wd_refuse(&e->error, WD_REASON_CHAIN_BROKEN,
                         "token %s is in the tokens table, but no audit row tells "
                         "of its issue",
                         token->id);
    e->seq = said->issue_seq;
    if (wd_token_revoked_ms(token) == 0 && said->revoke_seq != 0)
        e->seq = said->revoke_seq;
    WD_TRY(check_revoked(token, said, &e->error));
    e->seq = said->last_seq;
    return check_life(token, said, &e->error);
}

static void check_end(void *arg, wd_token *token)
{
    ending *e = arg;
    wd_token_body *body = wd_token_body_of(token);
    if (e->status == WD_OK)
        e->status = check_token(token, body->said, e);
}

static void forget(void *arg, wd_token *token)
{
    (void)arg;
    free(wd_token_body_of(token)->said);
    wd_token_body_of(token)->said = NULL;
}

wd_status wd_token_trail_end(wd_token_table *table, uint64_t *ret_seq, wd_error *err)
{
    ending e = {.status = WD_OK};
    wd_token_table_each(table, check_end, &e);
    wd_token_table_each(table, forget, NULL);
    *ret_seq = e.status != WD_OK ? e.seq : 0;
    if (e.status != WD_OK && err != NULL)
        *err = e.error;
    return e.status;
}

/* --- at the start ---------------------------------------------------------------------- */

wd_status wd_token_trail_hash(sqlite3_stmt *stmt, const char *chain_id, wd_error *err)
{
    uint8_t prev[WD_AUDIT_HASH_BYTES];
    uint8_t hash[WD_AUDIT_HASH_BYTES];
    if (wd_cells_sound(stmt, chain_id, prev, hash))
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
