/* Issue and revoke here and now, with their audit rows: for init, profile new,
 * tokctl. */
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

typedef struct issue_job {
    wd_store_job job; /* first */
    wd_token *token;
    const char *principal;
    const char *detail;
} issue_job;

typedef struct revoke_job {
    wd_store_job job; /* first */
    const wd_token_revocation *revocation;
    const char *detail;
} revoke_job;

static wd_status apply_issue(wd_store *store, wd_store_job *base, wd_error *err)
{
    const issue_job *job = (const issue_job *)base;
    wd_audit_row row = {
        .event = "token.issue",
        .outcome = "ok",
        .principal = job->principal,
        .token_id = job->token->id,
        .detail = job->detail,
    };
    WD_TRY(wd_tokens_insert(store, job->token, err));
    return wd_audit_append(store, &row, err);
}

wd_status wd_tokens_issue_now(wd_store *store, const wd_token_spec *spec,
                              const char *principal, wd_token_issued *ret_issued,
                              wd_error *err)
{
    WD_AUTO_ISSUED made = {0};
    WD_TRY(wd_token_make(spec, wd_store_now_ms(store), &made, err));
    WD_AUTO(wd_text) *detail = wd_token_issue_detail(made.token);
    if (detail == NULL)
        return wd_fail(err, WD_RESOURCE_EXHAUSTED, "no memory for a token's row");
    issue_job job = {{.apply = apply_issue}, made.token, principal, detail};
    WD_TRY(wd_store_run(store, &job.job, err));
    ret_issued->token = WD_STEAL(made.token);
    ret_issued->text = made.text;
    return WD_OK;
}

static wd_status apply_revoke(wd_store *store, wd_store_job *base, wd_error *err)
{
    const revoke_job *job = (const revoke_job *)base;
    wd_audit_row row = {
        .event = "token.revoke",
        .outcome = "ok",
        .principal = job->revocation->principal,
        .token_id = job->revocation->id,
        .detail = job->detail,
    };
    WD_TRY(wd_tokens_revoke(store, job->revocation->id, job->revocation->reason, err));
    return wd_audit_append(store, &row, err);
}

wd_status wd_tokens_revoke_now(wd_store *store, const wd_token_revocation *revocation,
                               bool *ret_was_live, wd_error *err)
{
    const char *reason = revocation->reason != NULL ? revocation->reason : "";
    if (strnlen(reason, WD_TOKEN_REASON_BYTES + 1) > WD_TOKEN_REASON_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "reason: at most %u bytes",
                         WD_TOKEN_REASON_BYTES);
    wd_revoked was =
        wd_token_table_revoke(store->tokens, revocation->id, wd_store_now_ms(store));
    WD_AUTO(wd_text) *detail = wd_token_revoke_detail(reason);
    revoke_job job = {{.apply = apply_revoke}, revocation, detail};
    WD_TRY(wd_store_run(store, &job.job, err));
    *ret_was_live = was == WD_REVOKED_NOW;
    return WD_OK;
}
