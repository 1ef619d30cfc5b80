#include "store/tokctl/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/c/failure.h"
#include "store/tokctl/local.h"
#include "warded/v1/audit.wdc.h"
#include "warded/v1/health.wdc.h"
#include "warded/v1/observation.wdc.h"
#include "warded/v1/reset.wdc.h"
#include "warded/v1/step.wdc.h"
#include "warded/v1/token.wdc.h"

#define PATIENT_MS 60000U /* methods that may take longer are waited for */

struct wd_backend {
    const wd_tokctl *ctl;
    wd_channel *channel; /* over RPC */
    wd_rpc rpc;
    wd_local *local; /* offline */
};

/* --- what there is to call --------------------------------------------------------------- */

static const wd_rpc_service *const services[] = {
    &wd_warded_v1_audit_rpc, &wd_warded_v1_health_rpc, &wd_warded_v1_observation_rpc,
    &wd_warded_v1_reset_rpc, &wd_warded_v1_step_rpc,   &wd_warded_v1_token_rpc,
};

size_t wd_service_count(void)
{
    return sizeof(services) / sizeof(services[0]);
}

const wd_rpc_service *wd_service_at(size_t i)
{
    return services[i];
}

const wd_rpc_method *wd_method_find(const char *path)
{
    for (size_t i = 0; i < wd_service_count(); i++)
        for (size_t k = 0; k < services[i]->n_methods; k++)
            if (strcmp(services[i]->methods[k].path, path) == 0)
                return &services[i]->methods[k];
    return NULL;
}

/* --- opening ------------------------------------------------------------------------------ */

static wd_status pass_on(const wd_failure *failure, wd_error *err)
{
    char retry[64] = "";
    const bool known =
        wd_reason_status((wd_reason)failure->reason) == (wd_status)failure->code;
    if (failure->retry_after_ms != 0)
        (void)snprintf(retry, sizeof(retry), "; again in %llu ms",
                       (unsigned long long)failure->retry_after_ms);
    if (failure->phase == WD_PHASE_PROFILE && failure->code != WD_PERMISSION_DENIED)
        return wd_fail(err, WD_UNAVAILABLE, "%s", failure->message);
    if (failure->reason != WD_REASON_NONE && known)
        return wd_refuse(err, (wd_reason)failure->reason, "%s%s", failure->message,
                         retry);
    return wd_fail(
        err, failure->code == WD_PERMISSION_DENIED ? WD_PERMISSION_DENIED : WD_INTERNAL,
        "%s%s", failure->message, retry);
}

wd_status wd_backend_open(const wd_tokctl *ctl, wd_backend **ret, wd_error *err)
{
    WD_AUTO(wd_backend) *backend = calloc(1, sizeof(*backend));
    wd_failure failure;
    if (backend == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory");
    backend->ctl = ctl;
    if (ctl->db != NULL || ctl->home != NULL) {
        WD_TRY(wd_local_new(ctl, &backend->local, err));
    } else {
        backend->channel = wd_channel_open(&ctl->gate, &failure);
        if (backend->channel == NULL)
            return pass_on(&failure, err);
    }
    *ret = WD_STEAL(backend);
    return WD_OK;
}

void wd_backend_free(wd_backend *backend)
{
    if (backend == NULL)
        return;
    wd_rpc_done(&backend->rpc);
    wd_channel_close(backend->channel);
    wd_local_free(backend->local);
    free(backend);
}

bool wd_backend_is_offline(const wd_backend *backend)
{
    return backend->local != NULL;
}

/* --- calling ------------------------------------------------------------------------------- */

static uint64_t timeout_of(const wd_backend *backend, const wd_rpc_method *method)
{
    if (backend->ctl->timeout == NULL && method->max_timeout_ms > PATIENT_MS)
        return method->max_timeout_ms;
    return backend->ctl->timeout_ms < method->max_timeout_ms ? backend->ctl->timeout_ms
                                                             : method->max_timeout_ms;
}

wd_status wd_backend_call(wd_backend *backend, const char *path,
                          const ProtobufCMessage *request,
                          const ProtobufCMessage **ret_reply, wd_error *err)
{
    const wd_rpc_method *method = wd_method_find(path);
    if (method == NULL)
        return wd_fail(err, WD_INVALID_ARGUMENT, "there is no method %.100s", path);
    if (backend->local != NULL)
        return wd_local_call(backend->local, path, request, ret_reply, err);
    wd_rpc_done(&backend->rpc);
    backend->rpc.timeout_ms = timeout_of(backend, method);
    const ProtobufCMessage *reply =
        wd_rpc_invoke(backend->channel, &backend->rpc, path, request, method->reply);
    if (reply == NULL)
        return pass_on(&backend->rpc.failure, err);
    *ret_reply = reply;
    return WD_OK;
}
