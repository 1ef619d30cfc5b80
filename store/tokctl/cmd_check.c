/* tokctl check - would a call with this token pass, and by which rule? By id. */
#include <stdio.h>

#include "store/tokctl/backend.h"
#include "store/tokctl/simple.h"
#include "warded/v1/token.pb-c.h"

enum option_key {
    OPTION_METHOD = 256,
    OPTION_OBJECT,
    OPTION_PRINCIPAL,
    OPTION_EXPLAIN
};

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__CheckRequest ask;
    bool explain;
} arguments;

static const struct argp_option options[] = {
    {"method", OPTION_METHOD, "PATH", 0,
     "Of a call of this method: /warded.v1.Step/Step [is the token good at all?]", 0},
    {"object", OPTION_OBJECT, "NAME", 0, "The tool or environment that it is for", 0},
    {"principal", OPTION_PRINCIPAL, "URI", 0,
     "By a caller of this name [the one that it is bound to]", 0},
    {"explain", OPTION_EXPLAIN, NULL, 0, "A line for each rule that was looked at", 0},
    {0},
};

static const char doc[] =
    "Say whether a call with a token would pass, and why not. By id: the secret is not "
    "needed. Without an ID: our own token.\v"
    "  tokctl check 3fJq0sLw9A --method /warded.v1.Token/Issue --explain\n\n"
    "Exit status 0: it would; 4: it would not.";

static const wd_column members[] = {
    {"allowed", "allowed", WD_COLUMN_STATE, false},
    {"reason", "reason", WD_COLUMN_TEXT, false},
    {"message", "message", WD_COLUMN_TEXT, false},
    {"token", "info.id", WD_COLUMN_TEXT, false},
    {"state", "info.state", WD_COLUMN_STATE, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static const wd_column rule_columns[] = {
    {"RULE", "rule", WD_COLUMN_TEXT, false},
    {"OK", "ok", WD_COLUMN_STATE, false},
    {"WHY", "why", WD_COLUMN_LONG, false},
    {NULL, NULL, WD_COLUMN_TEXT, false},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_METHOD:
        args->ask.method = value;
        return 0;
    case OPTION_OBJECT:
        args->ask.object = value;
        return 0;
    case OPTION_PRINCIPAL:
        args->ask.principal = value;
        return 0;
    case OPTION_EXPLAIN:
        args->explain = true;
        return 0;
    case ARGP_KEY_ARG:
        wd_simple_take_id(state, value, &args->ask.id);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print(const arguments *args, const Warded__V1__CheckReply *reply)
{
    if (!args->explain)
        return wd_output_one(args->ctl, members, wd_record(&reply->base));
    WD_AUTO(wd_output) *out = wd_output_new(args->ctl, rule_columns);
    if (out == NULL)
        return false;
    for (size_t i = 0; i < reply->n_rules; i++)
        wd_output_add(out, wd_record(&reply->rules[i]->base));
    return wd_output_end(out);
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    const ProtobufCMessage *message = NULL;
    WD_AUTO(wd_backend) *backend = NULL;
    warded__v1__check_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_check, argc, argv, &args);
    if (wd_backend_open(ctl, &backend, &err) != WD_OK ||
        wd_backend_call(backend, WD_TOKEN_METHOD(Check), &args.ask.base, &message,
                        &err) != WD_OK)
        return wd_tokctl_fail(ctl, &err);
    const Warded__V1__CheckReply *reply = (const Warded__V1__CheckReply *)message;
    if (!print(&args, reply))
        return WD_EXIT_FAILED;
    if (args.explain && !ctl->quiet)
        (void)fprintf(stderr, "%s\n", reply->message);
    return reply->allowed ? WD_EXIT_OK : WD_EXIT_DENIED;
}

const wd_verb wd_verb_check = {
    .name = "check",
    .help = "would a call with it pass, and by which rule?",
    .args = "[ID]",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run,
};
