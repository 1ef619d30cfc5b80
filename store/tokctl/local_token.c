/* Token's methods on the store's files. */
#include <string.h>

#include "server/service/pb.h"
#include "server/service/token_info.h"
#include "store/tokctl/local.h"
#include "warded/v1/token.pb-c.h"

#define PAGE_ROWS 100U

static Warded__V1__TokenInfo *info_of(wd_local *local, wd_token *token, int64_t now_ms,
                                      wd_error *err)
{
    Warded__V1__TokenInfo *info = wd_local_take(local, sizeof(*info));
    if (info == NULL || wd_local_keep(local, token, err) != WD_OK) {
        (void)wd_local_no_memory(err);
        return NULL;
    }
    wd_token_info_fill(token, now_ms, info);
    return info;
}

/* --- Issue --------------------------------------------------------------------------------- */

static wd_status spec_of(const Warded__V1__IssueRequest *asked, wd_token_spec *ret,
                         wd_error *err)
{
    *ret = (wd_token_spec){
        .kind = WD_TOKEN_DATA,
        .name = asked->name,
        .owner = asked->owner,
        .purpose = asked->purpose,
        .audience = asked->audience,
        .scopes = (const char *const *)asked->scopes,
        .n_scopes = asked->n_scopes,
        .bind = asked->bind,
        .allow_unbound = asked->allow_unbound,
        .ttl_ms = (int64_t)asked->ttl_ms,
        .not_before_ms = (int64_t)asked->not_before_ms,
    };
    if (asked->kind[0] != '\0' && !wd_token_kind_parse(asked->kind, &ret->kind))
        return wd_fail(err, WD_INVALID_ARGUMENT, "kind %.20s: data or admin",
                       asked->kind);
    return WD_OK;
}

static wd_status issue(wd_local *local, const ProtobufCMessage *request,
                       ProtobufCMessage **ret_reply, wd_error *err)
{
    WD_AUTO(wd_store) *store = NULL;
    WD_AUTO_ISSUED issued = {0};
    wd_token_spec spec;
    Warded__V1__IssueReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__issue_reply__init(reply);
    WD_TRY(spec_of((const Warded__V1__IssueRequest *)request, &spec, err));
    WD_TRY(wd_local_open(local, &store, err));
    WD_TRY(wd_tokens_issue_now(store, &spec, wd_local_principal(local), &issued, err));
    reply->token =
        wd_budget_text(wd_local_budget(local), issued.text.chars, WD_TOKEN_CHARS);
    reply->info = info_of(local, issued.token, issued.token->created_ms, err);
    if (reply->token == NULL || reply->info == NULL)
        return wd_local_no_memory(err);
    *ret_reply = &reply->base;
    return WD_OK;
}

/* --- List, Show ------------------------------------------------------------------------------ */

/* Does a token pass the terms "owner=..." and "state=..." of a filter?
 * Errors: UNIMPLEMENTED another term */
static wd_status passes(const char *filter, const wd_token *token, int64_t now_ms,
                        bool *ret, wd_error *err)
{
    *ret = true;
    for (const char *at = filter; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        char term[256] = "";
        if (size >= sizeof(term))
            return wd_fail(err, WD_INVALID_ARGUMENT, "a term of %zu bytes", size);
        memcpy(term, at, size);
        if (strncmp(term, "owner=", 6) == 0)
            *ret = *ret && strcmp(term + 6, token->owner) == 0;
        else if (strncmp(term, "state=", 6) == 0)
            *ret = *ret && strcmp(term + 6, wd_token_state_name(
                                                wd_token_state_at(token, now_ms))) == 0;
        else if (size > 0)
            return wd_fail(err, WD_UNIMPLEMENTED, "%s: only a gate can filter by this",
                           term);
        at += size + (at[size] == ' ' ? 1 : 0);
    }
    return WD_OK;
}

/* A page in the making. The cursor is the id that the last page ended with. */
typedef struct page {
    wd_local *local;
    const Warded__V1__ListRequest *asked;
    Warded__V1__ListReply *reply;
    size_t limit;
    int64_t now_ms;
    bool begun;
    wd_error *err;
    wd_status status;
} page;

static bool add_to_page(void *arg, const wd_token *token)
{
    page *p = arg;
    union { /* the list lends it; a reference keeps it */
        const wd_token *in;
        wd_token *out;
    } lent = {token};
    if (!p->begun) {
        p->begun = strcmp(p->asked->cursor, token->id) == 0;
        return true;
    }
    bool pass = false;
    p->status = passes(p->asked->filter, token, p->now_ms, &pass, p->err);
    if (p->status != WD_OK || !pass)
        return p->status == WD_OK;
    p->reply->total++;
    if (p->reply->n_tokens == p->limit) {
        p->reply->next_cursor = p->reply->tokens[p->limit - 1]->id;
        return p->asked->count;
    }
    Warded__V1__TokenInfo *info = info_of(p->local, lent.out, p->now_ms, p->err);
    if (info == NULL) {
        p->status = p->err->status;
        return false;
    }
    p->reply->tokens[p->reply->n_tokens++] = info;
    return true;
}

