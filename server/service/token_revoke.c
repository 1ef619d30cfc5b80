/* Revoke: tokens by whatever names them, in memory at once and on disk before the answer. */
#include "server/audit_rows.h"
#include "server/parts.h"
#include "server/pipeline.h"
#include "server/service/pb.h"
#include "server/service/token_owed.h"
#include "server/service/token_work.h"
#include "store/scope.h"
#include "store/token_filter.h"
#include "store/token_table.h"

#include "warded/v1/token.wd.h"

#include <string.h>

#define MOST_IDS  1024U
#define MOST_TOLD 10000U

typedef struct revoking {
    wd_token_work work; /* first */
    const Warded__V1__RevokeRequest *request;
    wd_token_filter *filter; /* NULL: none */
    wd_token **named;        /* `ids`; NULL where unknown */
    size_t n_unknown;
    wd_token_taken *found; /* each once, counted; the first n_sorted by address */
    size_t n_found;
    size_t n_sorted;
    size_t n_room;
    bool no_memory;
    char **told;
    Warded__V1__RevokeReply reply;
} revoking;

static void clear(wd_token_work *work)
{
    revoking *w = (revoking *)work;

    for (size_t i = 0; i < w->n_found; i++)
        wd_token_unref(w->found[i].token);
    wd_token_filter_free(w->filter);
    free(w->named);
    free(w->found);
    free(w->told);
}

/* --- who may, and what it means -------------------------------------------------------- */

static bool only_itself(const wd_call *call, const Warded__V1__RevokeRequest *request)
{
    bool only = request->n_ids > 0 && !request->family && !request->children &&
                request->owner[0] == '\0' && request->filter[0] == '\0' &&
                request->n_leaked == 0;

    for (size_t i = 0; only && i < request->n_ids; i++)
        only = strcmp(request->ids[i], call->token->id) == 0;
    return only;
}

wd_step wd_token_plan_revoke(wd_call *call, wd_error *err)
{
    const Warded__V1__RevokeRequest *request = (const void *)call->message;
    const char *id = only_itself(call, request) ? call->token->id : "another";

    if (wd_token_may(call, id, call->route->method->scope, true, err) != WD_OK)
        return WD_FAILED;
    return wd_call_plan_one(call, err);
}

static wd_status check_size(const char *field, size_t has, size_t most, wd_error *err)
{
    if (has <= most)
        return WD_OK;
    return wd_refuse(err, WD_REASON_FIELD_INVALID, "%s has %zu, at most %zu", field,
                     has, most);
}

static wd_status check(const Warded__V1__RevokeRequest *request, wd_error *err)
{
    WD_TRY(check_size("ids", request->n_ids, MOST_IDS, err));
    WD_TRY(check_size("leaked", request->n_leaked, MOST_IDS, err));
    WD_TRY(check_size("reason", strlen(request->reason), WD_TOKEN_REASON_BYTES, err));
    WD_TRY(check_size("owner", strlen(request->owner), WD_TOKEN_OWNER_BYTES, err));
    if (request->n_ids + request->n_leaked == 0 && request->owner[0] == '\0' &&
        request->filter[0] == '\0')
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "no token is named: give ids, owner, filter or leaked");
    if ((request->family || request->children) && request->n_ids == 0)
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "family and children are those of ids, and there are none");
    for (size_t i = 0; i < request->n_ids; i++) {
        if (!wd_token_id_valid(request->ids[i]))
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "ids[%zu] is not the id of a token (10 characters)", i);
    }
    return WD_OK;
}

