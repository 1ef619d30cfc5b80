/* tokctl audit show - one row, or all of a call's, with its proof. */
#include <stdio.h>
#include <string.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/verbs.h"
#include "store/tokctl/views.h"
#include "warded/v1/audit.pb-c.h"

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__AuditShowRequest ask;
} arguments;

static const char doc[] =
    "Show one row of the audit trail by its number, or all rows of one call by its "
    "UUID, and whether content and hash agree.\v"
    "  tokctl audit show 4711\n"
    "  tokctl audit show 0190163d-8694-739b-aea5-966c26f8ad91\n\n"
    "Exit status 3: there is no such row; 7: its content does not have its hash.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (args->ask.seq != 0 || args->ask.call_id[0] != '\0')
            wd_tokctl_misuse(state, "one SEQ or one UUID");
        if (strchr(value, '-') != NULL)
            args->ask.call_id = value;
        else
            args->ask.seq = wd_tokctl_number(state, "SEQ", value, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_NO_ARGS:
        wd_tokctl_misuse(state, "a SEQ is missing, or a call's UUID");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print(const arguments *args, const Warded__V1__AuditShowReply *reply)
{
    if (args->ask.seq != 0 && reply->n_rows == 1)
        return wd_output_one(args->ctl, wd_row_members,
                             wd_record(&reply->rows[0]->base));
    WD_AUTO(wd_output) *out = wd_output_new(args->ctl, wd_row_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_rows; i++)
        wd_output_add(out, wd_record(&reply->rows[i]->base));
    return wd_output_end(out);
}

static int judge(const wd_tokctl *ctl, const Warded__V1__AuditShowReply *reply)
{
    if (reply->pruned != NULL) {
        (void)fprintf(stderr, "%s: it was exported to %s and pruned, see row %llu\n",
                      ctl->verb, reply->pruned->export,
                      (unsigned long long)reply->pruned->tombstone_seq);
        return WD_EXIT_NOT_FOUND;
    }
    if (reply->hash_ok)
        return WD_EXIT_OK;
    (void)fprintf(stderr, "%s: content and hash do not agree: see audit verify\n",
                  ctl->verb);
    return WD_EXIT_INTEGRITY;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__audit_show_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_audit_show, argc, argv, &args);
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_AUDIT_METHOD(Show), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    const Warded__V1__AuditShowReply *reply =
        (const Warded__V1__AuditShowReply *)message;
    if (reply->n_rows > 0 && !print(&args, reply))
        return WD_EXIT_FAILED;
    return judge(ctl, reply);
}

const wd_verb wd_verb_audit_show = {
    .group = "audit",
    .name = "show",
    .help = "one row, or all of a call's",
    .args = "SEQ|UUID",
    .doc = doc,
    .parser = parse,
    .flags = WD_VERB_OFFLINE,
    .run = run,
};
