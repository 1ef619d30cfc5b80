/* Issue and revoke here and now, with their audit rows: for init, profile new,
 * tokctl. */
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

typedef struct issue_job {
    wd_store_job job; /* first */
    wd_token *token;
    const char *principal;
} issue_job;

typedef struct revoke_job {
    wd_store_job job; /* first */
    const wd_token_revocation *revocation;
} revoke_job;

static wd_status apply_issue(wd_store *store, wd_store_job *base, wd_error *err)
{
    const issue_job *job = (const issue_job *)base;
    const wd_audit_row by = {.principal = job->principal};
    return wd_tokens_add(store, job->token, &by, err);
}

wd_status wd_tokens_issue_now(wd_store *store, const wd_token_spec *spec,
                              const char *principal, wd_token_issued *ret_issued,
                              wd_error *err)
{
    WD_AUTO_ISSUED made = {0};
    WD_TRY(wd_token_make(spec, wd_store_now_ms(store), &made, err));
    issue_job job = {{.apply = apply_issue}, made.token, principal};
    WD_TRY(wd_store_run(store, &job.job, err));
    ret_issued->token = WD_STEAL(made.token);
    ret_issued->text = made.text;
    return WD_OK;
}

static wd_status apply_revoke(wd_store *store, wd_store_job *base, wd_error *err)
{
    const revoke_job *job = (const revoke_job *)base;
    const wd_audit_row by = {.principal = job->revocation->principal};
    return wd_tokens_revoke(store, job->revocation->id, job->revocation->reason, &by,
                            err);
}

wd_status wd_tokens_revoke_now(wd_store *store, const wd_token_revocation *revocation,
                               bool *ret_was_live, wd_error *err)
{
    const char *reason = revocation->reason != NULL ? revocation->reason : "";
    if (strnlen(reason, WD_TOKEN_REASON_BYTES + 1) > WD_TOKEN_REASON_BYTES)
        return wd_refuse(err, WD_REASON_FIELD_INVALID, "reason: at most %u bytes",
                         WD_TOKEN_REASON_BYTES);
    wd_revoked was = wd_token_table_revoke(store->tokens, revocation->id, reason,
                                           wd_store_now_ms(store));
    revoke_job job = {{.apply = apply_revoke}, revocation};
    WD_TRY(wd_store_run(store, &job.job, err));
    *ret_was_live = was == WD_REVOKED_NOW;
    return WD_OK;
}
