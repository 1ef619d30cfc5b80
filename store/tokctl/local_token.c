/* Token's methods on the store's files. */
#include <string.h>

#include "server/service/token_info.h"
#include "server/service/token_spec.h"
#include "store/tokctl/local.h"
#include "store/token_list.h"
#include "warded/v1/token.pb-c.h"

static Warded__V1__TokenInfo *info_of(wd_local *local, wd_token *token, int64_t now_ms,
                                      wd_error *err)
{
    wd_token_info *info = wd_local_take(local, sizeof(*info));
    if (info == NULL || wd_local_keep(local, token, err) != WD_OK) {
        (void)wd_local_no_memory(err);
        return NULL;
    }
    wd_token_info_fill(token, now_ms, info);
    return &info->message;
}

/* --- Issue --------------------------------------------------------------------------------- */

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
    WD_TRY(wd_token_spec_fill((const Warded__V1__IssueRequest *)request, &spec, err));
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

/* Tokens as messages, in the local's memory. */
typedef struct infos {
    wd_local *local;
    int64_t now_ms;
    const char *family; /* only those of it; NULL: all */
    Warded__V1__TokenInfo **list;
    size_t n, room;
    wd_status status;
    wd_error *err;
} infos;

static void add(void *arg, wd_token *token)
{
    infos *found = arg;
    if (found->status != WD_OK || found->n == found->room ||
        (found->family != NULL && strcmp(token->family, found->family) != 0))
        return;
    Warded__V1__TokenInfo *info =
        info_of(found->local, token, found->now_ms, found->err);
    if (info == NULL)
        found->status = found->err->status;
    else
        found->list[found->n++] = info;
}

static wd_status make_room(infos *found, size_t room)
{
    found->list = wd_local_take(found->local, (room + 1) * sizeof(*found->list));
    found->room = room;
    return found->list != NULL ? WD_OK : wd_local_no_memory(found->err);
}

static wd_status read_page(wd_token_table *table, const Warded__V1__ListRequest *asked,
                           infos *found, Warded__V1__ListReply *reply)
{
    WD_AUTO(wd_token_filter) *filter = NULL;
    WD_AUTO_PAGE page = {.n = 0};
    wd_budget *memory = wd_local_budget(found->local);
    wd_token_query query = {
        .sort = asked->sort, .limit = asked->limit, .cursor = asked->cursor};
    WD_TRY(wd_token_filter_parse(asked->filter, found->now_ms, &filter, found->err));
    query.filter = filter;
    WD_TRY(wd_token_page_read(table, &query, &page, found->err));
    WD_TRY(make_room(found, page.n));
    for (size_t i = 0; i < page.n; i++)
        add(found, page.tokens[i]);
    reply->total = asked->count ? page.total : 0;
    reply->next_cursor = wd_budget_text(memory, page.cursor, strlen(page.cursor));
    return reply->next_cursor != NULL ? found->status : wd_local_no_memory(found->err);
}

static wd_status list(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token_table) *table = NULL;
    infos found = {.local = local, .err = err};
    Warded__V1__ListReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__list_reply__init(reply);
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_tokens_read(reader, &table, err));
    found.now_ms = wd_local_now_ms(reader);
    WD_TRY(read_page(table, (const Warded__V1__ListRequest *)request, &found, reply));
    reply->tokens = found.list;
    reply->n_tokens = found.n;
    *ret_reply = &reply->base;
    return WD_OK;
}

/* The token and its generations; its children are a gate's to tell. */
static wd_status show(wd_local *local, const ProtobufCMessage *request,
                      ProtobufCMessage **ret_reply, wd_error *err)
{
    const Warded__V1__ShowRequest *asked = (const Warded__V1__ShowRequest *)request;
    WD_AUTO(wd_reader) *reader = NULL;
    WD_AUTO(wd_token_table) *table = NULL;
    infos found = {.local = local, .err = err};
    Warded__V1__ShowReply *reply = wd_local_take(local, sizeof(*reply));
    if (reply == NULL)
        return wd_local_no_memory(err);
    warded__v1__show_reply__init(reply);
    if (asked->tree)
        return wd_fail(err, WD_UNIMPLEMENTED, "--tree: only a gate can answer this");
    WD_TRY(wd_local_read(local, &reader, err));
    WD_TRY(wd_tokens_read(reader, &table, err));
    WD_AUTO(wd_token) *token = wd_token_table_find(table, asked->id);
    if (token == NULL)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN, "there is no token %.64s",
                         asked->id);
    found.now_ms = wd_local_now_ms(reader);
    found.family = token->family;
    WD_TRY(make_room(&found, wd_token_table_count(table)));
    wd_token_table_each(table, add, &found);
    reply->info = info_of(local, token, found.now_ms, err);
    if (reply->info == NULL || found.status != WD_OK)
        return err->status;
    reply->generations = found.list;
    reply->n_generations = found.n;
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
