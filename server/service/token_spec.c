#include "server/service/token_spec.h"

/* What does not fit the store's numbers. */
static wd_status check_sizes(const Warded__V1__IssueRequest *request, wd_error *err)
{
    const uint64_t numbers[] = {request->ttl_ms,       request->not_before_ms,
                                request->renewable_ms, request->idle_ms,
                                request->max_uses,     request->wrap_ttl_ms};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i] > INT64_MAX)
            return wd_refuse(err, WD_REASON_FIELD_INVALID,
                             "times, spans and max_uses are at most 2^63 - 1");
    }
    return WD_OK;
}

static wd_token_limits limits_of(const Warded__V1__IssueRequest *request)
{
    return (wd_token_limits){
        .max_uses = (int64_t)request->max_uses,
        .rate_calls = request->rate != NULL ? request->rate->calls : 0,
        .rate_per_ms = request->rate != NULL ? request->rate->per_ms : 0,
        .concurrency = request->concurrency,
    };
}

wd_status wd_token_spec_fill(const Warded__V1__IssueRequest *request,
                             wd_token_spec *ret_spec, wd_error *err)
{
    wd_token_kind kind = WD_TOKEN_DATA;

    if (request->kind[0] != '\0' && (!wd_token_kind_parse(request->kind, &kind) ||
                                     (kind != WD_TOKEN_DATA && kind != WD_TOKEN_ADMIN)))
        return wd_refuse(err, WD_REASON_FIELD_INVALID,
                         "kind is \"%.32s\", it must be \"data\" or \"admin\"",
                         request->kind);
    WD_TRY(check_sizes(request, err));
    *ret_spec = (wd_token_spec){
        .kind = kind,
        .name = request->name,
        .owner = request->owner,
        .purpose = request->purpose,
        .audience = request->audience,
        .scopes = (const char *const *)(uintptr_t)request->scopes,
        .n_scopes = request->n_scopes,
        .bind = request->bind,
        .allow_unbound = request->allow_unbound,
        .ttl_ms = (int64_t)request->ttl_ms,
        .not_before_ms = (int64_t)request->not_before_ms,
        .renewable_ms = (int64_t)request->renewable_ms,
        .idle_ms = (int64_t)request->idle_ms,
        .limits = limits_of(request),
        .wrap_ttl_ms = (int64_t)request->wrap_ttl_ms,
    };
    return WD_OK;
}
