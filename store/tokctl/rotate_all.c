#include "store/tokctl/rotate_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/progress.h"
#include "store/tokctl/secret.h"
#include "store/tokctl/selectors.h"
#include "store/tokctl/views.h"
#include "store/token.h"

#define TOKENS_MOST 10000U

/* The ids, known before the first is rotated: what is made meanwhile is not rotated. */
typedef struct batch {
    char (*ids)[WD_TOKEN_ID_CHARS + 1];
    size_t n;
} batch;

static void batch_done(batch *b)
{
    free(b->ids);
}

static const wd_column columns[] = {
    {"ID", "id", WD_COLUMN_TEXT, false},
    {"OLD", "old", WD_COLUMN_TEXT, false},
    {"FILE", "file", WD_COLUMN_TEXT, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static wd_status find_all(wd_backend *backend, const char *owner, batch *ret,
                          wd_error *err)
{
    const wd_selectors selectors = {.owner = owner, .state = "active"};
    char filter[WD_SELECTORS_BYTES];
    const ProtobufCMessage *message = NULL;
    Warded__V1__ListRequest ask;
    warded__v1__list_request__init(&ask);
    WD_TRY(wd_selectors_settle(&selectors, filter, err));
    ask.filter = filter;
    ask.limit = TOKENS_MOST;
    WD_TRY(wd_backend_call(backend, WD_TOKEN_METHOD(List), &ask.base, &message, err));
    const Warded__V1__ListReply *reply = (const Warded__V1__ListReply *)message;
    if (reply->next_cursor[0] != '\0')
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "more than %u tokens", TOKENS_MOST);
    ret->ids = calloc(reply->n_tokens + 1, sizeof(*ret->ids));
    if (ret->ids == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory");
    for (size_t i = 0; i < reply->n_tokens; i++)
        (void)snprintf(ret->ids[ret->n++], sizeof(*ret->ids), "%s",
                       reply->tokens[i]->id);
    return WD_OK;
}

/* The record of it; NULL: why not is in *err. */
static json_t *rotate_one(const wd_tokctl *ctl, wd_backend *backend,
                          Warded__V1__RotateRequest *ask, const char *path,
                          wd_error *err)
{
    const ProtobufCMessage *message = NULL;
    wd_secret_out out;
    if (wd_secret_open(ctl, path, false, &out, err) != WD_OK)
        return NULL;
    wd_status status =
        wd_backend_call(backend, WD_TOKEN_METHOD(Rotate), &ask->base, &message, err);
    const Warded__V1__RotateReply *reply = (const Warded__V1__RotateReply *)message;
    if (status == WD_OK)
        status = wd_secret_write(&out, reply->token, err);
    wd_secret_close(&out, message != NULL);
    if (status != WD_OK)
        return NULL;
    const char *id = reply->info != NULL ? reply->info->id : "";
    return json_pack("{s:s, s:s, s:s}", "id", id, "old", ask->id, "file", path);
}

static int rotate(const wd_tokctl *ctl, wd_backend *backend, const batch *all,
                  const char *folder, Warded__V1__RotateRequest *ask)
{
    size_t failed = 0;
    wd_progress progress = wd_progress_begin(ctl, "tokens");
    WD_AUTO(wd_output) *out = wd_output_new(ctl, columns);
    if (out == NULL)
        return WD_EXIT_FAILED;
    for (size_t i = 0; i < all->n; i++) {
        WD_AUTO(wd_text) *path = NULL;
        wd_error err = {.msg = "no memory for the record"};
        ask->id = all->ids[i];
        wd_progress_show(&progress, i, all->n);
        if (asprintf(&path, "%s/%s", folder, all->ids[i]) < 0)
            return WD_EXIT_FAILED;
        json_t *record = rotate_one(ctl, backend, ask, path, &err);
        if (record != NULL) {
            wd_output_add(out, record);
            continue;
        }
        wd_progress_end(&progress);
        (void)fprintf(stderr, "%s: %s: %s\n", ctl->verb, all->ids[i], err.msg);
        failed++;
    }
    wd_progress_end(&progress);
    if (!wd_output_end(out))
        return WD_EXIT_FAILED;
    return failed == 0 ? WD_EXIT_OK : WD_EXIT_PARTIAL;
}

int wd_rotate_all(const wd_tokctl *ctl, const char *owner, const char *folder,
                  Warded__V1__RotateRequest *ask)
{
    char question[160];
    wd_error err = {0};
    __attribute__((cleanup(batch_done))) batch all = {0};
    WD_AUTO(wd_backend) *backend = NULL;
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        find_all(backend, owner, &all, &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    (void)snprintf(question, sizeof(question), "rotate %zu tokens of %.64s", all.n,
                   owner);
    if (!wd_tokctl_confirm(ctl, question))
        return WD_EXIT_USAGE;
    if (ctl->dry_run) {
        (void)fprintf(stderr, "would %s\n", question);
        return WD_EXIT_OK;
    }
    return rotate(ctl, backend, &all, folder, ask);
}
