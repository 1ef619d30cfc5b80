/* tokctl renew - a token's end, put further off. */
#include "store/tokctl/backend.h"
#include "store/tokctl/simple.h"
#include "store/tokctl/times.h"
#include "warded/v1/token.pb-c.h"

enum option_key { OPTION_TTL = 256 };

typedef struct arguments {
    wd_tokctl *ctl; /* first: see wd_tokctl_parse */
    Warded__V1__RenewRequest ask;
    const char *ttl;
} arguments;

static const struct argp_option options[] = {
    {"ttl", OPTION_TTL, "SPAN", 0, "From now on [as long as it was made for]", 0},
    {0},
};

static const char doc[] =
    "Put a token's end further off; nothing else changes, the secret neither. Without "
    "an ID: our own token.\v"
    "  tokctl renew 3fJq0sLw9A --ttl 8h\n\n"
    "It is never shortened, and never leads further than its 'renewable until'.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case OPTION_TTL:
        args->ttl = value;
        return 0;
    case ARGP_KEY_ARG:
        wd_simple_take_id(state, value, &args->ask.id);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *record(const ProtobufCMessage *reply)
{
    const Warded__V1__RenewReply *renewed = (const Warded__V1__RenewReply *)reply;
    return renewed->info != NULL ? wd_record(&renewed->info->base) : NULL;
}

static int run(wd_tokctl *ctl, int argc, char **argv)
{
    arguments args = {.ctl = ctl};
    wd_error err = {0};
    int64_t ms = 0;
    warded__v1__renew_request__init(&args.ask);
    wd_tokctl_parse(&wd_verb_renew, argc, argv, &args);
    if (args.ttl != NULL && wd_span_parse("--ttl", args.ttl, &ms, &err) != WD_OK)
        wd_tokctl_usage(ctl, &err);
    args.ask.ttl_ms = (uint64_t)ms;
    const wd_simple simple = {WD_TOKEN_METHOD(Renew), &args.ask.base, record,
                              wd_token_members};
    return wd_simple_run(ctl, &simple, NULL);
}

const wd_verb wd_verb_renew = {
    .name = "renew",
    .help = "put a token's end further off",
    .args = "[ID]",
    .doc = doc,
    .options = options,
    .parser = parse,
    .run = run,
};
