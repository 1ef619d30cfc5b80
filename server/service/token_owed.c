#include "server/service/token_owed.h"

#include "server/log.h"
#include "server/parts.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct owed {
    wd_store_job job;
    wd_writer *writer;
    char principal[WD_URI_BYTES + 1];
    char peer_cert[65];
    char peer_addr[WD_ADDRESS_BYTES];
    char call_id[WD_UUID_TEXT_BYTES];
    char reason[WD_TOKEN_REASON_BYTES + 1];
    size_t n_ids;
    char ids[][WD_TOKEN_ID_CHARS + 1];
} owed;

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const owed *o = WD_CONTAINER(job, owed, job);
    WD_AUTO(wd_text) *detail = wd_token_revoke_detail(o->reason);

    for (size_t i = 0; i < o->n_ids; i++) {
        const wd_audit_row row = {
            .event = "token.revoke",
            .outcome = "ok",
            .principal = o->principal,
            .peer_cert = o->peer_cert,
            .peer_addr = o->peer_addr,
            .call_id = o->call_id,
            .token_id = o->ids[i],
            .detail = detail,
        };
        WD_TRY(wd_tokens_revoke(store, o->ids[i], o->reason, err));
        WD_TRY(wd_audit_append(store, &row, err));
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

static void fill(owed *o, const wd_call *call, const Warded__V1__RevokeRequest *revoke)
{
    o->job.apply = apply;
    o->job.done = done;
    o->writer = call->gate->writer;
    copy(o->principal, sizeof(o->principal), call->peer->identity.uri);
    copy(o->peer_cert, sizeof(o->peer_cert), call->peer->cert_hex);
    copy(o->peer_addr, sizeof(o->peer_addr), call->peer->address);
    copy(o->call_id, sizeof(o->call_id), call->id_text);
    copy(o->reason, sizeof(o->reason), revoke->reason);
}

void wd_token_owe(const wd_call *call, const Warded__V1__RevokeRequest *revoke,
                  const wd_revoked *was)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < revoke->n_ids; i++) {
        n += was[i] == WD_REVOKED_NOW;
        if (first == NULL && was[i] == WD_REVOKED_NOW)
            first = revoke->ids[i];
    }
    if (first == NULL)
        return;
    owed *o = calloc(1, sizeof(*o) + n * sizeof(o->ids[0]));
    if (o == NULL) {
        tell_lost(first, n, "the gate is out of memory");
        return;
    }
    fill(o, call, revoke);
    for (size_t i = 0; i < revoke->n_ids; i++) {
        if (was[i] == WD_REVOKED_NOW)
            copy(o->ids[o->n_ids++], sizeof(o->ids[0]), revoke->ids[i]);
    }
    wd_log(WD_LOG_ERROR, "token.revoke_owed", WD_KV("first", first),
           WD_KN("tokens", n));
    wd_writer_submit(o->writer, &o->job);
}