static wd_status prepare(revoking *w, wd_error *err)
{
    wd_token_table *table = wd_store_tokens(w->work.call->gate->store);

    w->named = calloc(w->request->n_ids + 1, sizeof(*w->named));
    if (w->named == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    for (size_t i = 0; i < w->request->n_ids; i++) {
        WD_AUTO(wd_token) *token = wd_token_table_find(table, w->request->ids[i]);
        w->named[i] = token;
        w->n_unknown += token == NULL;
    }
    if (w->request->filter[0] == '\0')
        return WD_OK;
    return wd_token_filter_parse(w->request->filter,
                                 wd_store_now_ms(w->work.call->gate->store), &w->filter,
                                 err);
}

/* --- whom it concerns ------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
    const wd_token *left = ((const wd_token_taken *)a)->token;
    const wd_token *right = ((const wd_token_taken *)b)->token;
    return (left > right) - (left < right);
}

static void sort_found(revoking *w)
{
    if (w->n_found > 0)
        qsort(w->found, w->n_found, sizeof(wd_token_taken), by_address);
    w->n_sorted = w->n_found;
}

/* Found by a sweep before this one: a sweep itself comes by each token once. */
static bool is_known(const revoking *w, wd_token *token)
{
    const wd_token_taken key = {.token = token};
    return w->n_sorted > 0 && bsearch(&key, w->found, w->n_sorted,
                                      sizeof(wd_token_taken), by_address) != NULL;
}

static bool make_room(revoking *w)
{
    if (w->n_found < w->n_room)
        return true;
    size_t wider = w->n_room * 2 + 64;
    wd_token_taken *at = reallocarray(w->found, wider, sizeof(*at));
    if (at == NULL)
        return false;
    w->found = at;
    w->n_room = wider;
    return true;
}

static bool is_named(const revoking *w, const wd_token *token)
{
    for (size_t i = 0; i < w->request->n_ids; i++) {
        const wd_token *named = w->named[i];
        if (named == NULL)
            continue;
        if (named == token ||
            (w->request->family && strcmp(named->family, token->family) == 0) ||
            (w->request->children && wd_token_descends(token, named)))
            return true;
    }
    return false;
}

static bool concerns(const revoking *w, const wd_token *token)
{
    const char *owner = w->request->owner;

    if (owner[0] != '\0' && strcmp(owner, token->owner) == 0)
        return true;
    if (w->filter != NULL && wd_token_filter_match(w->filter, token))
        return true;
    return is_named(w, token);
}

/* In memory at once: no new call passes. */
static void take_back(revoking *w, wd_token *token)
{
    int64_t now_ms = wd_store_now_ms(w->work.call->gate->store);
    wd_revoked was = WD_REVOKED_NOW;

    if (is_known(w, token))
        return;
    if (w->request->dry_run)
        was = wd_token_holds(token, now_ms) ? WD_REVOKED_NOW : WD_REVOKED_ALREADY;
    else
        was = wd_token_revoke_now(token, w->request->reason, now_ms);
    if (make_room(w))
        w->found[w->n_found++] =
            (wd_token_taken){.token = wd_token_ref(token), .was = was};
    else
        w->no_memory = true;
}

static void look_at(void *arg, wd_token *token)
{
    revoking *w = arg;

    if (concerns(w, token))
        take_back(w, token);
}

/* Those named by id alone are found without looking at all there are. */
static void sweep(revoking *w, wd_token_table *table)
{
    const Warded__V1__RevokeRequest *request = w->request;
    bool all = request->family || request->children || request->owner[0] != '\0' ||
               w->filter != NULL;

    for (size_t i = 0; i < request->n_ids; i++) {
        if (w->named[i] != NULL)
            take_back(w, w->named[i]);
        sort_found(w);
    }
    if (all)
        wd_token_table_each(table, look_at, w);
    sort_found(w);
}

/* Only whoever has the secret can have found it. */
static void take_leaked(revoking *w, wd_token_table *table)
{
    for (size_t i = 0; i < w->request->n_leaked; i++) {
        char id[WD_TOKEN_ID_CHARS + 1] = "";
        const char *text = w->request->leaked[i];
        bool read = wd_token_claimed_id(text, id);
        WD_AUTO(wd_token) *token = read ? wd_token_table_find(table, id) : NULL;

        if (token != NULL && wd_token_is_secret(token, text))
            take_back(w, token);
        else
            w->reply.leaked_unknown++;
        sort_found(w);
    }
}

/* --- running calls --------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Which of the running calls' tokens hold no more: revoked, or issued with one that was. */
static size_t keep_ended(wd_store *store, char (*ids)[WD_TOKEN_ID_CHARS + 1], size_t n)
{
    int64_t now_ms = wd_store_now_ms(store);
    size_t kept = 0;

    qsort(ids, n, sizeof(*ids), by_id);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(ids[kept - 1], ids[i]) == 0)
            continue;
        WD_AUTO(wd_token) *token = wd_token_table_find(wd_store_tokens(store), ids[i]);
        wd_token_state state =
            token != NULL ? wd_token_state_at(token, now_ms) : WD_TOKEN_ACTIVE;
        if (state == WD_TOKEN_REVOKED || state == WD_TOKEN_ORPHANED)
            memmove(ids[kept++], ids[i], sizeof(*ids));
    }
    return kept;
}

