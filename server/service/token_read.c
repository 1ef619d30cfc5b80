/* List, Show and Check: what is known of tokens. On the reader threads: to look at all of
 * them takes a while. */
#include "server/parts.h"
#include "server/service/pb.h"
#include "server/service/token_work.h"
#include "server/service_stage.h"
#include "store/token_list.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

#include <string.h>

#define MOST_SHOWN 10000U

/* Infos, and the pointers to their messages that protobuf-c wants. */
typedef struct infos {
    wd_token_info *infos;
    Warded__V1__TokenInfo **messages;
    size_t n;
} infos;

static void infos_done(infos *list)
{
    free(list->infos);
    free(list->messages);
}
#define AUTO_INFOS __attribute__((cleanup(infos_done))) infos

static wd_status infos_fill(wd_token *const *tokens, size_t n, int64_t now_ms,
                            infos *list, wd_error *err)
{
    list->infos = calloc(n + 1, sizeof(*list->infos));
    list->messages = calloc(n + 1, sizeof(*list->messages));
    if (list->infos == NULL || list->messages == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    for (size_t i = 0; i < n; i++) {
        wd_token_info_fill(tokens[i], now_ms, &list->infos[i]);
        list->messages[i] = &list->infos[i].message;
    }
    list->n = n;
    return WD_OK;
}

static wd_step step_of(wd_status status)
{
    return status == WD_OK ? WD_NEXT : WD_FAILED;
}

/* --- List ------------------------------------------------------------------------------ */

static wd_status list(const wd_call *call, const Warded__V1__ListRequest *request,
                      wd_token_page *page, wd_error *err)
{
    WD_AUTO(wd_token_filter) *filter = NULL;
    wd_token_query query = {
        .sort = request->sort, .limit = request->limit, .cursor = request->cursor};

    WD_TRY(wd_token_filter_parse(request->filter, wd_store_now_ms(call->gate->store),
                                 &filter, err));
    query.filter = filter;
    return wd_token_page_read(wd_store_tokens(call->gate->store), &query, page, err);
}

wd_step wd_token_list(void *self, wd_call *call, const Warded__V1__ListRequest *request,
                      wd_error *err)
{
    Warded__V1__ListReply reply = WARDED__V1__LIST_REPLY__INIT;
    WD_AUTO_PAGE page = {.n = 0};
    AUTO_INFOS found = {.n = 0};

    (void)self;
    if (list(call, request, &page, err) != WD_OK ||
        infos_fill(page.tokens, page.n, wd_store_now_ms(call->gate->store), &found,
                   err) != WD_OK)
        return WD_FAILED;
    reply.tokens = found.messages;
    reply.n_tokens = found.n;
    reply.next_cursor = page.cursor;
    reply.total = request->count ? page.total : 0;
    return step_of(wd_warded_v1_token_reply_list(call, &reply, err));
}

/* --- Show ------------------------------------------------------------------------------ */

wd_step wd_token_plan_show(wd_call *call, wd_error *err)
{
    const Warded__V1__ShowRequest *request = (const void *)call->message;

    if (wd_token_may(call, request->id, call->route->method->scope, false, err) !=
        WD_OK)
        return WD_FAILED;
    return wd_call_plan_one(call, err);
}

/* Tokens of the table, borrowed: they never leave it. */
typedef struct kin {
    const wd_token *of;
    wd_token **generations;
    size_t n_generations;
    wd_token **children; /* newest of each family that was issued with it */
    size_t n_children;
    size_t n_families;
    bool failed;
} kin;

static void kin_done(kin *k)
{
    free(k->generations);
    free(k->children);
}
#define AUTO_KIN __attribute__((cleanup(kin_done))) kin

static void push(kin *k, wd_token ***list, size_t *n, wd_token *token)
{
    wd_token **at = reallocarray(*list, *n + 1, sizeof(**list));

    if (at == NULL) {
        k->failed = true;
        return;
    }
    at[(*n)++] = token;
    *list = at;
}

static void look_at(void *arg, wd_token *token)
{
    kin *k = arg;

    if (strcmp(token->family, k->of->family) == 0) {
        push(k, &k->generations, &k->n_generations, token);
        return;
    }
    if (!wd_token_descends(token, k->of))
        return;
    WD_AUTO(wd_token) *newest = wd_token_newest(token);
    if (newest != NULL ? newest != token : strcmp(token->id, token->family) != 0)
        return;
    k->n_families++;
    if (k->n_children < MOST_SHOWN)
        push(k, &k->children, &k->n_children, token);
}

/* A parent was there before its children: the order in which they came is that of the
 * tree, level by level. */
static wd_status fill_tree(const kin *k, const infos *children,
                           Warded__V1__ShowReply *reply, wd_budget *budget,
                           wd_error *err)
{
    unsigned depth = wd_token_depth(k->of);
    Warded__V1__ShowReply__Node *nodes =
        wd_budget_take(budget, (children->n + 1) * sizeof(*nodes));
    Warded__V1__ShowReply__Node **tree =
        wd_budget_take(budget, (children->n + 1) * sizeof(*tree));

    if (nodes == NULL || tree == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY,
                         "the tree has %zu tokens: list them by filter instead",
                         children->n);
    for (size_t i = 0; i < children->n; i++) {
        warded__v1__show_reply__node__init(&nodes[i]);
        nodes[i].depth = wd_token_depth(k->children[i]) - depth;
        nodes[i].info = children->messages[i];
        tree[i] = &nodes[i];
    }
    reply->tree = tree;
    reply->n_tree = children->n;
    reply->tree_cut = k->n_families > k->n_children;
    return WD_OK;
}

static wd_status show(wd_call *call, const wd_token *token, bool tree, wd_error *err)
{
    Warded__V1__ShowReply reply = WARDED__V1__SHOW_REPLY__INIT;
    int64_t now_ms = wd_store_now_ms(call->gate->store);
    AUTO_KIN k = {.of = token};
    AUTO_INFOS generations = {.n = 0};
    AUTO_INFOS children = {.n = 0};
    wd_token_info info;

    wd_token_table_each(wd_store_tokens(call->gate->store), look_at, &k);
    if (k.failed)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    WD_TRY(infos_fill(k.generations, k.n_generations, now_ms, &generations, err));
    WD_TRY(infos_fill(k.children, tree ? k.n_children : 0, now_ms, &children, err));
    if (tree)
        WD_TRY(fill_tree(&k, &children, &reply, call->budget, err));
    wd_token_info_fill(token, now_ms, &info);
    reply.info = &info.message;
    reply.generations = generations.messages;
    reply.n_generations = generations.n;
    reply.children = (uint32_t)k.n_families;
    return wd_warded_v1_token_reply_show(call, &reply, err);
}

wd_step wd_token_show(void *self, wd_call *call, const Warded__V1__ShowRequest *request,
                      wd_error *err)
{
    wd_token *token = NULL;

    (void)self;
    if (wd_token_target(call, request->id, &token, err) != WD_OK)
        return WD_FAILED;
    return step_of(show(call, token, request->tree, err));
}
