#include "store/tokctl/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/c/clock.h"
#include "store/tokctl/given.h"

#define REPLY_BYTES (64U << 20) /* of one reply, decoded */

struct wd_local {
    const wd_tokctl *ctl;
    char principal[32];
    wd_budget *budget; /* of the last reply */
    wd_token **kept;   /* tokens that it borrows from */
    size_t n_kept, room;
};

wd_status wd_local_no_memory(wd_error *err)
{
    return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for the answer");
}

wd_status wd_local_new(const wd_tokctl *ctl, wd_local **ret, wd_error *err)
{
    wd_local *local = calloc(1, sizeof(*local));
    if (local == NULL)
        return wd_local_no_memory(err);
    local->ctl = ctl;
    (void)snprintf(local->principal, sizeof(local->principal), "local:%u", getuid());
    *ret = local;
    return WD_OK;
}

static void forget_reply(wd_local *local)
{
    for (size_t i = 0; i < local->n_kept; i++)
        wd_token_unref(local->kept[i]);
    local->n_kept = 0;
    wd_budget_free(local->budget);
    local->budget = NULL;
}

void wd_local_free(wd_local *local)
{
    if (local == NULL)
        return;
    forget_reply(local);
    free(local->kept);
    free(local);
}

static wd_local_run *find(const wd_local_method *methods, const char *path)
{
    for (; methods->path != NULL; methods++)
        if (strcmp(methods->path, path) == 0)
            return methods->run;
    return NULL;
}

wd_status wd_local_call(wd_local *local, const char *path,
                        const ProtobufCMessage *request,
                        const ProtobufCMessage **ret_reply, wd_error *err)
{
    ProtobufCMessage *reply = NULL;
    wd_local_run *run = find(wd_local_token_methods, path);
    if (run == NULL)
        run = find(wd_local_audit_methods, path);
    if (run == NULL)
        return wd_fail(err, WD_UNIMPLEMENTED,
                       "%s: only a gate can answer this: not with --db or --home",
                       path);
    forget_reply(local);
    local->budget = wd_budget_new(REPLY_BYTES);
    if (local->budget == NULL)
        return wd_local_no_memory(err);
    WD_TRY(run(local, request, &reply, err));
    *ret_reply = reply;
    return WD_OK;
}

wd_status wd_local_open(wd_local *local, wd_store **ret, wd_error *err)
{
    wd_store_options options = {.dir = local->ctl->dir};
    return wd_store_open(&options, ret, err);
}

wd_status wd_local_read(wd_local *local, wd_reader **ret, wd_error *err)
{
    return wd_reader_open(local->ctl->dir, NULL, ret, err);
}

int64_t wd_local_now_ms(const wd_reader *reader)
{
    int64_t now = wd_clock_wall_ms(wd_clock_system());
    int64_t highest = wd_reader_highest_ms(reader);
    return now > highest ? now : highest;
}

void *wd_local_take(wd_local *local, size_t size)
{
    void *memory = wd_budget_take(local->budget, size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

wd_budget *wd_local_budget(wd_local *local)
{
    return local->budget;
}

wd_status wd_local_keep(wd_local *local, wd_token *token, wd_error *err)
{
    if (local->n_kept == local->room) {
        size_t room = local->room == 0 ? 16 : local->room * 2;
        wd_token **kept = reallocarray(local->kept, room, sizeof(*kept));
        if (kept == NULL)
            return wd_local_no_memory(err);
        local->kept = kept;
        local->room = room;
    }
    local->kept[local->n_kept++] = wd_token_ref(token);
    return WD_OK;
}

const char *wd_local_exports(wd_local *local)
{
    char path[PATH_MAX];
    if (local->ctl->exports != NULL)
        return local->ctl->exports;
    int size = snprintf(path, sizeof(path), "%s/exports", local->ctl->dir);
    if (size < 0 || (size_t)size >= sizeof(path))
        return NULL;
    return wd_budget_text(local->budget, path, (size_t)size);
}

wd_status wd_local_ca(const wd_local *local, char **ret_pem, wd_error *err)
{
    char path[PATH_MAX];
    if (local->ctl->ca != NULL)
        return wd_given_text_read("--ca", local->ctl->ca, ret_pem, err);
    int size = snprintf(path, sizeof(path), "%s/../gate/ca.pem", local->ctl->dir);
    if (size < 0 || (size_t)size >= sizeof(path) || access(path, R_OK) != 0)
        return WD_OK; /* a copy of a store lies anywhere */
    return wd_given_text_read("the gate's CA", path, ret_pem, err);
}

const char *wd_local_principal(const wd_local *local)
{
    return local->principal;
}