static wd_status list(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__ListRequest *asked = (const Warded__V1__ListRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    page p = {.local = local,
              .asked = asked,
              .limit = asked->limit != 0 ? asked->limit : PAGE_ROWS,
              .begun = asked->cursor[0] == '\0',
              .err = err};
    p.reply = wd_local_take(local, sizeof(*p.reply));
    if (p.reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__list_reply__init(p.reply);
    p.reply->tokens = wd_local_take(local, p.limit * sizeof(*p.reply->tokens));
    if (p.reply->tokens == NULL)
        return wd_local_no_memory(err);
    WD_TRY(wd_local_read(local, &reader, err));
    p.now_ms = wd_local_now_ms(reader);
    WD_TRY(wd_tokens_list(reader, add_to_page, &p, err));
    if (p.status != WD_OK)
        return p.status;
    if (!p.begun)
        return wd_fail(err, WD_INVALID_ARGUMENT, "the cursor is of another list");
    *ret_reply = &p.reply->base;
    return WD_OK;
}

static wd_status show(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__ShowRequest *asked = (const Warded__V1__ShowRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token) *token = NULL;
    Warded__V1__ShowReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__show_reply__init(reply);
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_tokens_find(reader, asked->id, &token, err));
    reply->info = info_of(local, token, wd_local_now_ms(reader), err);
    if (reply->info == NULL)
        return err->status;
    *ret_reply = &reply->base;
    return WD_OK;
}

/* --- Revoke ----------------------------------------------------------------------------------- */

static wd_status check_known(wd_local *local, const Warded__V1__RevokeRequest *asked,
                             wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_TRY(wd_local_read(local, &reader, err));
    for (size_t i = 0; i < asked->n_ids; i++) {
        WD_AUTO(wd_token) *token = NULL;
        WD_TRY(wd_tokens_find(reader, asked->ids[i], &token, err));
    }
    return WD_OK;
}

static wd_status check_plain(const Warded__V1__RevokeRequest *asked, wd_error *err)
{
    if (asked->family || asked->children || asked->owner[0] != '\0' ||
        asked->filter[0] != '\0' || asked->n_leaked > 0)
        return wd_fail(err, WD_UNIMPLEMENTED,
                       "offline tokens are revoked by id alone: ask a gate");
    return WD_OK;
}

static wd_status revoke_one(wd_local *local, wd_store *store,
                            const wd_token_revocation *revocation,
                            Warded__V1__RevokeReply *reply, wd_error *err)
{
    bool was_live = false;
    WD_TRY(wd_tokens_revoke_now(store, revocation, &was_live, err));
    if (!was_live) {
        reply->already++;
        return WD_OK;
    }
    reply->revoked++;
    char *id =
        wd_budget_text(wd_local_budget(local), revocation->id, WD_TOKEN_ID_CHARS);
    if (id == NULL)
        return wd_local_no_memory(err);
    reply->ids[reply->n_ids++] = id;
    return WD_OK;
}

static wd_status take_back(wd_local *local, const ProtobufCMessage *request,
                           ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__RevokeRequest *asked = (const Warded__V1__RevokeRequest *)request;
    WD_AUTO(wd_store) *store = NULL;
    Warded__V1__RevokeReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__revoke_reply__init(reply);
    reply->ids = wd_local_take(local, (asked->n_ids + 1) * sizeof(*reply->ids));
    if (reply->ids == NULL)
        return wd_local_no_memory(err);
    WD_TRY(check_plain(asked, err));
    WD_TRY(check_known(local, asked, err));
    *ret_reply = &reply->base;
    if (asked->dry_run)
        return WD_OK;
    WD_TRY(wd_local_open(local, &store, err));
    for (size_t i = 0; i < asked->n_ids; i++) {
        const wd_token_revocation revocation = {asked->ids[i], asked->reason,
                                                wd_local_principal(local)};
        WD_TRY(revoke_one(local, store, &revocation, reply, err));
    }
    return WD_OK;
}

const wd_local_method wd_local_token_methods[] = {
    {"/warded.v1.Token/Issue", issue},
    {"/warded.v1.Token/List", list},
    {"/warded.v1.Token/Show", show},
    {"/warded.v1.Token/Revoke", take_back},
    {NULL, NULL},
};