static void signal_calls(revoking *w)
{
    wd_gate *gate = w->work.call->gate;
    char(*ids)[WD_TOKEN_ID_CHARS + 1] = NULL;
    size_t n = wd_inflight_tokens(gate->inflight, &ids);
    const wd_live_filter filter = {
        .token_ids = (const char(*)[WD_TOKEN_ID_CHARS + 1]) ids,
        .n_token_ids = n > 0 ? keep_ended(gate->store, ids, n) : 0,
    };

    if (filter.n_token_ids > 0)
        w->reply.calls_signalled +=
            (uint32_t)wd_inflight_signal(gate->inflight, &filter, WD_SIGNAL_REVOKED);
    free(ids);
}

static uint64_t since_us(const wd_call *call)
{
    return (uint64_t)(wd_clock_mono_ns(call->gate->clock) - call->received_ns) / 1000;
}

/* --- on disk ---------------------------------------------------------------------------- */

/* What was issued while the call waited for the writer is concerned too. */
static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    revoking *w = WD_CONTAINER(job, revoking, work.job);
    const wd_audit_row by = wd_rows_by(w->work.call);

    sweep(w, wd_store_tokens(store));
    wd_tokens_each_fresh(store, look_at, w);
    sort_found(w);
    for (size_t i = 0; i < w->n_found; i++)
        WD_TRY(wd_tokens_revoke(store, w->found[i].token->id, w->request->reason, &by,
                                err));
    return WD_OK;
}

static wd_status count(revoking *w, wd_error *err)
{
    size_t most = w->n_found < MOST_TOLD ? w->n_found : MOST_TOLD;

    w->told = calloc(most + 1, sizeof(*w->told));
    if (w->told == NULL)
        return wd_refuse(err, WD_REASON_CAPACITY, "the gate is out of memory");
    for (size_t i = 0; i < w->n_found; i++) {
        if (w->found[i].was != WD_REVOKED_NOW) {
            w->reply.already++;
            continue;
        }
        w->reply.revoked++;
        if (w->reply.n_ids < most)
            w->told[w->reply.n_ids++] = wd_pb_text(w->found[i].token->id);
    }
    w->reply.ids = w->told;
    return WD_OK;
}

static wd_status tell(revoking *w, wd_error *err)
{
    if (w->no_memory)
        return wd_refuse(
            err, WD_REASON_CAPACITY,
            "the gate is out of memory: not all of these tokens are on disk "
            "as revoked; ask again");
    WD_TRY(count(w, err));
    if (w->n_unknown > 0)
        return wd_refuse(err, WD_REASON_TOKEN_ID_UNKNOWN,
                         "%zu of %zu ids are unknown, %zu tokens are revoked",
                         w->n_unknown, w->request->n_ids, w->n_found);
    return wd_warded_v1_token_reply_revoke(w->work.call, &w->reply, err);
}

static wd_status reply(wd_token_work *work, wd_error *err)
{
    revoking *w = (revoking *)work;

    signal_calls(w); /* of those issued in between */
    w->reply.durable_us = since_us(work->call);
    return tell(w, err);
}

/* A service thread: the writer could not. */
static wd_status not_durable(wd_token_work *work, wd_error *err)
{
    const revoking *w = (const revoking *)work;
    char cause[WD_ERROR_MSG_BYTES];

    wd_token_owe(work->call, w->request->reason, w->found, w->n_found);
    (void)snprintf(cause, sizeof(cause), "%s", work->job.error.msg);
    return wd_refuse(err, WD_REASON_OUTCOME_UNRECORDED,
                     "the tokens are revoked in this gate, but not yet on disk, "
                     "and would live again after a restart; they are written as "
                     "soon as the disk takes them: %.300s",
                     cause);
}

wd_step wd_token_revoke(void *self, wd_call *call,
                        const Warded__V1__RevokeRequest *request, wd_error *err)
{
    wd_token_table *table = wd_store_tokens(call->gate->store);

    (void)self;
    if (check(request, err) != WD_OK)
        return WD_FAILED;
    revoking *w = wd_token_work_new(call, sizeof(*w), err);
    if (w == NULL)
        return WD_FAILED;
    w->work.clear = clear;
    w->work.failed = not_durable;
    w->request = request;
    warded__v1__revoke_reply__init(&w->reply);
    if (prepare(w, err) != WD_OK)
        return WD_FAILED;
    sweep(w, table);
    take_leaked(w, table);
    if (request->dry_run)
        return tell(w, err) == WD_OK ? WD_NEXT : WD_FAILED;
    signal_calls(w);
    w->reply.took_us = since_us(call);
    return wd_token_work_park(&w->work, apply, reply);
}
