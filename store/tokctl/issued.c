#include "store/tokctl/issued.h"

#include <stdio.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/secret.h"
#include "store/tokctl/views.h"

wd_issued wd_issued_of_issue(const ProtobufCMessage *reply)
{
    const Warded__V1__IssueReply *issued = (const Warded__V1__IssueReply *)reply;
    return (wd_issued){issued->token, issued->info, issued->idle_scopes,
                       issued->n_idle_scopes};
}

wd_issued wd_issued_of_rotate(const ProtobufCMessage *reply)
{
    const Warded__V1__RotateReply *rotated = (const Warded__V1__RotateReply *)reply;
    return (wd_issued){.secret = rotated->token, .info = rotated->info};
}

wd_issued wd_issued_of_unwrap(const ProtobufCMessage *reply)
{
    const Warded__V1__UnwrapReply *unwrapped = (const Warded__V1__UnwrapReply *)reply;
    return (wd_issued){.secret = unwrapped->token, .info = unwrapped->info};
}

static bool is_people(const wd_tokctl *ctl)
{
    return ctl->field == NULL &&
           (ctl->format == WD_FORMAT_TABLE || ctl->format == WD_FORMAT_WIDE);
}

/* A secret is told once: a form that would not show it needs a file for it. */
static wd_status check_told(const wd_tokctl *ctl, const wd_issuing *issuing,
                            wd_error *err)
{
    const bool shown = ctl->field != NULL ? strcmp(ctl->field, "token") == 0
                                          : ctl->format != WD_FORMAT_CSV &&
                                                ctl->format != WD_FORMAT_NAME;
    if (shown || issuing->out != NULL)
        return WD_OK;
    return wd_fail(err, WD_INVALID_ARGUMENT,
                   "%s would not show the secret, which is told once: --out FILE, or "
                   "--field token",
                   ctl->field != NULL ? "--field" : "-o csv and name");
}

static bool print(const wd_tokctl *ctl, const wd_secret_out *out,
                  const wd_issued *issued)
{
    const char *secret = wd_secret_is_printed(out) ? issued->secret : NULL;
    if (is_people(ctl))
        return secret == NULL || (puts(secret) >= 0 && fflush(stdout) == 0);
    json_t *record = wd_record(&issued->info->base);
    if (record != NULL && secret != NULL)
        (void)json_object_set_new(record, "token", json_string(secret));
    return wd_output_one(ctl, wd_token_members, record);
}

/* Its secret is lost, and told nowhere else; whoever calls must know what to take back. */
static void tell_unheld(const wd_tokctl *ctl, const wd_issued *issued)
{
    if (issued->secret != NULL)
        (void)fprintf(stderr,
                      "%s: the secret could not be written, and token %s stays good: "
                      "take it back with 'tokctl revoke %s'\n",
                      ctl->verb, issued->info->id, issued->info->id);
}

static wd_status call(const wd_tokctl *ctl, const wd_issuing *issuing,
                      wd_backend **ret_backend, wd_issued *ret, wd_error *err)
{
    const ProtobufCMessage *reply = NULL;
    WD_TRY(wd_backend_open(ctl, ret_backend, err));
    WD_TRY(wd_backend_call(*ret_backend, issuing->path, issuing->request, &reply, err));
    *ret = issuing->read(reply);
    if (ret->info == NULL)
        return wd_fail(err, WD_INTERNAL, "the answer does not say what was made");
    return WD_OK;
}

static void tell_made(const wd_tokctl *ctl, const wd_issued *issued)
{
    (void)fprintf(stderr, "id: %s\n", issued->info->id);
    for (size_t i = 0; i < issued->n_idle_scopes; i++)
        (void)fprintf(
            stderr,
            "%s: scope %s opens nothing at this gate: no method or tool of it "
            "asks for it\n",
            ctl->verb, issued->idle_scopes[i]);
}

int wd_issuing_run(const wd_tokctl *ctl, const wd_issuing *issuing)
{
    WD_AUTO(wd_backend) *backend = NULL;
    wd_secret_out out;
    wd_issued issued = {.secret = NULL};
    wd_error err = {0};
    wd_status status = check_told(ctl, issuing, &err);
    if (status == WD_OK)
        status = wd_secret_open(ctl, issuing->out, issuing->admin, &out, &err);
    if (status == WD_INVALID_ARGUMENT)
        wd_tokctl_usage(ctl, &err);
    if (status != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    status = call(ctl, issuing, &backend, &issued, &err);
    if (status == WD_OK)
        status = wd_secret_write(&out, issued.secret, &err);
    wd_secret_close(&out, issued.info != NULL);
    if (status != WD_OK && issued.info != NULL)
        tell_unheld(ctl, &issued);
    if (status != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    if (!ctl->quiet)
        tell_made(ctl, &issued);
    if (print(ctl, &out, &issued))
        return WD_EXIT_OK;
    if (wd_secret_is_printed(&out))
        tell_unheld(ctl, &issued);
    return WD_EXIT_FAILED;
}
