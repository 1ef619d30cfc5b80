#include "server/gate_reload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/audit_keeper.h"
#include "server/audit_rows.h"
#include "server/gate_boot.h"
#include "server/log.h"

/* The row of one reload: the writer's job, and what it borrows. */
typedef struct note {
    wd_store_job job;
    const wd_gate *gate;
    wd_status status;
    char detail[WD_DETAIL_BYTES];
} note;

/* --- what is taken -------------------------------------------------------------------- */

static wd_status check_identity(const wd_gate *gate, wd_tls_credentials *credentials,
                                wd_error *err)
{
    const char *uri = wd_tls_credentials_identity(credentials)->uri;

    if (strcmp(uri, gate->uri) == 0)
        return WD_OK;
    return wd_fail(err, WD_FAILED_PRECONDITION,
                   "the certificate is that of %s, and this gate is %s: restart it",
                   uri, gate->uri);
}

static wd_status check_limits(const wd_gate *gate, const wd_config *fresh,
                              wd_error *err)
{
    uint64_t most = gate->config->limits.in_flight;

    if (fresh->limits.in_flight <= most)
        return WD_OK;
    return wd_fail(err, WD_FAILED_PRECONDITION,
                   "limits.in_flight is %" PRIu64 ", and this gate was started with "
                   "%" PRIu64 ", which is as high as a reload can go: restart it",
                   fresh->limits.in_flight, most);
}

static wd_status take(wd_gate *gate, char *ret_text, size_t size, wd_error *err)
{
    WD_AUTO(wd_config) *fresh = NULL;
    WD_AUTO(wd_tls_credentials) *credentials = NULL;

    WD_TRY(wd_config_load(gate->config->places.home, &fresh, err));
    fresh->listen.tls12 = gate->config->listen.tls12; /* waits for the next start */
    WD_TRY(wd_gate_load_credentials(fresh, &credentials, err));
    WD_TRY(check_identity(gate, credentials, err));
    WD_TRY(check_limits(gate, fresh, err));
    wd_listener_reload(gate->listener, credentials);
    wd_gate_set_limits(gate, fresh);
    wd_audit_keeper_set_retention(gate->audit_keeper, fresh);
    (void)snprintf(ret_text, size,
                   "certificate %s, deny-list, limits: in_flight %" PRIu64
                   ", connections_per_principal %" PRIu64 ", queue %" PRIu64
                   ", retention: age_ms %" PRIu64 ", bytes %" PRIu64,
                   wd_tls_credentials_identity(credentials)->serial,
                   fresh->limits.in_flight, fresh->limits.connections_per_principal,
                   fresh->limits.queue, fresh->audit.retention.age_ms,
                   fresh->audit.retention.bytes);
    return WD_OK;
}

/* --- the record ----------------------------------------------------------------------- */

static wd_status apply(wd_store *store, wd_store_job *job, wd_error *err)
{
    const note *n = WD_CONTAINER(job, note, job);
    const wd_audit_row row = {
        .event = "config.reload",
        .outcome = n->status == WD_OK ? "ok" : "failed",
        .code = (uint32_t)n->status,
        .principal = n->gate->uri,
        .detail = n->detail,
    };

    return wd_audit_append(store, &row, err);
}

static void done(wd_store_job *job)
{
    if (job->status != WD_OK)
        wd_log(WD_LOG_ERROR, "gate.reload_unrecorded", WD_KV("why", job->error.msg));
    free(WD_CONTAINER(job, note, job));
}

static void record(const wd_gate *gate, wd_status status, const char *text)
{
    note *n = calloc(1, sizeof(*n));

    if (n == NULL) {
        wd_log(WD_LOG_ERROR, "gate.reload_unrecorded", WD_KV("why", "no memory"));
        return;
    }
    n->job = (wd_store_job){.apply = apply, .done = done};
    n->gate = gate;
    n->status = status;
    wd_rows_detail(n->detail, sizeof(n->detail), "message", text);
    wd_writer_submit(gate->writer, &n->job);
}

void wd_gate_reload(wd_gate *gate)
{
    char text[WD_ERROR_MSG_BYTES];
    wd_error err = {.status = WD_OK};
    wd_status status = take(gate, text, sizeof(text), &err);

    if (status == WD_OK)
        wd_log(WD_LOG_INFO, "gate.reloaded", WD_KV("what", text));
    else
        wd_log(WD_LOG_ERROR, "gate.reload_failed", WD_KV("why", err.msg));
    record(gate, status, status == WD_OK ? text : err.msg);
}
