#include "server/service/token_owed.h"

#include "server/log.h"
#include "server/parts.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct owed {
    wd_store_job job;
    wd_writer *writer;
    const char *pool; /* the gate's */
    char principal[WD_URI_BYTES + 1];
    char peer_cert[65];
    char peer_addr[WD_ADDRESS_BYTES];
    char call_id[WD_UUID_TEXT_BYTES];
    char reason[WD_TOKEN_REASON_BYTES + 1];
    size_t n_ids;
    char ids[][WD_TOKEN_ID_CHARS + 1];
} owed;

/* One that was issued in the group that the disk did not take never came to be. */
static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const owed *o = WD_CONTAINER(job, owed, job);
    const wd_audit_row by = {
        .principal = o->principal,
        .peer_cert = o->peer_cert,
        .peer_addr = o->peer_addr,
        .call_id = o->call_id,
        .pool = o->pool,
    };

    for (size_t i = 0; i < o->n_ids; i++) {
        wd_error cause = {0};
        wd_status status = wd_tokens_revoke(store, o->ids[i], o->reason, &by, &cause);
        if (status == WD_OK || cause.reason == WD_REASON_TOKEN_ID_UNKNOWN)
            continue;
        *err = cause;
        return status;
    }
    return WD_OK;
}

static void tell_lost(const char *first, size_t n, const char *why)
{
    wd_log(WD_LOG_ERROR, "token.revoke_lost", WD_KV("first", first), WD_KN("tokens", n),
           WD_KV("error", why),
           WD_KV("cure", "they live again after a restart: revoke them again"));
}

static void done(wd_store_job *job)
{
    owed *o = WD_CONTAINER(job, owed, job);

    if (job->status == WD_OK)
        wd_log(WD_LOG_INFO, "token.revoke_written", WD_KV("first", o->ids[0]),
               WD_KN("tokens", o->n_ids));
    else if (job->error.reason == WD_REASON_AUDIT_UNWRITABLE &&
             wd_writer_retry(o->writer, job))
        return;
    else
        tell_lost(o->ids[0], o->n_ids, job->error.msg);
    free(o);
}

static void copy(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text);
}

static void fill(owed *o, const wd_call *call, const char *reason)
{
    o->job.apply = apply;
    o->job.done = done;
    o->writer = call->gate->writer;
    o->pool = call->gate->pool;
    copy(o->principal, sizeof(o->principal), call->peer->identity.uri);
    copy(o->peer_cert, sizeof(o->peer_cert), call->peer->cert_hex);
    copy(o->peer_addr, sizeof(o->peer_addr), call->peer->address);
    copy(o->call_id, sizeof(o->call_id), call->id_text);
    copy(o->reason, sizeof(o->reason), reason);
}

void wd_token_owe(const wd_call *call, const char *reason, const wd_token_taken *taken,
                  size_t n_taken)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < n_taken; i++) {
        n += taken[i].was == WD_REVOKED_NOW;
        if (first == NULL && taken[i].was == WD_REVOKED_NOW)
            first = taken[i].token->id;
    }
    if (first == NULL)
        return;
    owed *o = calloc(1, sizeof(*o) + n * sizeof(o->ids[0]));
    if (o == NULL) {
        tell_lost(first, n, "the gate is out of memory");
        return;
    }
    fill(o, call, reason);
    for (size_t i = 0; i < n_taken; i++) {
        if (taken[i].was == WD_REVOKED_NOW)
            copy(o->ids[o->n_ids++], sizeof(o->ids[0]), taken[i].token->id);
    }
    wd_log(WD_LOG_ERROR, "token.revoke_owed", WD_KV("first", first),
           WD_KN("tokens", n));
    wd_writer_submit(o->writer, &o->job);
}
